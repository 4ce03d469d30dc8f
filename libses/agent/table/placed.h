// One file of this node: what of it is so here, and what the service's word counts already.
//
// Pure: no I/O, threads or clock.
#ifndef SES_AGENT_PLACED_H
#define SES_AGENT_PLACED_H

#include <cstdint>
#include <memory>
#include <vector>

#include "table/candidates.h"

namespace ses::agent {

struct Placed {
  unsigned system = 0;
  std::shared_ptr<const TableFacts> facts;
  std::vector<uint8_t> rows; // of those facts
  double bytes = -1;
  bool told = false;                              // the service's word counts it as a stream
  bool ended = false;                             // here
  bool idle = false, rested = false;              // here; was idle at any time
  bool heard_opened = false, heard_ended = false; // by the service, whose word is to come
  bool heard_idle = false;                        // when it heard that it was opened

  // Puts into the counts of its elements what the service's word lacks, or takes it out.
  void count(Candidates &candidates, bool in) const;
  // The service's word has come: it counts what was heard.
  void settle() { told = heard_opened ? !heard_idle : told; }

private:
  void count_row(Candidates &candidates, unsigned row, bool in) const;
};

} // namespace ses::agent

#endif // SES_AGENT_PLACED_H
