#include "table/table_publisher.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "ses/sequence.h"

namespace ses::agent {
namespace {

constexpr uint32_t kNobody = UINT32_MAX; // uid of an entry that is free

template <typename T> T load(T &at) { return std::atomic_ref(at).load(std::memory_order_acquire); }
template <typename T> void store(T &at, T value) {
  std::atomic_ref(at).store(value, std::memory_order_release);
}

// Programs that read meanwhile see an odd sequence, and another one afterwards.
template <typename Write> void under_sequence(ses_table_system &system, Write write) {
  const uint32_t before = system.sequence;
  ses_sequence_begin(&system.sequence, before);
  write();
  ses_sequence_end(&system.sequence, before);
}

template <size_t N> void overwrite(char (&field)[N], const std::string &text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

} // namespace

TablePublisher::TablePublisher(ses_table &table, uint64_t socket_hash, bool was_left)
    : table_(table) {
  ses_table_head &head = table.head;
  std::random_device device;
  head.segment = SES_TABLE_KIND;
  head.socket_hash = socket_hash;
  head.instance = (static_cast<uint64_t>(device()) << 32) | device();
  store(head.asleep, 0u);
  if (!was_left) {
    for (ses_table_user &user : table.users) {
      user.segment = -1;
    }
  }
  head.users = std::min<uint32_t>(head.users, SES_TABLE_USERS);
  head.mounts = std::min<uint32_t>(head.mounts, SES_TABLE_MOUNTS);
}

uint64_t TablePublisher::write(unsigned system, const System &what) {
  ses_table_system &shared = table_.systems[system];
  const size_t count = std::min<size_t>(what.elements.size(), SES_TABLE_ELEMENTS);
  under_sequence(shared, [&] {
    shared.backend = what.backend;
    shared.count = static_cast<uint32_t>(count);
    shared.candidate_limit = what.candidate_limit;
    shared.epoch += 1;
    shared.sent_ms = what.sent_ms;
    store(shared.excluded, what.excluded);
    shared.policy = what.policy;
    shared.total = what.total;
    std::copy_n(what.numbers.begin(), std::min(count, what.numbers.size()), shared.numbers);
    std::copy_n(what.elements.begin(), count, shared.elements);
    std::copy_n(what.places.begin(), count, shared.places);
  });
  return shared.epoch;
}

void TablePublisher::update(unsigned system, unsigned row, const ses_core_element &element) {
  ses_core_element &shared = table_.systems[system].elements[row];
  store(shared.own, element.own);
  store(shared.promises, element.promises);
  store(shared.promised, element.promised);
  store(shared.promised_hard, element.promised_hard);
  store(shared.reserved, element.reserved);
  store(shared.server_streams, element.server_streams);
  store(shared.last_placed, element.last_placed);
}

void TablePublisher::set_excluded(unsigned system, uint64_t rows) {
  store(table_.systems[system].excluded, rows);
}

void TablePublisher::set_streams(unsigned system, uint32_t streams) {
  store(table_.systems[system].streams, streams);
}

void TablePublisher::set_candidate_limit(unsigned system, uint32_t candidate_limit) {
  ses_table_system &shared = table_.systems[system];
  if (shared.candidate_limit != candidate_limit) {
    under_sequence(shared, [&] { shared.candidate_limit = candidate_limit; });
  }
}

void TablePublisher::set_mounts(const std::vector<Mount> &mounts) {
  const auto is_wanted = [&](const ses_table_mount &shared) {
    return std::any_of(mounts.begin(), mounts.end(), [&](const Mount &mount) {
      return shared.device_major == major(mount.device) &&
             shared.device_minor == minor(mount.device) && shared.system == mount.system &&
             mount.mount_point == shared.mount_point;
    });
  };
  uint32_t used = table_.head.mounts;
  for (uint32_t i = 0; i < used; ++i) {
    if (!is_wanted(table_.mounts[i])) {
      store(table_.mounts[i].system, static_cast<uint32_t>(SES_TABLE_SYSTEMS));
    }
  }
  for (const Mount &mount : mounts) {
    if (mount.mount_point.size() >= SES_TABLE_PATH_MAX) {
      continue;
    }
    uint32_t place = used;
    bool there = false;
    for (uint32_t i = 0; i < used && !there; ++i) {
      ses_table_mount &shared = table_.mounts[i];
      const bool gone = shared.system == SES_TABLE_SYSTEMS;
      there = !gone && shared.device_major == major(mount.device) &&
              shared.device_minor == minor(mount.device);
      place = gone && place == used ? i : place;
    }
    if (there || place >= SES_TABLE_MOUNTS) {
      continue;
    }
    ses_table_mount &shared = table_.mounts[place]; // its system says already that it is gone
    store(shared.device_major, static_cast<uint32_t>(major(mount.device)));
    store(shared.device_minor, static_cast<uint32_t>(minor(mount.device)));
    overwrite(shared.mount_point, mount.mount_point);
    store(shared.system, static_cast<uint32_t>(mount.system));
    used = std::max(used, place + 1);
    store(table_.head.mounts, used);
  }
}

std::optional<unsigned> TablePublisher::entry_of(uid_t uid) const {
  for (unsigned i = 0; i < table_.head.users; ++i) {
    if (table_.users[i].uid == uid && table_.users[i].segment >= 0) {
      return i;
    }
  }
  return std::nullopt;
}

bool TablePublisher::set_user(const User &user) {
  auto entry = entry_of(user.uid);
  for (unsigned i = 0; i < table_.head.users && !entry; ++i) {
    entry = table_.users[i].segment < 0 ? std::optional(i) : std::nullopt;
  }
  const unsigned place = entry.value_or(table_.head.users);
  if (place >= SES_TABLE_USERS) {
    return false;
  }
  ses_table_user &shared = table_.users[place];
  store(shared.segment, -1);
  store(shared.uid, user.uid);
  store(shared.instance, user.instance);
  store(shared.segment, user.segment);
  store(table_.head.users, std::max<uint32_t>(table_.head.users, place + 1));
  return true;
}

void TablePublisher::remove_user(uid_t uid) {
  if (const auto entry = entry_of(uid)) { // programs look at the first of their user
    store(table_.users[*entry].segment, -1);
    store(table_.users[*entry].uid, kNobody);
  }
}

std::vector<TablePublisher::User> TablePublisher::users() const {
  std::vector<User> with_segments;
  for (unsigned i = 0; i < table_.head.users; ++i) {
    const ses_table_user &user = table_.users[i];
    if (user.segment >= 0) {
      with_segments.push_back({user.uid, user.segment, user.instance});
    }
  }
  return with_segments;
}

void TablePublisher::beat(uint64_t now_ms) {
  store(table_.head.heartbeat_ms, now_ms);
  store(table_.head.state, static_cast<uint32_t>(SES_TABLE_ALIVE));
}

void TablePublisher::retire() {
  store(table_.head.state, static_cast<uint32_t>(SES_TABLE_RETIRED));
  store(table_.head.heartbeat_ms, uint64_t{0});
}

} // namespace ses::agent
