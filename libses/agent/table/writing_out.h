// Files that were closed before their bytes can have been written: a cache still writes them out.
//
// A file of B bytes that was open for less than B / C, on an element that gives a writer C at best,
// has not been written.  It counts as a stream until it can have been, among all streams that are
// there.  Neither the ledger nor a sample would show it in the meantime.
#ifndef SES_AGENT_WRITING_OUT_H
#define SES_AGENT_WRITING_OUT_H

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "ses/core.h"
#include "table/candidates.h"
#include "table/choice.h"

namespace ses::agent {

// Any thread.
class WritingOut {
public:
  // The rows of a system as they are now.
  void show(unsigned system, std::shared_ptr<const TableFacts> facts,
            std::vector<ses_core_element> elements);
  struct Seconds {
    double writing = 0; // from now on; 0: it is written, as far as that can be known
    double reading = 0; // that it takes to read it at best; 0: not known
  };
  // Of a file of CHOICE that is closed now, after OPEN_FOR seconds, with BYTES.
  [[nodiscard]] Seconds lasts(const Choice &choice, double bytes, double open_for) const;
  // The element of SYSTEM that is TARGET; empty: none in the table.
  [[nodiscard]] std::string element_at(const std::string &system, const std::string &target) const;

private:
  struct System {
    std::shared_ptr<const TableFacts> facts;
    std::vector<ses_core_element> elements;
  };
  mutable std::mutex mutex_;
  std::array<System, SES_TABLE_SYSTEMS> systems_;
};

} // namespace ses::agent

#endif // SES_AGENT_WRITING_OUT_H
