"""The parameters of a Lustre client: small files below /proc, /sys and debugfs.

Which of the three a parameter is in changed from release to release (2.12, 2.17); they are tried
in turn.  debugfs is for root alone, so what is there (import states) is unknown to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOTS = ("proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters below one root directory (``/``, or a copy of another machine's)."""

    root: Path = Path("/")

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the devices of a kind (``osc``, ``lov``), by name, from every place they show."""
        names: set[str] = set()
        for root in _ROOTS:
            try:
                names.update(path.name for path in (self.root / root / kind).iterdir() if path.is_dir())
            except OSError:
                continue
        return tuple(sorted(names))

    def value(self, kind: str, name: str, parameter: str) -> str | None:
        """Return the text of one parameter without white space around it; None: cannot be read."""
        for root in _ROOTS:
            try:
                return (self.root / root / kind / name / parameter).read_text("utf-8", "replace").strip()
            except OSError:
                continue
        return None

    def entries(self, kind: str, name: str, directory: str) -> Iterator[tuple[str, str]]:
        """Yield name and text of each file in a directory of parameters."""
        for root in _ROOTS:
            try:
                files = sorted((self.root / root / kind / name / directory).iterdir())
            except OSError:
                continue
            for file in files:
                try:
                    yield file.name, file.read_text("utf-8", "replace")
                except OSError:
                    continue
            return
