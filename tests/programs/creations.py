"""Which files a traced program created: the reading of one `strace -f -y` output."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

TRACED = "open,openat,openat2,creat,mknod,mknodat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,chdir"

_LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$")
_RESULT = re.compile(r"^(.*)\) += (-?\d+)(?:<(.*)>)?(?: .*)?$")
_OPERAND = re.compile(r'(?:AT_FDCWD|\d+)<([^>]*)>, "((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"')


@dataclass
class Creations:
    """The creations below one directory, told from opens of files that existed by following all names."""

    below: Path
    existing: set[str] = field(default_factory=set)
    created: list[tuple[str, bool]] = field(default_factory=list)  # path; could a second open serve it

    def read(self, text: str) -> "Creations":
        begun: dict[str, str] = {}
        directories: dict[str, str] = {}
        for line in text.splitlines():
            creation = _LINE.match(line)
            if not creation:
                continue
            process, call, rest = creation.groups()
            if rest.endswith(" <unfinished ...>"):
                begun[process] = rest.removesuffix(" <unfinished ...>")
                continue
            if " resumed>" in line:
                rest = begun.pop(process) + rest
            ended = _RESULT.match(rest)
            if ended and int(ended[2]) >= 0:
                self._apply(call, ended[1], ended[3], directories, process)
        return self

    def _apply(
        self, call: str, arguments: str, opened: str | None, directories: dict[str, str], process: str
    ) -> None:
        current = directories.get(process, str(self.below))
        operands = [
            os.path.normpath(Path(base or current) / (relative or plain))
            for base, relative, plain in _OPERAND.findall(arguments)
        ]
        if call == "chdir":
            directories[process] = operands[0]
        elif call in ("unlink", "unlinkat"):
            self.existing.discard(operands[0])
        elif call.startswith("rename"):
            self.existing.discard(operands[0])
            self.existing.add(operands[1])
        elif call.startswith("link"):
            self.existing.add(operands[1])
        elif call.startswith("mknod") and ("S_IFREG" in arguments or "S_IF" not in arguments):
            self._create(operands[0], arguments, "O_EXCL|O_WRONLY")
        elif call == "creat":
            self._create(opened or operands[0], arguments, "O_WRONLY")
        elif "O_CREAT" in arguments:
            self._create(opened or operands[0], arguments, arguments)

    def _create(self, path: str, arguments: str, flags: str) -> None:
        path = path.removesuffix(" (deleted)")
        if not path.startswith(f"{self.below}/") or (path in self.existing and "O_EXCL" not in flags):
            return
        self.existing.add(path)
        mode = int(re.findall(r"(?:, |\|)(0[0-7]*)\b", arguments)[-1], 8)
        reads = "O_RDWR" in flags or "O_RDONLY" in flags
        writes = "O_RDWR" in flags or "O_WRONLY" in flags
        self.created.append((path, bool((mode & 0o400 or not reads) and (mode & 0o200 or not writes))))
