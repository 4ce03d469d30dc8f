"""How much stack the library's functions can have in use together, from what the compiler says of each.

Calls through pointers are not seen by the compiler; those that stay in the library are given by hand.
"""

import json
import re
import shlex
from collections import defaultdict
from pathlib import Path

from ran import ran

# The rows of backend.c are called through pointers.
POINTERS = {
    "ses_backend_accepts": [":accepts"],
    "ses_backend_suits_in_place": [":suits"],
    "ses_backend_create": ["mergerfs.c:create", "lustre.c:create"],
    "published.c:get": [":table_is_alive", ":table_is_sound", ":rules_are_alive", ":rules_are_sound"],
}
_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class StackUse:
    """The functions of some compiled files: how large their frames are and whom they call."""

    def __init__(self, build: Path, targets: tuple[str, ...], scratch: Path) -> None:
        self.frames: dict[str, int] = {}
        self.calls: dict[str, set[str]] = defaultdict(set)
        for number, unit in enumerate(json.loads((build / "compile_commands.json").read_text())):
            if any(f"/{target}.dir/" in unit["command"] for target in targets):
                self._read(shlex.split(unit["command"]), Path(unit["directory"]), scratch / f"{number}.o")
        assert self.frames, "nothing was compiled"
        for caller, called in POINTERS.items():
            self.calls[caller] |= {name for tail in called for name in self.frames if name.endswith(tail)}

    def _read(self, command: list[str], directory: Path, into: Path) -> None:
        command[command.index("-o") + 1] = str(into)
        ran([*command, "-fcallgraph-info=su"], cwd=directory)
        text = into.with_suffix(".ci").read_text()
        for title, label in _NODE.findall(text):
            if size := re.search(r"\\n(\d+) bytes", label):
                self.frames[_short(title)] = int(size[1])
        for caller, called in _EDGE.findall(text):
            self.calls[_short(caller)].add(_short(called))

    def deepest(self, function: str, above: tuple[str, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Bytes of the deepest stack that begins with FUNCTION, and the functions on it."""
        assert function not in above, f"{function} calls itself"
        below = [
            self.deepest(called, (*above, function))
            for called in self.calls[function]
            if called in self.frames
        ]
        most, path = max(below, default=(0, ()))
        return most + self.frames[function], (function, *path)

    def deepest_of_all(self) -> tuple[int, tuple[str, ...]]:
        return max(map(self.deepest, self.frames))


def _short(title: str) -> str:
    """ "/way/to/place.c:attempt" as "place.c:attempt"; names that are not static as they are."""
    return re.sub(r"^.*/", "", title)
