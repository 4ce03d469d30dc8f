#include "table/table_segment.h"

#include <unistd.h>

#include "node/shared_memory.h"

namespace ses::agent {

std::unique_ptr<TableSegment> TableSegment::open(uint64_t socket_hash, std::string &why) {
  const int32_t key = ses_segment_key(socket_hash, 0);
  const ses_segment_rule rule = ses_segment_published(geteuid(), false, sizeof(ses_table));
  const ses_segment_head kind = SES_TABLE_KIND;
  for (bool was_left = true; was_left;) {
    void *at = nullptr;
    const int id = ses_segment_publish(key, &rule, &was_left, &at);
    if (id < 0) {
      why = why_no_segment(id, key);
      return nullptr;
    }
    std::unique_ptr<TableSegment> segment(
        new TableSegment(id, static_cast<ses_table *>(at), was_left));
    if (!was_left ||
        (ses_segment_is(at, &kind) && segment->table().head.socket_hash == socket_hash)) {
      return segment;
    }
    segment->remove(); // of another version, or never filled
  }
  return nullptr;
}

std::unique_ptr<TableSegment> TableSegment::hidden() {
  const ses_segment_rule rule{geteuid(), geteuid(), geteuid(), 0600, sizeof(ses_table)};
  bool was_left = false;
  void *at = nullptr;
  const int id = ses_segment_publish(0, &rule, &was_left, &at);
  if (id < 0) {
    return nullptr;
  }
  ses_segment_remove(id);
  return std::unique_ptr<TableSegment>(new TableSegment(id, static_cast<ses_table *>(at), false));
}

TableSegment::~TableSegment() { ses_segment_detach(table_); }

void TableSegment::remove() { ses_segment_remove(id_); }

} // namespace ses::agent
