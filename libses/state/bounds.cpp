/* See bounds.h. */
#include "bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ses::state {

namespace {

constexpr double fades = 5.0;
constexpr double nothing = 1e-6;
constexpr std::size_t few = 1000;

/* What each of so many users may have of a bound that is exceeded so many times already. */
double share(double bound, std::size_t users, std::int64_t excess) {
  return bound / std::pow(static_cast<double>(users), static_cast<double>(excess));
}

void take(std::unordered_map<std::string, std::int64_t> &users, const std::string &user) {
  auto there = users.find(user);
  if (there != users.end() && --there->second <= 0)
    users.erase(there);
}

} // namespace

void FileBounds::opened(const std::string &node, const std::string &user, const Text &job) {
  auto &open = _open[node];
  open.users[user]++;
  open.all++;
  if (job)
    _of_job[{node, *job}][user]++;
}

void FileBounds::closed(const std::string &node, const std::string &user, const Text &job) {
  if (job) {
    auto there = _of_job.find({node, *job});
    if (there != _of_job.end()) {
      take(there->second, user);
      if (there->second.empty())
        _of_job.erase(there);
    }
  }
  auto open = _open.find(node);
  if (open == _open.end())
    return;
  take(open->second.users, user);
  open->second.all--;
  if (open->second.users.empty())
    _open.erase(open);
}

bool FileBounds::is_anothers(const std::string &node, const std::string &user,
                             const std::string &job) const {
  auto users = _of_job.find({node, job});
  return users != _of_job.end() && !users->second.contains(user);
}

std::string FileBounds::refuses(const std::string &node, const std::string &user, double now) {
  auto open = _open.find(node);
  std::int64_t own = 0, all = 0;
  std::size_t users = 1;
  if (open != _open.end()) {
    auto mine = open->second.users.find(user);
    bool has_any = mine != open->second.users.end();
    own = has_any ? mine->second : 0;
    users = open->second.users.size() + (has_any ? 0 : 1);
    all = open->second.all;
  }
  std::string why;
  if (static_cast<double>(own) >= share(static_cast<double>(_max_open), users, all / _max_open)) {
    refusals.too_many_open++;
    why = "The node has " + std::to_string(_max_open) +
          " files open, as many as it may, many of them this user's.";
  } else if (!begins(node, user, now)) {
    refusals.too_fast++;
    char rate[32];
    std::snprintf(rate, sizeof rate, "%g", _rate);
    why = std::string("The node began ") + rate +
          " files a second for long, as many as it may: many this user's.";
  } else {
    return why;
  }
  refusals.node = node;
  refusals.at = now;
  return why;
}

bool FileBounds::begins(const std::string &node, const std::string &user, double now) {
  auto &begun = _begun[node];
  if (begun.at != now) { /* once for many files */
    begun.at = now;
    std::erase_if(begun.of_user, [&](const auto &of_user) { return of_user.second <= now; });
  }
  double own = begun.of_user.try_emplace(user, now).first->second;
  std::size_t users = begun.of_user.size();
  auto excess = static_cast<std::int64_t>(std::max(0.0, begun.all - now) / _averaged_over);
  if (excess > 0 && own - now > share(_averaged_over, users, excess - 1))
    return false;
  begun.all = std::max(now, begun.all) + 1.0 / _rate;
  begun.of_user[user] = std::min(own, now + _averaged_over) + static_cast<double>(users) / _rate;
  if (_begun.size() > _many) {
    std::erase_if(_begun, [&](const auto &of_node) { return of_node.second.all <= now; });
    _many = std::max(few, 2 * _begun.size());
  }
  return true;
}

void Recent::count(double at) {
  if (at > _at) {
    _weight = _weight * std::exp((_at - at) / fades) + 1.0;
    _at = at;
  } else {
    _weight += std::exp((at - _at) / fades);
  }
}

double Recent::rate(double now) const {
  return _weight * std::exp(std::min(0.0, (_at - now) / fades)) / fades;
}

void Arrivals::count(const std::string &system, const Text &node, double at) {
  _of_system[system].count(at);
  if (node)
    _of_node[{system, *node}].count(at);
}

double Arrivals::of_node(const std::string &system, const std::string &node, double now) const {
  auto own = _of_node.find({system, node});
  return own == _of_node.end() ? 0.0 : own->second.rate(now);
}

double Arrivals::of_other_nodes(const std::string &system, const std::string &node,
                                double now) const {
  auto all = _of_system.find(system);
  return all == _of_system.end()
             ? 0.0
             : std::max(0.0, all->second.rate(now) - of_node(system, node, now));
}

void Arrivals::forget(double now) {
  std::erase_if(_of_node, [&](const auto &of_node) { return of_node.second.rate(now) <= nothing; });
}

} // namespace ses::state
