// The lives of connections to the agent: its loop with all that it calls, and up to eight programs
// of four users that ask, report, send a half or a wrong message or descriptors, and hang up.  A
// step is five bytes: what, which program, and three that say how.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "must.h"
#include "node/mountinfo.h"
#include "server/listener.h"
#include "server/loop.h"
#include "server/socket_server.h"
#include "systems/union_health.h"

using namespace ses::agent;

namespace {

constexpr size_t kStep = 5;
constexpr unsigned kInputsOfAgent = 300; // its files pile up, as no service is told of them
constexpr uid_t kFirstUser = 4001;
constexpr unsigned kTries = 200;
constexpr useconds_t kPause = 1000; // those that wait for a choice have it, or not, by then
constexpr int kForEver = -1;        // the fuzzer ends an input that waits

const std::string &directory() {
  static const std::string name = "/var/tmp/ses-fuzz-" + std::to_string(getpid());
  return name;
}

StorageSystem system_here() {
  struct stat about {};
  MUST(stat(directory().c_str(), &about) == 0);
  for (const Mount &mount : parse_mountinfo(read_mountinfo())) {
    if (mount.device == about.st_dev) {
      return {"lfs", SES_BACKEND_LUSTRE, mount.point};
    }
  }
  MUST(!"the directory is on a mount of its own device");
  return {};
}

TableAnswer table() {
  TableAnswer answer;
  answer.system = "lfs";
  answer.revision = "1";
  answer.version = 1;
  answer.sent_at = 1e9;
  answer.total = 2;
  answer.elements.emplace(2);
  for (unsigned i = 0; i < 2; ++i) {
    (*answer.elements)[i].element = "lfs/OST" + std::to_string(i);
    (*answer.elements)[i].target = std::to_string(i);
    (*answer.elements)[i].number = i;
  }
  return answer;
}

SavedNeeds needs() {
  SavedNeeds saved;
  saved.site = std::make_shared<UserNeeds>();
  for (uid_t uid = kFirstUser; uid < kFirstUser + 4; ++uid) {
    saved.users[uid] = saved.site;
  }
  return saved;
}

// What main.cpp makes, without the threads that look for themselves.
struct Agent {
  std::string why, path = directory() + "/agent.sock", node = "node";
  std::unique_ptr<Listener> listener = Listener::open(path, why);
  UniqueFd stop{eventfd(0, EFD_CLOEXEC)};
  Services services{{*parse_service_url("http://127.0.0.1:9", why)}};
  Token token{""};
  Trust trust;
  Systems systems;
  ServiceHealth health{services, path + ".service"};
  SavedState saved{directory() + "/state"};
  Exchange exchange;
  LustreHealth lustre{{.systems = [this] { return systems.mounted(SES_BACKEND_LUSTRE); },
                       .mountinfo = read_mountinfo,
                       .root = directory(),
                       .file_system = "lustre"}};
  UnionHealth unions{[] { return std::vector<StorageSystem>(); }};
  WritingOut writing_out;
  TableManager manager{{path, systems, lustre, unions, SES_LUSTRE_LIST, exchange, writing_out}};
  bool has_table = manager.open(why);
  Announcer announcer{{services, token, trust, node, health, exchange, saved}};
  Watcher watcher{announcer, writing_out, directory(), 64, 1000};
  Finder finder{watcher, exchange, directory()};
  Stager stager{unions, [](const std::string &) {}};
  Doorbell doorbell{manager.publisher().asleep()};
  Survey survey{directory()};
  UserStages stages{{manager, announcer, stager}};
  ClaimedFiles files{{manager, systems, stages, health, announcer, finder}};
  ClaimsManager claims{
      {manager, stages, files, health, announcer, exchange, doorbell, survey, false}};
  Chooser chooser{{systems, lustre, SES_LUSTRE_LIST, health, announcer, manager, claims}};
  PlacementReports reports{{systems, watcher, finder, manager, claims}};
  SocketServer server{
      {listener->descriptor(), 6, std::chrono::milliseconds(2), 1'000'000, chooser, reports}};
  Loop loop{{stop.get(), server, health, exchange, stager, doorbell, manager, claims}};
  std::thread thread;

  Agent() {
    systems.describe({system_here()});
    health.failed("no service", Reply());
    lustre.start();
    manager.apply_saved({table()}, Clock::now());
    manager.look_at_mounts(Clock::now());
    claims.apply_saved(needs());
    thread = std::thread([this] { MUST(loop.run()); });
  }

  ~Agent() {
    eventfd_write(stop.get(), 1);
    thread.join();
    server.drop_all();
    claims.stop(std::chrono::milliseconds(0));
    finder.stop(std::chrono::milliseconds(0));
    stager.stop();
    lustre.stop();
    (void)watcher.stop();
    announcer.stop(std::chrono::milliseconds(0));
  }
};

struct Program {
  UniqueFd socket;
  uint64_t placement = 0;
};

struct File {
  UniqueFd path, open;
  struct stat about {};
};

std::array<Program, 8> programs;
std::array<File, 4> files; // one of each user

ses_ask ask(bool managed) {
  ses_ask message{};
  message.header = {SES_PROTOCOL_MAGIC, SES_PROTOCOL_VERSION, SES_MESSAGE_ASK, sizeof message, 0};
  message.device_major = managed ? major(files[0].about.st_dev) : 0;
  message.device_minor = managed ? minor(files[0].about.st_dev) : 0;
  message.expected_bytes = -1;
  message.requirement_count = 1;
  message.requirements[0] = {SES_KIND_CURRENT_WRITE_RATE, 0, 100, 1};
  return message;
}

// As the user, whom the kernel then names to the agent.
void connect_as(uid_t uid, Program &program) {
  program = {UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), 0};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (directory() + "/agent.sock").c_str(),
               sizeof address.sun_path - 1);
  (void)syscall(SYS_setresuid, -1, uid, -1); // of this thread alone
  (void)connect(program.socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address);
  (void)syscall(SYS_setresuid, -1, 0, -1);
}

// Hung up, or what the agent said, which is as the protocol has it.
std::optional<ses_answer> answer(int socket, int milliseconds) {
  pollfd polled{socket, POLLIN, 0};
  ses_answer said{};
  if (poll(&polled, 1, milliseconds) != 1) {
    return std::nullopt;
  }
  const ssize_t length = recv(socket, &said, sizeof said, MSG_DONTWAIT);
  if (length <= 0) {
    return std::nullopt;
  }
  MUST(length == sizeof said && said.header.magic == SES_PROTOCOL_MAGIC);
  MUST(said.status >= SES_ANSWER_PLACE && said.status <= SES_ANSWER_UNAVAILABLE);
  MUST((said.status == SES_ANSWER_PLACE) == (said.placement_id != 0));
  MUST(said.status != SES_ANSWER_PLACE || (said.ost_count > 0 && said.ost_count <= SES_OSTS_MAX));
  return said;
}

// Whatever the others do, who asks is answered; again, as the agent hangs up while all places are
// taken by who waits for a choice, and when this thread gets no processor for a second before it
// asks.
bool is_answered(bool managed, uint32_t status) {
  for (unsigned tries = 0; tries < kTries; ++tries) {
    Program program;
    connect_as(kFirstUser + 100, program);
    const ses_ask question = ask(managed);
    (void)send(program.socket.get(), &question, sizeof question, MSG_NOSIGNAL);
    if (const auto said = answer(program.socket.get(), kForEver)) {
      return said->status == status;
    }
    usleep(kPause);
  }
  return false;
}

void put(int socket, const void *message, size_t size, const std::vector<int> &descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  iovec part{const_cast<void *>(message), size};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const size_t length = descriptors.size() * sizeof(int);
    whole.msg_control = control;
    whole.msg_controllen = CMSG_SPACE(length);
    cmsghdr *head = CMSG_FIRSTHDR(&whole);
    *head = {CMSG_LEN(length), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(head), descriptors.data(), length);
  }
  (void)sendmsg(socket, &whole, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// HOW changes one byte of a message.
template <typename Message> void change(Message &message, const uint8_t *how) {
  reinterpret_cast<uint8_t *>(&message)[how[0] * size_t{2} % sizeof message] ^= how[1];
}

void report(Program &program, const uint8_t *how) {
  if (const auto said = answer(program.socket.get(), (how[0] & 1) != 0 ? 20 : 0)) {
    program.placement = said->placement_id;
  }
  const File &file = files[how[0] / 2 % files.size()];
  ses_report message{};
  message.header = {SES_PROTOCOL_MAGIC, SES_PROTOCOL_VERSION, SES_MESSAGE_REPORT, sizeof message,
                    0};
  message.placement_id = program.placement;
  message.device = file.about.st_dev;
  message.inode = file.about.st_ino;
  message.outcome = (how[0] & 8) != 0 ? SES_OUTCOME_NOT_CREATED : SES_OUTCOME_CREATED;
  message.fd = (how[0] & 16) != 0 ? -getpid() : file.open.get();
  change(message, how + 1);
  std::vector<int> sent;
  if ((how[0] & 32) == 0) {
    sent.push_back((how[0] & 64) != 0 ? file.open.get() : file.path.get());
  }
  put(program.socket.get(), &message, sizeof message, sent);
}

void step(const uint8_t *what) {
  Program &program = programs[what[1] % programs.size()];
  const uint8_t *how = what + 2;
  ses_ask question = ask((how[0] & 1) == 0);
  switch (what[0] % 8) {
  case 0:
    connect_as(kFirstUser + how[0] % files.size(), program);
    break;
  case 1:
    change(question, how + 1);
    put(program.socket.get(), &question, sizeof question, {});
    break;
  case 2:
    report(program, how);
    break;
  case 3: // what is none, and any number of descriptors
    put(program.socket.get(), &question, how[1] * size_t{8} % sizeof question,
        std::vector<int>(how[2] % 254, how[0] % 3 == 0   ? program.socket.get()
                                       : how[0] % 3 == 1 ? files[0].path.get()
                                                         : files[1].open.get()));
    break;
  case 4:
    program = {};
    break;
  case 5:
    (void)shutdown(program.socket.get(), how[0] % 3);
    break;
  case 6: // several messages at once
    for (int i = 0; i < how[0] % 4; ++i) {
      put(program.socket.get(), &question, sizeof question, {files[0].path.get()});
    }
    break;
  default:
    MUST(is_answered(false, SES_ANSWER_NOT_MANAGED));
  }
}

void begin() {
  MUST(geteuid() == 0); // programs of several users
  spdlog::set_level(spdlog::level::off);
  (void)unshare(CLONE_NEWIPC); // its segments end with it
  std::filesystem::create_directory(directory());
  MUST(chmod(directory().c_str(), 0755) == 0);
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = directory() + "/" + std::to_string(i);
    files[i].open = UniqueFd(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    files[i].path = UniqueFd(open(name.c_str(), O_PATH | O_CLOEXEC));
    MUST(fchown(files[i].open.get(), kFirstUser + static_cast<uid_t>(i), 0) == 0);
    MUST(fstat(files[i].open.get(), &files[i].about) == 0);
  }
  static const int at_end = std::atexit([] { std::filesystem::remove_all(directory()); });
  MUST(at_end == 0);
}

// A new one after some inputs.
void renew(std::unique_ptr<Agent> &agent) {
  agent.reset();
  agent = std::make_unique<Agent>();
  while (!is_answered(true, SES_ANSWER_PLACE)) { // it looks at its OSTs first
    usleep(1000);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<Agent> agent;
  static unsigned inputs = 0;
  if (inputs == 0) {
    begin();
    static const int at_end = std::atexit([] { agent.reset(); });
    MUST(at_end == 0);
  }
  if (inputs++ % kInputsOfAgent == 0) {
    renew(agent);
  }
  for (; size >= kStep; data += kStep, size -= kStep) {
    step(data);
  }
  programs = {};
  MUST(is_answered(false, SES_ANSWER_NOT_MANAGED));
  return 0;
}
