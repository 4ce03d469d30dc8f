--[[
Steers jobs of Slurm by what storage offers: JobSubmitPlugins=lua in slurm.conf, and this file beside it.

A job states what it needs by --storage or --storage-profile of the plugin ses-slurm.so; what is hard of it is
compared with the file of `ses nodes publish`.  Nodes that reach no storage of that kind are excluded; where no
node does, the job is refused and the nearest offer named.  Only this file is read, nobody is waited for.  A job
goes on as without it when it has no hard requirement, and when the file is missing, not understood or older than
five minutes.  A job that names its nodes is refused or taken as it is.

A site with a job_submit.lua of its own: dofile() this one first, and call ses_job_submit(job_desc) in
slurm_job_submit(); what that returns, if anything, is what to return.
]]

ses_offers = ses_offers or "/run/qstorman/offers"

local FRESH = 300 -- seconds
local COLUMNS = { "write", "read", "free" }

local function hard_needs(job_desc)
  for _, variable in pairs(job_desc.spank_job_env or {}) do
    local text = variable:match("^SES_HARD=(.*)$")
    if text then
      local needs = {}
      for kind, least in text:gmatch("(%a+)=(%S+)") do
        needs[kind] = tonumber(least)
      end
      return needs
    end
  end
end

local function read_offers(path)
  local file = io.open(path)
  if not file then
    return nil
  end
  local lines = file:lines()
  local written = (lines() or ""):match("^ses%-offers 2 (%d+)$")
  local offers = {}
  if written and os.time() - tonumber(written) <= FRESH then
    for line in lines do
      local element, write, read, free, nodes = line:match("^(%S+) (%S+) (%S+) (%S+) (%S+)$")
      if not element then
        offers = {}
        break
      end
      offers[#offers + 1] = { element = element, nodes = nodes, write = write, read = read, free = free }
    end
  end
  file:close()
  return #offers > 0 and offers or nil
end

-- How far an offer falls short, in squares; 0: not at all, as far as it is known.
local function shortfall(offer, needs)
  local sum = 0
  for _, kind in ipairs(COLUMNS) do
    local least, there = needs[kind], tonumber(offer[kind])
    if least and there and there < least then
      sum = sum + (1 - there / least) ^ 2
    end
  end
  return sum
end

local function sentence(offer)
  return string.format(
    "storage that this job must have can be met by no node now; the nearest is %s from %s, where a stream would"
      .. " write %s and read %s MB/s, and %s GB are free (see ses nodes rank)",
    offer.element, offer.nodes:sub(1, 200), offer.write, offer.read, offer.free)
end

local function steer(job_desc)
  local needs = hard_needs(job_desc)
  local offers = needs and read_offers(ses_offers)
  if not offers then
    return nil
  end
  local nearest, least, suited, others = nil, nil, {}, {}
  for _, offer in ipairs(offers) do
    local short_by = shortfall(offer, needs)
    if not least or short_by < least then
      nearest, least = offer, short_by
    end
    if short_by == 0 then
      suited[offer.nodes] = true
    end
    others[offer.nodes] = true
  end
  if least > 0 then
    return sentence(nearest)
  end
  local excluded = {}
  for nodes in pairs(others) do
    if nodes ~= "-" and not suited[nodes] then
      excluded[#excluded + 1] = nodes
    end
  end
  if #excluded > 0 and not job_desc.req_nodes then
    table.sort(excluded)
    if job_desc.exc_nodes then
      table.insert(excluded, 1, job_desc.exc_nodes)
    end
    job_desc.exc_nodes = table.concat(excluded, ",")
  end
  return nil
end

function ses_job_submit(job_desc)
  local done, refusal = pcall(steer, job_desc)
  if not done then
    slurm.log_error("ses: a job is taken as it is: %s", tostring(refusal))
  elseif refusal then
    slurm.log_user("%s", refusal)
    return slurm.ERROR
  end
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  return ses_job_submit(job_desc) or slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end
