/*
 * Whether a file received what was required, the likely cause where it did not, and how loaded each
 * element was of late.  Pure; no lock.
 *
 * A rate lies between what is certain and what the program saw: what was written may be in the page
 * cache only.  A requirement is met when the certain rate meets it, and missed when not even the
 * program's rate is 80 % of it; where both leave it open, nobody can say.
 */
#ifndef SES_STATE_VERDICT_H
#define SES_STATE_VERDICT_H

#include "records.h"

#include <span>

namespace ses::state {

/* The load of an element during some time; nothing: nobody saw it.  POINTS are seconds since its
 * beginning, busy (0 to 1; -1 is unknown) and our streams.  BUSY is the mean, HEALTH the lowest
 * part of its described speed that was to be expected of it; FIRST and MOST are our streams there
 * at the beginning and at most. */
struct ElementLoad {
  std::vector<Sample> points;
  Number busy;
  double health = 1.0, first = 0.0, most = 0.0;
};

/* Samples of all elements, the oldest first; bounded: the older one is, the fewer of its neighbours
 * are kept. */
class LoadHistory {
public:
  /* Count along other rows from now on; elements that were there before keep their samples. */
  void bind(std::unordered_map<std::string, std::size_t> rows);
  /* Take a sample of all elements, at most one a second. */
  void record(double now, std::span<const double> busy, std::span<const double> health,
              std::span<const double> streams);
  /* From the last sample before a time to another. */
  std::optional<ElementLoad> during(const std::string &element, double begin, double end) const;
  std::size_t size() const { return _samples.size(); }

private:
  struct Cell {
    float busy, health, streams;
  };
  struct Sampled {
    double at;
    std::vector<Cell> cells;
  };
  std::unordered_map<std::string, std::size_t> _rows;
  std::vector<Sampled> _samples;
};

FileVerdict verdict_of(const Placement &placement, const std::optional<ElementLoad> &load);

/* Achieved over predicted of a current rate where that says something of the element: nothing where
 * there is a doubt, or where the program waited. */
Number prediction_error(const FileVerdict &verdict, const Achieved *achieved);

} // namespace ses::state

#endif /* SES_STATE_VERDICT_H */
