// Who runs a script: its first line, as the kernel reads it, and what env(1) makes of it.
#ifndef SES_RUN_SCRIPT_H
#define SES_RUN_SCRIPT_H

#include <optional>
#include <string>

namespace ses::run {

struct ScriptLine {
  std::string interpreter;
  std::string argument; // one, with its spaces; may be empty
};

// The "#!" line of what FD holds; nothing when it begins otherwise.
std::optional<ScriptLine> read_script_line(int fd);

struct EnvCommand {
  std::string program; // empty: none is named
  bool clears = false; // env -i: LD_PRELOAD does not come through
};

// What env(1) runs when it is given ARGUMENT, as in "#!/usr/bin/env -S python3 -u".
EnvCommand read_env_argument(const std::string &argument);

} // namespace ses::run

#endif // SES_RUN_SCRIPT_H
