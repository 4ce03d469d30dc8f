// Files that were closed, for as long as they may still be streams.
//
// A cache may still write one out (table/writing_out.h): it counts on until that is done.  Then one
// that takes a second to read, or longer, is followed for a minute: while a program of this node
// has it open again, it is a stream.  Nothing is held open for that, so that a file that is removed
// is gone, and ends.
//
// Used by one thread.
#ifndef SES_AGENT_CLOSED_FILES_H
#define SES_AGENT_CLOSED_FILES_H

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "announcements/announcement_backlog.h"
#include "processes/file_events.h"
#include "processes/idle_files.h"
#include "processes/proc_files.h"
#include "table/writing_out.h"

namespace ses::agent {

class ClosedFiles {
public:
  using Time = std::chrono::steady_clock::time_point;

  explicit ClosedFiles(const WritingOut &writing_out);

  // Readable when one is opened, or closed again.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Does it take so long to read BYTES of a file of CHOICE that add() follows it?  Any thread.
  [[nodiscard]] bool is_worth_following(const Choice &choice, double bytes) const;
  // Takes the file of HANDLE (invalid: it is not followed), of BYTES, that was chosen by CHOICE and
  // is closed; its end is reported later.  False, ENDING untouched: it can be no stream any more.
  [[nodiscard]] bool add(AnnouncementBacklog::Ending &ending, int handle, const Choice &choice,
                         double bytes, Time now);
  // When ended() is due; none: never.
  [[nodiscard]] std::optional<Time> due() const;
  // Files that can be no streams any more BY then.
  [[nodiscard]] std::vector<AnnouncementBacklog::Ending> ended(Time by);
  // Which of the rest became streams, or stopped being streams, since the last call.
  [[nodiscard]] std::vector<IdleFiles::Changed> look(Time now);

private:
  struct File {
    AnnouncementBacklog::Ending ending;
    FileId id;
    Time until{};          // it is written out, or is followed no longer
    bool followed = false; // after it is written out
    bool written = false;
    bool open = false;
    bool was_opened = false; // since it is watched
  };

  void set_open(uint64_t id, bool open, Time now);
  void set_gone(uint64_t id, Time now);
  void look_for(const std::set<uint64_t> &placements, Time now);
  void stays_until(uint64_t id, File &file, Time until);

  const WritingOut &writing_out_;
  FileEvents uses_, reads_;                  // opens and closes in their order
  std::unordered_map<uint64_t, File> files_; // by placement
  std::multimap<Time, uint64_t> due_;
  std::vector<IdleFiles::Changed> changed_;
};

} // namespace ses::agent

#endif // SES_AGENT_CLOSED_FILES_H
