// closed_files DIRECTORY: files that were closed, opened again, read and removed.  Prints what is
// told of each after one look.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "files/closed_files.h"

using namespace ses::agent;

namespace {

constexpr double kRate = 1e6, kBytes = 10e6;

void expect(bool done) {
  if (!done) {
    std::perror("closed_files");
    std::exit(1);
  }
}

// Another process that has a file open, and does what it is told.
class Reader {
public:
  explicit Reader(const std::string &path) {
    int to[2], from[2];
    expect(pipe(to) == 0 && pipe(from) == 0);
    child_ = fork();
    if (child_ == 0) {
      close(to[1]);
      close(from[0]);
      const int file = open(path.c_str(), O_RDONLY);
      char step = 'o';
      do {
        char byte = 0;
        expect(step != 'r' || read(file, &byte, 1) == 1);
        expect(step != 'c' || close(file) == 0);
        expect(write(from[1], &step, 1) == 1);
      } while (read(to[0], &step, 1) == 1);
      _exit(0);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    wait();
  }
  ~Reader() {
    close(to_);
    close(from_);
    waitpid(child_, nullptr, 0);
  }
  void does(char step) const {
    expect(write(to_, &step, 1) == 1);
    wait();
  }

private:
  void wait() const {
    char step = 0;
    expect(read(from_, &step, 1) == 1);
  }
  pid_t child_ = 0;
  int to_ = -1, from_ = -1;
};

class Case {
public:
  Case(const char *name, const std::string &directory)
      : name_(name), path(directory + "/" + std::to_string(++id_)), closed_(writing_out_) {
    auto facts = std::make_shared<TableFacts>();
    facts->system = "union";
    facts->rows.resize(1);
    ses_core_element element{};
    element.read_rate = kRate;
    element.write_rate = kNotKnown;
    writing_out_.show(0, facts, {element});
    auto epoch = std::make_shared<Epoch>();
    epoch->facts = facts;
    choice_.epoch = epoch;
    choice_.rows = {0};
    const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    expect(file >= 0 && write(file, "x", 1) == 1 && close(file) == 0);
  }
  // It is closed as far as its program goes, written out, and followed.
  void follow() {
    const int handle = open(path.c_str(), O_PATH);
    AnnouncementBacklog::Ending ending{0, {id_, EndReason::kClosed, {}, {}}};
    expect(closed_.add(ending, handle, choice_, kBytes, now_));
    close(handle);
    expect(closed_.ended(now_).empty());
    (void)closed_.look(now_);
  }
  void look() {
    now_ += std::chrono::seconds(1);
    std::printf("%s:", name_);
    for (const auto &[id, idle] : closed_.look(now_)) {
      std::printf(" %s", idle ? "idle" : "moves");
    }
    std::printf(closed_.ended(now_).empty() ? "\n" : " ended\n");
  }

private:
  const char *name_;
  static inline uint64_t id_ = 0;
  WritingOut writing_out_;
  Choice choice_;
  ClosedFiles::Time now_{};

public:
  const std::string path;

private:
  ClosedFiles closed_;
};

} // namespace

int main(int, char **argv) {
  spdlog::set_level(spdlog::level::off); // what is said of other processes of this machine
  const std::string directory = argv[1];
  {
    Case test("opened and closed", directory);
    test.follow();
    close(open(test.path.c_str(), O_RDONLY));
    test.look();
  }
  {
    Case test("closed and opened", directory);
    test.follow();
    const int first = open(test.path.c_str(), O_RDONLY);
    test.look();
    close(first);
    const int second = open(test.path.c_str(), O_RDONLY);
    test.look();
    close(second);
    test.look();
  }
  {
    Case test("read by who had it open before", directory);
    const Reader reader(test.path);
    test.follow();
    reader.does('r');
    test.look();
    reader.does('c');
    test.look();
  }
  {
    Case test("read and closed by who had it open before", directory);
    const Reader reader(test.path);
    test.follow();
    reader.does('r');
    reader.does('c');
    test.look();
  }
  {
    Case test("removed", directory);
    test.follow();
    unlink(test.path.c_str());
    test.look();
  }
}
