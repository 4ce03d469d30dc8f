#include "target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

#include "elf_file.h"
#include "program_search.h"
#include "script.h"
#include "system/descriptor.h"

namespace ses::run {
namespace {

constexpr size_t kMaxInterpreters = 5; // the kernel follows no more

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

// Would the kernel start PATH with more rights than this process has?  The dynamic linker ignores
// LD_PRELOAD, and a filter would take those rights away.
bool gains_rights(const std::string &path) {
  struct stat status {};
  struct statvfs mount {};
  if (stat(path.c_str(), &status) != 0 ||
      (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0)) {
    return false;
  }
  const bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool group =
      (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getegid();
  const bool capabilities =
      geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return user || group || capabilities;
}

Kind kind_of(const ElfFile &file) {
  if (file.machine == EM_386 || (!file.is_64_bit && file.machine == own_machine())) {
    return Kind::k32Bit;
  }
  if (file.machine != own_machine()) {
    return Kind::kOtherMachine;
  }
  if (file.is_go) {
    return Kind::kGo;
  }
  if (file.interpreter.empty()) {
    return Kind::kStatic;
  }
  const std::string linker = base_name(file.interpreter);
  if (linker.starts_with("ld-musl")) {
    return Kind::kMusl;
  }
  return linker.starts_with("ld-linux") ? Kind::kDynamic : Kind::kOtherLinker;
}

bool is_asan(const std::string &library) {
  return library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan");
}

void set_missing(Target &target, const std::string &what, int error) {
  target.kind = Kind::kMissing;
  target.missing = what;
  target.error = error;
}

// What runs next when PATH is run; empty when PATH itself does, and TARGET is filled.
std::string follow(Target &target, const std::string &path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto line = read_script_line(file.get());
  if (line && !line->interpreter.empty()) {
    return line->interpreter;
  }
  const auto elf = read_elf(file.get());
  if (file.get() >= 0 && !elf) { // execvp() hands what the kernel does not take to the shell
    return "/bin/sh";
  }
  // One that may be run and not read: say what is true of most.
  target.kind = elf ? kind_of(*elf) : Kind::kDynamic;
  target.has_asan = elf && std::ranges::any_of(elf->needed, is_asan);
  if (gains_rights(path)) {
    target.kind = Kind::kSetuid;
  }
  return "";
}

// env(1) only passes on; what counts is what it runs.
std::string follow_env(Target &target, const std::string &script) {
  const Descriptor file(open(script.c_str(), O_RDONLY | O_CLOEXEC));
  const auto line = read_script_line(file.get());
  if (!line || base_name(line->interpreter) != "env") {
    return "";
  }
  const EnvCommand command = read_env_argument(line->argument);
  if (command.program.empty()) {
    return "";
  }
  const Program program = find_program(command.program);
  if (program.path.empty()) {
    set_missing(target, command.program, program.error);
  } else if (command.clears) {
    target.kind = Kind::kClearsEnvironment;
  }
  return program.path;
}

} // namespace

Target inspect(const std::string &name) {
  Target target;
  target.name = name;
  const Program program = find_program(name);
  if (program.path.empty()) {
    set_missing(target, name, program.error);
    return target;
  }
  target.path = program.path;
  std::string path = program.path;
  while (target.interpreters.size() <= kMaxInterpreters) {
    const std::string next = follow(target, path);
    if (next.empty()) {
      return target;
    }
    const Program interpreter =
        find_program(next.find('/') == std::string::npos ? "./" + next : next);
    if (interpreter.path.empty()) {
      set_missing(target, next, interpreter.error);
      return target;
    }
    target.interpreters.push_back(interpreter.path);
    const std::string by_env = follow_env(target, path);
    if (!by_env.empty()) {
      target.interpreters.push_back(by_env);
    }
    if (target.kind == Kind::kClearsEnvironment || !target.missing.empty()) {
      return target;
    }
    path = target.interpreters.back();
  }
  set_missing(target, path, ELOOP);
  return target;
}

Reach reach_of(const Target &target) {
  switch (target.kind) {
  case Kind::kDynamic:
  case Kind::kMusl:
    return Reach::kLibrary;
  case Kind::kStatic:
  case Kind::kGo:
  case Kind::kOtherLinker:
  case Kind::kClearsEnvironment:
    return Reach::kSupervisor;
  default:
    return Reach::kNothing;
  }
}

} // namespace ses::run
