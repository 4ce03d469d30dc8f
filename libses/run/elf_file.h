// What an ELF file states about how it is to be run.
//
// Reads headers only, with bounds: the file may be anybody's.  Does NOT follow libraries further
// than the names the file itself lists.
#ifndef SES_RUN_ELF_FILE_H
#define SES_RUN_ELF_FILE_H

#include <elf.h>

#include <optional>
#include <string>
#include <vector>

namespace ses::run {

struct ElfFile {
  bool is_64_bit = false;
  unsigned machine = EM_NONE;
  bool is_go = false;              // has the note or the section that the Go linker writes
  std::string interpreter;         // the dynamic linker; empty: a static program
  std::vector<std::string> needed; // libraries it lists, as written
};

// The machine this program was built for.
unsigned own_machine();

// What FD holds, or nothing when it is no ELF file, or a broken one.  Of files of other machines or
// of 32 bits only that much is filled.
std::optional<ElfFile> read_elf(int fd);

} // namespace ses::run

#endif // SES_RUN_ELF_FILE_H
