// Whose the bytes are that a process moved between two looks.
//
// Three kinds of evidence, none of which suffices alone:
//
// * A file's size has grown: right for files that are written from front to back; too much for one
//   with holes, nothing for one that is overwritten.
// * The position of a descriptor has moved on: the same, also for reading; nothing for pread() and
//   pwrite().
// * What the kernel counts for the process (/proc/PID/io): right for read() and write() of any
//   kind, but of all it has open.  Bytes changed in mappings are counted as pages.
//
// Pure.
#ifndef SES_AGENT_ATTRIBUTION_H
#define SES_AGENT_ATTRIBUTION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace ses::agent {

// Bytes that a process moved, from /proc/PID/io.
struct ProcessBytes {
  uint64_t rchar = 0, wchar = 0;     // by calls that read and write
  uint64_t fetched = 0, dirtied = 0; // from devices; for devices, in whole pages
  [[nodiscard]] ProcessBytes since(const ProcessBytes &earlier) const;
  // By calls, or else through mappings or past them.
  [[nodiscard]] uint64_t read() const { return rchar >= fetched / 100 ? rchar : fetched; }
  [[nodiscard]] uint64_t written() const { return wchar >= dirtied / 100 ? wchar : dirtied; }
};

// Evidence about one file.
struct SeenFile {
  uint64_t grown = 0;
  uint64_t written_on = 0, read_on = 0; // positions of descriptors that can only write, only read
  bool can_write = true, can_read = false;
  bool modified = false,
       accessed = false;   // somebody wrote to it, read from it, of which else nothing shows
  bool mapped = false;     // grew before without any call that wrote
  bool unfinished = false; // a call that writes goes on, or ended after the rest was looked at
};

struct MovedBytes {
  uint64_t written = 0, read = 0;
  bool shared = false; // not to be distinguished from other files of the process
  bool silent = false; // it grew, and nothing was seen to write it: that is not counted
};

// It has grown, and no call of the process that wrote as much has ended.
[[nodiscard]] bool is_silent(const ProcessBytes &process, const SeenFile &file);

// What moved in each of FILES.  PROCESS: what all of them and everything else moved in that time;
// none: not known.  IS_FIRST: that is since the process began, so that it can only be a bound.
[[nodiscard]] std::vector<MovedBytes> attribute(const std::optional<ProcessBytes> &process,
                                                bool is_first, const std::vector<SeenFile> &files);

// So little beside BYTES that it needs no explanation.
[[nodiscard]] bool is_explained(uint64_t rest, uint64_t bytes);

} // namespace ses::agent

#endif // SES_AGENT_ATTRIBUTION_H
