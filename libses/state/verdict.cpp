/* See verdict.h. */
#include "verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ses::state {

namespace {

constexpr double nearly = 0.8,
                 moving_part = 0.9; /* of the time: the program did not wait elsewhere */
constexpr double slow = 0.9;        /* of the described speed */
constexpr double busy_part = 0.9, time_left = 0.7;
constexpr double itself = 1.0,
                 more_streams = 0.5; /* the first sample is from before the file was created */

bool is_write(Predicts kind) { return kind == Predicts::write || kind == Predicts::average_write; }
bool is_current(Predicts kind) { return kind == Predicts::write || kind == Predicts::read; }
bool is_rate(Predicts kind) {
  return is_write(kind) || kind == Predicts::read || kind == Predicts::average_read;
}

template <class... Values> std::string words(const char *format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

const char *sentence(Doubt doubt) {
  switch (doubt) {
  case Doubt::too_small:
    return "Too few bytes moved to measure a rate.";
  case Doubt::too_short:
    return "It was open for too short a time to measure a rate.";
  case Doubt::shared:
    return "Several files of the program moved at the same time and cannot be distinguished.";
  case Doubt::gaps:
    return "The agent did not look for a while.";
  case Doubt::mapped:
    return "It was used as memory (mmap), which shows no rate.";
  case Doubt::page_cache:
    break;
  }
  return "";
}

std::string amount(const Kind &kind, double value) {
  return words("%.4g %s", value / kind.size, kind.unit.c_str());
}

/* A rate as the program saw it, and what is certain of it; WHY where it is not known. */
struct Rate {
  Number achieved, at_least;
  std::string why;
};

bool has(const Achieved &achieved, Doubt doubt) {
  return std::find(achieved.doubts.begin(), achieved.doubts.end(), doubt) != achieved.doubts.end();
}

/* Whether a doubt leaves nothing to say of a kind. */
bool unsays(Doubt doubt, Predicts kind) {
  if (doubt == Doubt::gaps)
    return is_current(kind);
  return doubt != Doubt::mapped || kind != Predicts::average_write;
}

struct Moved {
  double amount, seconds;
};

Moved moved(Predicts kind, const Achieved &achieved) {
  return is_write(kind) ? Moved{achieved.bytes_written, achieved.writing_seconds}
                        : Moved{achieved.bytes_read, achieved.reading_seconds};
}

/* In which part of the time its data moved. */
double moving(Predicts kind, const Achieved &achieved) {
  return achieved.open_seconds > 0
             ? std::min(1.0, moved(kind, achieved).seconds / achieved.open_seconds)
             : 0.0;
}

Rate rate_of(Predicts kind, const Achieved &achieved) {
  for (Doubt doubt :
       {Doubt::too_small, Doubt::too_short, Doubt::shared, Doubt::gaps, Doubt::mapped})
    if (has(achieved, doubt) && unsays(doubt, kind))
      return {{}, {}, sentence(doubt)};
  auto [bytes, seconds] = moved(kind, achieved);
  if (bytes <= 0)
    return {{}, {}, is_write(kind) ? "Nothing was written." : "Nothing was read."};
  if (!is_current(kind))
    seconds = achieved.open_seconds;
  if (seconds <= 0)
    return {{}, {}, sentence(Doubt::too_short)};
  if (!is_write(kind) || !has(achieved, Doubt::page_cache))
    return {bytes / seconds, bytes / seconds, ""};
  double certain = std::min(bytes, achieved.bytes_on_device.value_or(0.0));
  return {bytes / seconds, certain / seconds, ""};
}

Verdict verdict_on(double bound, const Rate &rate) {
  if (bound <= 0)
    return Verdict::met;
  if (!rate.achieved || !rate.at_least)
    return Verdict::cannot_say;
  if (*rate.at_least >= bound)
    return Verdict::met;
  if (*rate.achieved < nearly * bound)
    return Verdict::missed;
  return *rate.at_least >= nearly * bound ? Verdict::nearly : Verdict::cannot_say;
}

KindVerdict judged(const Prediction &asked, const Achieved *achieved) {
  Rate rate;
  if (asked.kind->predicts == Predicts::free)
    rate = {asked.value, asked.value, asked.value ? "" : "Nobody knew what was free."};
  else if (!is_rate(asked.kind->predicts))
    rate.why = "This kind is not measured.";
  else if (achieved == nullptr)
    rate.why = "The agent of its node did not follow it.";
  else
    rate = rate_of(asked.kind->predicts, *achieved);
  Verdict verdict = verdict_on(asked.bound, rate);
  if (verdict == Verdict::cannot_say && rate.why.empty())
    rate.why = "What was written may still be in the memory of its node: it is certain of " +
               amount(*asked.kind, rate.at_least.value_or(0.0)) +
               " only that they reached the device.";
  return {asked.kind, asked.bound, asked.value, rate.achieved, rate.at_least, verdict, rate.why};
}

double missed_part(const KindVerdict &judged) {
  return !judged.achieved || judged.bound <= 0
             ? 0.0
             : std::max(0.0, 1.0 - *judged.achieved / judged.bound);
}

/* How bad it is: who cannot say is better than who met. */
int badness(Verdict verdict) {
  return verdict == Verdict::cannot_say ? 0
         : verdict == Verdict::met      ? 1
         : verdict == Verdict::nearly   ? 2
                                        : 3;
}

void find_cause(FileVerdict &made, const KindVerdict &judged, const Achieved &achieved,
                const std::optional<ElementLoad> &load) {
  auto say = [&](std::optional<Cause> cause, std::string why) {
    made.cause = cause;
    made.why = std::move(why);
  };
  auto kind = judged.kind->predicts;
  auto [bytes, seconds] = moved(kind, achieved);
  if (!is_current(kind) && seconds > 0 && bytes / seconds >= nearly * judged.bound)
    return say(
        Cause::program,
        words("The program itself waited elsewhere: data moved in %.0f%% of the time, at %s.",
              100 * moving(kind, achieved), amount(*judged.kind, bytes / seconds).c_str()));
  if (load && load->health < slow)
    return say(
        Cause::slow_element,
        words("The element was slower than described: %.0f%% of that at most while it was busy.",
              100 * load->health));
  if (judged.predicted && *judged.predicted < judged.bound &&
      judged.achieved.value_or(0.0) >= nearly * *judged.predicted)
    return say(Cause::foreseen,
               "No more was to be had: " + amount(*judged.kind, *judged.predicted) +
                   " were predicted when it was created.");
  if (load && load->most > load->first + itself + more_streams)
    return say(Cause::others,
               words("Others came: %.0f streams were on the element before it, and %.0f beside it "
                     "later.",
                     load->first, load->most - itself));
  if (!load || !load->busy)
    return say({}, "Nobody saw how busy the element was meanwhile.");
  if (*load->busy >= busy_part)
    return say(Cause::others,
               words("Others used the element: it was busy %.0f%% of the time, beside the files "
                     "placed here.",
                     100 * *load->busy));
  if (*load->busy < time_left)
    return say(Cause::client_or_network,
               words("The element had time left (busy %.0f%%): the program, its node or "
                     "the network was the limit.",
                     100 * *load->busy));
  say({},
      words("The element was busy %.0f%% of the time; that does not say why.", 100 * *load->busy));
}

double rounded(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr);
}

} // namespace

FileVerdict verdict_of(const Placement &placement, const std::optional<ElementLoad> &load) {
  FileVerdict made;
  if (load)
    made.load = load->points;
  if (placement.predicted.empty())
    return made;
  for (const auto &asked : placement.predicted)
    made.kinds.push_back(judged(asked, placement.achieved.get()));
  std::size_t worst = 0;
  for (std::size_t at = 1; at < made.kinds.size(); at++) {
    int more = badness(made.kinds[at].verdict) - badness(made.kinds[worst].verdict);
    if (more > 0 || (more == 0 && missed_part(made.kinds[at]) > missed_part(made.kinds[worst])))
      worst = at;
  }
  const auto &decided = made.kinds[worst];
  made.worst = worst;
  made.verdict = decided.verdict;
  made.why = decided.why;
  bool missed = decided.verdict == Verdict::nearly || decided.verdict == Verdict::missed;
  if (missed && is_rate(decided.kind->predicts) && placement.achieved)
    find_cause(made, decided, *placement.achieved, load);
  return made;
}

Number prediction_error(const FileVerdict &verdict, const Achieved *achieved) {
  if (achieved == nullptr || !achieved->doubts.empty() || !verdict.verdict ||
      verdict.verdict == Verdict::cannot_say)
    return {};
  for (const auto &judged : verdict.kinds) {
    if (!is_current(judged.kind->predicts) || judged.predicted.value_or(0.0) == 0.0 ||
        !judged.achieved)
      continue;
    bool enough = *judged.achieved >= judged.bound && *judged.achieved <= *judged.predicted;
    if (moving(judged.kind->predicts, *achieved) >= moving_part && !enough)
      return *judged.achieved / *judged.predicted;
  }
  return {};
}

/* ------------------------------------------------------------------------- loads */

namespace {
constexpr std::size_t max_cells = 2'000'000; /* of single elements that are kept, 12 bytes each */
constexpr std::size_t max_samples = 512, min_samples = 16, max_points = 32;
constexpr double apart = 1.0; /* seconds */
} // namespace

void LoadHistory::bind(std::unordered_map<std::string, std::size_t> rows) {
  constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
  for (auto &sample : _samples) {
    std::vector<Cell> cells(rows.size(), {unknown, unknown, unknown});
    for (const auto &[name, row] : rows)
      if (auto before = _rows.find(name);
          before != _rows.end() && before->second < sample.cells.size())
        cells.at(row) = sample.cells[before->second];
    sample.cells = std::move(cells);
  }
  _rows = std::move(rows);
}

void LoadHistory::record(double now, std::span<const double> busy, std::span<const double> health,
                         std::span<const double> streams) {
  if (!_samples.empty() && now < _samples.back().at + apart)
    return;
  auto &sample = _samples.emplace_back();
  sample.at = now;
  for (std::size_t row = 0; row < busy.size(); row++)
    sample.cells.push_back({static_cast<float>(busy[row]), static_cast<float>(health[row]),
                            static_cast<float>(streams[row])});
  auto room = max_cells / std::max<std::size_t>(1, busy.size());
  if (_samples.size() <= std::clamp(room, min_samples, max_samples))
    return;
  std::size_t half = _samples.size() / 2, kept = 0;
  for (std::size_t at = 0; at < half; at += 2)
    std::swap(_samples[kept++], _samples[at]);
  _samples.erase(_samples.begin() + static_cast<std::ptrdiff_t>(kept),
                 _samples.begin() + static_cast<std::ptrdiff_t>(half));
}

std::optional<ElementLoad> LoadHistory::during(const std::string &element, double begin,
                                               double end) const {
  auto row = _rows.find(element);
  auto earlier = [](double moment, const Sampled &sample) { return moment < sample.at; };
  auto later = [](const Sampled &sample, double moment) { return sample.at < moment; };
  auto first = std::upper_bound(_samples.begin(), _samples.end(), begin, earlier);
  if (first != _samples.begin())
    --first;
  auto last = std::lower_bound(_samples.begin(), _samples.end(), end, later);
  if (row == _rows.end() || first >= last)
    return {};
  ElementLoad load;
  auto count = static_cast<std::size_t>(last - first);
  double busy = 0.0;
  std::size_t seen = 0;
  bool known = false;
  auto number = [](float value, double unknown) {
    return std::isnan(value) ? unknown : static_cast<double>(value);
  };
  auto cell = [&](std::size_t at) {
    return first[static_cast<std::ptrdiff_t>(at)].cells.at(row->second);
  };
  for (std::size_t at = 0; at < count; at++) {
    auto sample = cell(at);
    if (!std::isnan(sample.busy)) {
      busy += sample.busy;
      seen++;
    }
    if (!std::isnan(sample.health))
      load.health =
          std::exchange(known, true) ? std::min<double>(load.health, sample.health) : sample.health;
    if (!std::isnan(sample.streams))
      load.most = std::max<double>(load.most, sample.streams);
  }
  if (seen > 0)
    load.busy = busy / static_cast<double>(seen);
  load.first = number(cell(0).streams, 0.0);
  std::size_t points = std::min(count, max_points);
  for (std::size_t at = 0; at < points; at++) {
    std::size_t place = count <= max_points ? at : at * (count - 1) / (max_points - 1);
    auto sample = cell(place);
    load.points.push_back(
        {rounded(std::max(0.0, first[static_cast<std::ptrdiff_t>(place)].at - begin), 1),
         rounded(number(sample.busy, -1.0), 3), number(sample.streams, 0.0)});
  }
  return load;
}

} // namespace ses::state
