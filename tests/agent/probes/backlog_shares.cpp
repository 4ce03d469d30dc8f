// backlog_shares SEED: users who open and end files at random, batches of which some are put back,
// some files refused, and some not stored by a service that is another one then.  Prints what is
// wrong, or "all told".
//
// backlog_shares: one user has 50,000 files waiting and is refused some, another has one file.
// Prints in which batch that is, for how many users there is room, and whose is kept.
//
// backlog_shares users: in how many messages each of so many users is named.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>

#include "announcements/announcement_backlog.h"
#include "announcements/seen_users.h"

using namespace ses::agent;

namespace {

OpenedFile file_of(uint64_t id) {
  OpenedFile file;
  file.placement_id = id;
  file.origin = std::make_shared<const Origin>();
  return file;
}

int shares() {
  AnnouncementBacklog book;
  for (uint64_t id = 1; id <= 50000; ++id) {
    book.opened(1000, file_of(id));
  }
  std::printf("crowded %d, other %d", book.crowded_by(1000), book.crowded_by(1001));
  book.opened(1001, file_of(100001));
  (void)book.ended(1001, {100001, EndReason::kClosed, 7, ""});
  auto batch = book.take(2000);
  bool is_there = false;
  for (const auto &opening : batch.opened) {
    is_there = is_there || opening.uid == 1001;
  }
  std::printf(", first batch %d and %zu", is_there, batch.ended.size());
  uint64_t number = 0;
  book.settle(batch, ++number, {}, {});
  while (book.waiting() > 0) {
    batch = book.take(2000);
    book.settle(batch, ++number, {}, {});
  }
  for (uint64_t id = 1; id <= 50000; ++id) {
    (void)book.ended(1000, {id, EndReason::kClosed, 7, ""});
  }
  while (book.waiting() > 0) {
    batch = book.take(2000);
    book.settle(batch, ++number, {}, {});
  }
  std::printf(", kept %d and %d", book.knows(100001), book.knows(1));
  for (uint64_t id = 200001; id <= 205000; ++id) {
    book.opened(1000, file_of(id));
  }
  while (book.waiting() > 0) {
    batch = book.take(2000);
    book.settle(batch, ++number, {}, {});
  }
  for (uint64_t id = 200001; id <= 205000; ++id) {
    book.moved(id, true);
  }
  batch = book.take(2000);
  std::printf(", moves in a batch %zu\n", batch.size());
  return 0;
}

int users() {
  const auto now = std::chrono::steady_clock::now();
  for (const uid_t count : {999u, 1000u, 1001u, 2500u}) {
    SeenUsers seen;
    bool first = true;
    for (uid_t uid = 1; uid <= count; ++uid) {
      first = seen.see(uid, now) && first;
    }
    std::set<uid_t> taken;
    size_t times = 0, most = 0;
    for (; taken.size() < count && times < 10; ++times) {
      const auto users = seen.take(now);
      most = std::max(most, users.size());
      taken.insert(users.begin(), users.end());
    }
    const bool again = seen.see(count, now);
    std::printf("%d %zu of %u in %zu, again %d, an hour later %zu\n", first, most, count, times,
                again, seen.take(now + std::chrono::hours(2)).size());
  }
  return 0;
}

int wrong(const char *what, uint64_t id) {
  std::printf("%s: %llu\n", what, static_cast<unsigned long long>(id));
  return 1;
}

struct Reported {
  bool opened = false, ended = false, refused = false;
  bool idle = false, idle_reported = false; // while it is open
  bool again = false;                       // a service that may lack it asks for all
};

int random(unsigned seed) {
  std::mt19937 dice(seed);
  const auto chance = [&](unsigned of) { return dice() % of == 0; };
  AnnouncementBacklog book;
  std::unordered_map<uint64_t, uid_t> open;
  std::unordered_map<uint64_t, Reported> reported;
  uint64_t next = 1, number = 0;
  for (unsigned step = 0; step < 4000 || book.waiting() > 0; ++step) {
    if (step < 4000 && !chance(3)) {
      const uid_t uid = chance(4) ? dice() % 5 : 0;
      open[next] = uid;
      reported[next];
      book.opened(uid, file_of(next++));
    }
    if (step < 4000 && !open.empty() && chance(2)) {
      const uint64_t id = open.begin()->first;
      reported[id].idle = !reported[id].idle;
      book.moved(id, reported[id].idle);
    }
    if (step < 4000 && !open.empty() && chance(2)) {
      const auto [id, uid] = *open.begin();
      open.erase(open.begin());
      (void)book.ended(uid, {id, EndReason::kClosed, 7, ""});
    }
    if (!chance(5) && step < 4000) {
      continue;
    }
    auto batch = book.take(1 + dice() % 40);
    if (chance(3)) {
      book.put_back(std::move(batch));
      continue;
    }
    std::vector<uint64_t> refused;
    for (const auto &opening : batch.opened) {
      Reported &file = reported[opening.file.placement_id];
      if (opening.file.placement_id % 7 == 0) {
        refused.push_back(opening.file.placement_id);
        file.refused = true;
      }
      if (file.ended && !file.again) {
        return wrong("opened after its end", opening.file.placement_id);
      }
      file.opened = true;
      file.idle_reported = opening.file.idle;
    }
    for (const auto &ending : batch.ended) {
      if (!reported[ending.file.placement_id].opened) {
        return wrong("an end before its opening", ending.file.placement_id);
      }
      reported[ending.file.placement_id].ended = true;
    }
    book.settle(batch, ++number, {}, refused);
    if (chance(10)) {
      book.stored(number - dice() % 2);
    }
    if (chance(50)) {
      book.report_unstored_again();
      for (auto &[id, file] : reported) {
        file.again = true;
      }
    }
  }
  for (const auto &[id, file] : reported) {
    if (!file.opened || file.refused != (id % 7 == 0) || file.ended == open.contains(id)) {
      return wrong("not told as it is", id);
    }
    if (open.contains(id) && !file.refused && file.idle != file.idle_reported) {
      return wrong("idle, or not, and not told so", id);
    }
    if (file.refused && book.knows(id) && open.contains(id)) {
      return wrong("refused and kept", id);
    }
  }
  book.stored(number);
  if (book.waiting() != 0) {
    return wrong("left over", book.waiting());
  }
  std::puts("all told");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && argv[1] == std::string("users")) {
    return users();
  }
  return argc > 1 ? random(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10))) : shares();
}
