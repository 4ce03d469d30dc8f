#include "elf_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ses::run {
namespace {

constexpr size_t kMaxBytes = 1 << 20; // of one table, string or note segment
constexpr size_t kMaxHeaders = 512;
constexpr uint32_t kGoBuildId = 4; // type of the note that Go's linker writes under the name "Go"

// LENGTH bytes at OFFSET; fewer when the file ends there.
std::string read_at(int fd, uint64_t offset, uint64_t length) {
  std::string bytes(std::min<uint64_t>(length, kMaxBytes), '\0');
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

template <typename T> std::vector<T> table_of(const std::string &bytes) {
  std::vector<T> table(bytes.size() / sizeof(T));
  if (!table.empty()) {
    std::memcpy(table.data(), bytes.data(), table.size() * sizeof(T));
  }
  return table;
}

std::string string_at(const std::string &strings, uint64_t offset) {
  return offset < strings.size() ? std::string(strings.c_str() + offset) : "";
}

bool has_go_note(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const size_t name = (static_cast<size_t>(note.n_namesz) + 3) & ~size_t{3};
    const size_t body = (static_cast<size_t>(note.n_descsz) + 3) & ~size_t{3};
    if (note.n_type == kGoBuildId && notes.starts_with(std::string_view("Go\0\0", 4))) {
      return true;
    }
    if (name > notes.size() || body > notes.size() - name) {
      return false;
    }
    notes.remove_prefix(name + body);
  }
  return false;
}

// For programs that were linked without a build identifier.
bool has_go_section(int fd, const Elf64_Ehdr &header) {
  const auto sections =
      table_of<Elf64_Shdr>(read_at(fd, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= sections.size()) {
    return false;
  }
  const Elf64_Shdr &names = sections[header.e_shstrndx];
  const std::string strings = read_at(fd, names.sh_offset, names.sh_size);
  return std::ranges::any_of(sections, [&](const Elf64_Shdr &section) {
    return string_at(strings, section.sh_name) == ".go.buildinfo";
  });
}

// Where the byte that is loaded to ADDRESS lies in the file.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr> &segments, uint64_t address) {
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_needed(int fd, const std::vector<Elf64_Phdr> &segments,
                                     const Elf64_Phdr &dynamic) {
  const auto entries = table_of<Elf64_Dyn>(read_at(fd, dynamic.p_offset, dynamic.p_filesz));
  uint64_t address = 0;
  uint64_t size = 0;
  std::vector<uint64_t> names;
  for (const Elf64_Dyn &entry : entries) {
    if (entry.d_tag == DT_NULL) {
      break;
    }
    if (entry.d_tag == DT_STRTAB) {
      address = entry.d_un.d_ptr;
    } else if (entry.d_tag == DT_STRSZ) {
      size = entry.d_un.d_val;
    } else if (entry.d_tag == DT_NEEDED) {
      names.push_back(entry.d_un.d_val);
    }
  }
  std::vector<std::string> needed;
  if (const auto offset = offset_of(segments, address)) {
    const std::string strings = read_at(fd, *offset, size);
    for (const uint64_t name : names) {
      needed.push_back(string_at(strings, name));
    }
  }
  return needed;
}

} // namespace

unsigned own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

std::optional<ElfFile> read_elf(int fd) {
  Elf64_Ehdr header{};
  const std::string start = read_at(fd, 0, sizeof header);
  if (start.size() < sizeof(Elf32_Ehdr) || std::memcmp(start.data(), ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  std::memcpy(&header, start.data(),
              start.size()); // e_machine is at the same place in both classes
  ElfFile file;
  file.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  file.machine = header.e_machine;
  if (!file.is_64_bit || file.machine != own_machine()) {
    return file;
  }
  if (start.size() < sizeof header || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > kMaxHeaders) {
    return std::nullopt;
  }
  const auto segments =
      table_of<Elf64_Phdr>(read_at(fd, header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)));
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type == PT_INTERP) {
      file.interpreter = string_at(read_at(fd, segment.p_offset, segment.p_filesz), 0);
    } else if (segment.p_type == PT_NOTE) {
      file.is_go = file.is_go || has_go_note(read_at(fd, segment.p_offset, segment.p_filesz));
    } else if (segment.p_type == PT_DYNAMIC) {
      file.needed = read_needed(fd, segments, segment);
    }
  }
  file.is_go = file.is_go || has_go_section(fd, header);
  return file;
}

} // namespace ses::run
