// backlog_bound COUNT: files that were opened and ended, each taken by a service that stores
// nothing. Prints how many are known still, which is the first of them, what is said to another
// service, and how many are known when that has stored it.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "announcements/announcement_backlog.h"

using namespace ses::agent;

int main(int, char **argv) {
  const uint64_t count = std::strtoull(argv[1], nullptr, 10);
  AnnouncementBacklog book;
  for (uint64_t id = 1; id <= count; ++id) {
    OpenedFile file;
    file.placement_id = id;
    file.origin = std::make_shared<const Origin>();
    book.opened(1, std::move(file));
    auto batch = book.take(2000);
    book.settle(batch, 2 * id - 1, {}, {});
    (void)book.ended(1, {id, EndReason::kClosed, 7, ""});
    batch = book.take(2000);
    book.settle(batch, 2 * id, {}, {});
  }
  uint64_t known = 0, first = 0;
  for (uint64_t id = count; id > 0; --id) {
    known += book.knows(id) ? 1 : 0;
    first = book.knows(id) ? id : first;
  }
  book.report_unstored_again();
  size_t opened = 0, ended = 0;
  uint64_t number = 2 * count;
  for (auto batch = book.take(2000); batch.size() > 0; batch = book.take(2000)) {
    opened += batch.opened.size();
    ended += batch.ended.size();
    book.settle(batch, ++number, {}, {});
    book.stored(number);
  }
  uint64_t left = 0;
  for (uint64_t id = count; id > 0; --id) {
    left += book.knows(id) ? 1 : 0;
  }
  std::printf("known %llu, first %llu, to be said %zu and %zu, known in the end %llu\n",
              static_cast<unsigned long long>(known), static_cast<unsigned long long>(first),
              opened, ended, static_cast<unsigned long long>(left));
}
