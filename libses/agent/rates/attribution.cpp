#include "rates/attribution.h"

#include <algorithm>
#include <functional>

namespace ses::agent {
namespace {

constexpr uint64_t kNoise = 64 << 10; // bytes: messages, start-up files
constexpr uint64_t kPart = 20;        // of what is explained
constexpr uint64_t kHardly = 100;

uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Cut EVIDENCE to what a process moved in BYTES, and give what is left to TAKERS.
void settle(std::vector<MovedBytes> &moved, uint64_t MovedBytes::*amount, uint64_t bytes,
            const std::vector<size_t> &takers) {
  uint64_t sum = 0;
  size_t with_some = 0;
  for (const MovedBytes &file : moved) {
    sum += file.*amount;
    with_some += file.*amount > 0 ? 1 : 0;
  }
  if (!is_explained(less(sum, bytes), sum) && bytes >= sum / kHardly) { // holes
    const double part = static_cast<double>(bytes) / static_cast<double>(sum);
    for (MovedBytes &file : moved) {
      file.shared = file.shared || (file.*amount > 0 && with_some > 1);
      file.*amount = static_cast<uint64_t>(part * static_cast<double>(file.*amount));
    }
    return;
  } // else a child wrote what its parent opened
  const uint64_t rest = less(bytes, sum);
  if (takers.empty() || is_explained(rest, bytes)) {
    return;
  }
  for (const size_t taker : takers) {
    moved[taker].*amount += rest / takers.size();
    moved[taker].shared = moved[taker].shared || takers.size() > 1;
  }
}

} // namespace

ProcessBytes ProcessBytes::since(const ProcessBytes &earlier) const {
  return {less(rchar, earlier.rchar), less(wchar, earlier.wchar), less(fetched, earlier.fetched),
          less(dirtied, earlier.dirtied)};
}

bool is_explained(uint64_t rest, uint64_t bytes) { return rest <= kNoise || rest <= bytes / kPart; }

bool is_silent(const ProcessBytes &process, const SeenFile &file) {
  return file.grown > kNoise && file.written_on < file.grown / 2 &&
         process.wchar < file.grown / kHardly;
}

std::vector<MovedBytes> attribute(const std::optional<ProcessBytes> &process, bool is_first,
                                  const std::vector<SeenFile> &files) {
  std::vector<MovedBytes> moved(files.size());
  std::vector<size_t> writers, readers;
  for (size_t i = 0; i < files.size(); ++i) {
    const SeenFile &file = files[i];
    const bool silent = process && !file.unfinished && is_silent(*process, file);
    const bool by_pages = silent && process->dirtied >= file.grown / kPart;
    moved[i].silent = silent;
    moved[i].written = silent && !by_pages ? 0 : std::max(file.grown, file.written_on);
    moved[i].read = file.read_on;
    if (!is_first && file.can_write && moved[i].written == 0 && (file.modified || file.mapped)) {
      writers.push_back(i);
    }
    if (!is_first && file.can_read && file.read_on == 0 && file.accessed) {
      readers.push_back(i);
    }
  }
  if (process) {
    settle(moved, &MovedBytes::written, process->written(), writers);
    settle(moved, &MovedBytes::read, process->read(), readers);
  }
  return moved;
}

} // namespace ses::agent
