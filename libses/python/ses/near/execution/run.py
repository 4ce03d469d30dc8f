"""What is run on which node, as the request to the runner."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ses.near.execution.executors import NO_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class File:
    """A file the program reads: its name on the node, bytes, time of its last change in whole seconds."""

    path: str
    size: int
    mtime: int

    @classmethod
    def of(cls, path: Path, there: str | None = None) -> File:
        """Make one from a file here; ``there``: its name on the node if that differs.  Raises OSError."""
        status = path.stat()
        return cls(there or str(path.absolute()), status.st_size, status.st_mtime_ns // 10**9)


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a file that begin within [start, end), given to the program as standard input."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """What is run on which node, by which executor (``rsh``: its own command).

    ``attended``: somebody listens all the time, and the program ends when nobody does any more.  ``at_once``:
    how many such runs fill the node, which this one takes its turn for; 0: it does not wait for others.
    """

    argv: tuple[str, ...]
    node: str
    executor: str
    files: tuple[File, ...] = ()
    limits: Limits = NO_LIMITS
    rsh: tuple[str, ...] = ()
    piece: Piece | None = None
    attended: bool = True
    at_once: int = 0

    def request(self) -> bytes:
        """Return the request to the runner: also this process's user, directory and environment."""
        return json.dumps({
            "argv": self.argv, "files": [asdict(file) for file in self.files], "uid": os.getuid(),
            "directory": str(Path.cwd()), "environment": dict(os.environ), "limits": asdict(self.limits),
            "executor": self.executor, "attended": self.attended, "at_once": self.at_once,
            "piece": None if self.piece is None else asdict(self.piece),
        }).encode()  # fmt: skip
