// What the arithmetic of rates says of made-up evidence: one line "CASE: result" for each.
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "rates/attribution.h"
#include "rates/movement.h"
#include "rates/process_io.h"
#include "rates/readers.h"
#include "rates/reading.h"
#include "rates/unwritten.h"

using namespace ses::agent;

namespace {

constexpr uint64_t kMega = 1000000;

void show(const char *name, const ProcessBytes &process, const std::vector<SeenFile> &files,
          bool is_first = false) {
  std::printf("%s:", name);
  for (const MovedBytes &moved : attribute(process, is_first, files)) {
    std::printf(" %llu/%llu%s%s", static_cast<unsigned long long>(moved.written / kMega),
                static_cast<unsigned long long>(moved.read / kMega), moved.shared ? " shared" : "",
                moved.silent ? " silent" : "");
  }
  std::printf("\n");
}

void show(const char *name, const Achieved &achieved) {
  std::printf("%s: %llu in %.1f s, %llu in %.1f s, open %.1f s, %zu samples%s%s%s%s%s\n", name,
              static_cast<unsigned long long>(achieved.written / kMega), achieved.writing_seconds,
              static_cast<unsigned long long>(achieved.read / kMega), achieved.reading_seconds,
              achieved.open_seconds, achieved.samples.size(), achieved.is_small() ? " small" : "",
              achieved.is_short() ? " short" : "", achieved.gaps ? " gaps" : "",
              achieved.mapped ? " mapped" : "", achieved.is_cached() ? " cached" : "");
}

SeenFile grown(uint64_t bytes, uint64_t position) {
  SeenFile file;
  file.grown = bytes;
  file.written_on = position;
  return file;
}

void attributions() {
  const ProcessBytes wrote50{0, 50 * kMega, 0, 0};
  show("front to back", wrote50, {grown(50 * kMega, 50 * kMega)});
  show("two files", wrote50, {grown(20 * kMega, 20 * kMega), grown(30 * kMega, 0)});
  show("holes", wrote50, {grown(500 * kMega, 500 * kMega)});
  show("the rest went elsewhere", {0, 90 * kMega, 0, 0}, {grown(50 * kMega, 50 * kMega)});
  SeenFile over;
  over.modified = true;
  show("overwritten", wrote50, {over});
  show("overwritten, first look", wrote50, {over}, true);
  show("two overwritten", wrote50, {over, over});
  show("one grows, one is overwritten", wrote50, {grown(20 * kMega, 20 * kMega), over});
  show("a child writes", {}, {grown(50 * kMega, 50 * kMega)});
  show("made room for a mapping", {}, {grown(50 * kMega, 0)});
  SeenFile unfinished = grown(50 * kMega, 0);
  unfinished.unfinished = true;
  show("a call goes on", {}, {unfinished});
  SeenFile mapped;
  mapped.mapped = true;
  show("pages of a mapping", {0, 0, 0, 40 * kMega}, {mapped});
  SeenFile read;
  read.can_write = false;
  read.can_read = true;
  read.read_on = 30 * kMega;
  show("read by position", {30 * kMega, 0, 0, 0}, {read});
  read.read_on = 0;
  read.accessed = true;
  show("read by pread()", {30 * kMega, 0, 0, 0}, {read});
  show("copied", {30 * kMega, 30 * kMega, 0, 0}, {read, grown(30 * kMega, 30 * kMega)});
}

MovedBytes moved(uint64_t written, uint64_t read = 0, bool silent = false) {
  MovedBytes bytes;
  bytes.written = written * kMega;
  bytes.read = read * kMega;
  bytes.silent = silent;
  return bytes;
}

void movements() {
  Movement steady;
  for (int i = 1; i <= 100; ++i) {
    steady.add(i * 0.5, moved(10), false, false);
  }
  show("steady", steady.end(50.2, 4 * kMega, 1004 * kMega));
  Movement pauses;
  pauses.add(1, moved(10), false, false);
  pauses.add(1.5, moved(0), false, false);
  pauses.resume(60);
  pauses.add(61, moved(10), false, false);
  show("pauses", pauses.end(61.1, 0, 20 * kMega));
  Movement synchronizes;
  synchronizes.add(0.5, moved(10), false, false);
  synchronizes.add(1, moved(0), true, false);
  synchronizes.add(1.5, moved(0), true, false);
  synchronizes.synchronized();
  show("fsync", synchronizes.end(1.6, 0, 10 * kMega));
  Movement reads;
  reads.add(0.5, moved(0, 10), false, false);
  reads.add(1, moved(0, 10), false, false);
  show("read to the end", reads.end(1.5, 0, 25 * kMega));
  Movement random; // what it wrote in place after the last look is not known, nor its time counted
  random.add(0.5, moved(10), true, false);
  random.add(1, moved(10), true, false);
  show("at random places", random.end(1.5, 0, 50 * kMega));
  Movement mapping;
  mapping.add(0.5, moved(0, 0, true), false, false);
  mapping.add(1.5, moved(40), false, false);
  show("mapping", mapping.end(1.5, 0, 50 * kMega));
  Movement late;
  late.begin_late();
  late.add(2, moved(10), false, false);
  show("late", late.end(2, 0, 10 * kMega));
  Movement gap;
  gap.add(0.5, moved(1), false, false);
  gap.add(10, moved(9), false, false);
  show("gap", gap.end(10, 0, 10 * kMega));
  Movement little;
  little.add(0.1, MovedBytes{5000, 0, false, false}, false, false);
  show("little", little.end(0.1, 0, 5000));
}

void texts() {
  const auto bytes = parse_process_bytes("rchar: 7\nwchar: 8\nsyscr: 1\nsyscw: 2\nread_bytes: 9\n"
                                         "write_bytes: 10\ncancelled_write_bytes: 0\n");
  std::printf("io: %d %d %d %d, %d\n", static_cast<int>(bytes->rchar),
              static_cast<int>(bytes->wchar), static_cast<int>(bytes->fetched),
              static_cast<int>(bytes->dirtied), parse_process_bytes("").has_value());
  const auto info = parse_descriptor_info("pos:\t123\nflags:\t0140001\nmnt_id:\t24\nino:\t55\n");
  std::printf("fdinfo: %d %d %d %d %d, %d\n", static_cast<int>(info->position),
              static_cast<int>(info->inode), info->can_write(), info->can_read(),
              info->is_durable(), parse_descriptor_info("pos:\tx\n").has_value());
  BusyDescriptors busy;
  add_busy("74 0x5 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f58\n", busy);
  add_busy("running\n", busy);
  add_busy("-1 0x7ffe 0x7f58\n", busy);
  add_busy("", busy);
  std::printf("syscall: %zu %zu %zu\n", busy.writing.size(), busy.reading.size(),
              busy.synchronizing.count(5));
  const char *mounts =
      "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 7:3 / /b/one rw - ext4 /dev/loop3 rw\n";
  std::printf("device: %s %s %s %s|\n", device_at(mounts, "/b/one").c_str(),
              device_at(mounts, "/b/one/x").c_str(), device_at(mounts, "/b/ones").c_str(),
              device_at("", "/b").c_str());
  std::printf("kilobytes: %d %d\n",
              static_cast<int>(kilobytes_of("Dirty:  3 kB\nWriteback:  1 kB\nOther: 9 kB\n",
                                            {"Dirty", "Writeback"})
                                   .value_or(0)),
              kilobytes_of("", {"Dirty"}).has_value());
}

// The first and the last process that is asked, in three looks at a hundred, and one at a hundred
// thousand.
void turns() {
  std::set<pid_t> processes;
  for (pid_t pid = 1; pid <= 100; ++pid) {
    processes.insert(pid);
  }
  AskedBefore asked;
  Readers::Time now{};
  std::printf("turns:");
  for (int look = 0; look < 3; ++look) {
    now += std::chrono::seconds(3);
    const std::vector<pid_t> next = to_ask(processes, asked, now);
    for (const pid_t pid : next) {
      auto &[at, times] = asked[pid];
      at = now;
      ++times;
    }
    std::printf(" %d-%d", next.front(), next.back());
  }
  for (pid_t pid = 101; pid <= 100'000; ++pid) {
    processes.insert(pid);
  }
  const std::vector<pid_t> next = to_ask(processes, asked, now);
  std::printf(" %d-%d\n", next.front(), next.back());
}

} // namespace

int main() {
  attributions();
  movements();
  texts();
  turns();
}
