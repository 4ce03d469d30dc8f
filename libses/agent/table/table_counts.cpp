// What the table manager counts of this node: claims, and files that the service does not count
// yet, or still counts after their end.
#include <algorithm>
#include <utility>

#include "table/table_manager.h"

namespace ses::agent {

void TableManager::claim(unsigned number, unsigned row, int change) {
  System &system = systems_[number];
  change = std::max(change, -system.claims[row]); // what the table does not have it cannot lose
  system.claims[row] += change;                   // also of rows that are gone: they may come back
  if (!system.candidates || row >= system.candidates->size()) {
    return;
  }
  for (int i = 0; i < change; ++i) {
    system.candidates->add(row, 0);
  }
  for (int i = 0; i > change; --i) {
    system.candidates->remove(row, 0);
  }
  system.dirty = true;
}

bool TableManager::place(uint64_t id, unsigned number, std::shared_ptr<const TableFacts> facts,
                         const std::vector<uint8_t> &rows, const ses_core_need &need) {
  CountedFile placed;
  placed.system = number;
  placed.bytes = need.bytes;
  placed.facts = std::move(facts);
  placed.rows = rows;
  placed.promises = Promises::of(need, rows.size());
  System &system = systems_[number];
  for (const uint8_t row : rows) {
    system.used |= uint64_t{system.candidates && placed.facts == system.candidates->facts()} << row;
  }
  const bool is_first = !placed_.contains(id);
  if (is_first) {
    count(placed_[id] = std::move(placed), true);
  }
  return is_first;
}

void TableManager::rest(uint64_t id, bool idle) {
  const auto file = placed_.find(id);
  if (file == placed_.end() || file->second.ended) {
    return;
  }
  count(file->second, false);
  file->second.idle = idle;
  file->second.was_idle = true;
  count(file->second, true);
}

void TableManager::end(uint64_t id, bool closed) {
  const auto file = placed_.find(id);
  if (file == placed_.end() || file->second.ended) {
    return;
  }
  CountedFile &placed = file->second;
  count(placed, false);
  placed.ended = true;
  if (!closed && !placed.counted_by_service && !placed.reported_opened) { // it came to nothing
    placed_.erase(file);
    return;
  }
  count(placed, true);
}

// The next rows of the table count what was reported to the service.
void TableManager::note_reported(const ServiceUpdate &update) {
  const auto note = [this](uint64_t id, bool CountedFile::*reported) {
    if (const auto file = placed_.find(id); file != placed_.end()) {
      file->second.*reported = true;
      systems_[file->second.system].reported.push_back(id);
    }
  };
  for (const auto &[id, idle] : update.opened) {
    if (const auto file = placed_.find(id); file != placed_.end()) {
      file->second.reported_idle = idle;
    }
    note(id, &CountedFile::reported_opened);
  }
  for (const uint64_t id : update.ended) {
    note(id, &CountedFile::reported_ended);
  }
  for (const uint64_t id : update.unknown) { // reported again, with how they came about
    if (const auto file = placed_.find(id); file != placed_.end()) {
      count(file->second, false);
      file->second.counted_by_service = file->second.reported_opened = file->second.reported_ended =
          false;
      count(file->second, true);
    }
  }
  for (const uint64_t id : update.refused) {
    if (const auto file = placed_.find(id); file != placed_.end()) {
      count(file->second, false);
      placed_.erase(file);
    }
  }
}

void TableManager::settle(unsigned number) {
  for (const uint64_t id : std::exchange(systems_[number].reported, {})) {
    settle(id);
  }
}

void TableManager::settle(uint64_t id) {
  const auto file = placed_.find(id);
  if (file == placed_.end()) {
    return;
  }
  CountedFile &placed = file->second;
  count(placed, false);
  placed.take_up_rows();
  if (placed.ended && placed.reported_ended) {
    placed_.erase(file);
    return;
  }
  count(placed, true);
}

void TableManager::count(const CountedFile &placed, bool in) {
  System &system = systems_[placed.system];
  if (system.candidates) {
    placed.count(*system.candidates, in);
    system.streams += in ? placed.streams() : -placed.streams();
    system.dirty = true;
  }
}

void TableManager::count_again(unsigned number) {
  systems_[number].streams = 0;
  for (const auto &[id, placed] : placed_) {
    if (placed.system == number) {
      count(placed, true);
    }
  }
  System &system = systems_[number];
  for (unsigned row = 0; row < system.candidates->size(); ++row) {
    for (int i = 0; i < system.claims[row]; ++i) {
      system.candidates->add(row, 0);
    }
  }
}

} // namespace ses::agent
