"""What is known of a program that ran.  Bytes and seconds throughout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

SEQUENTIAL, RANDOM, UNKNOWN = "sequential", "random", "not seen"


@dataclass(frozen=True, slots=True)
class FileUse:
    """One file: what moved, and in which order; ``pattern`` is sequential, random or not seen."""

    path: str
    read_bytes: int
    written_bytes: int
    pattern: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A time in which the program did one thing: reads, writes, reads and writes, computes, waits."""

    kind: str
    begin: float
    seconds: float
    read_bytes: int = 0
    written_bytes: int = 0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """What a command moved and computed while ``function`` was on its stack, as samples show it.

    ``function`` is empty for the command as a whole.
    """

    command: str
    function: str
    looks: int
    read_bytes: int
    written_bytes: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """A run of a program.

    ``read_bytes`` and ``written_bytes`` count what its calls moved: files, pipes and sockets.
    ``device_read_bytes`` and ``device_written_bytes`` are what block devices moved for it (None: not
    known).  ``read_streams``, ``write_streams``: how many files moved at the same time, on average while any
    did.  ``counters`` are events of the processor and the kernel by name.  ``notes`` say what could not
    be seen.
    """

    command: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    read_bytes: int
    written_bytes: int
    read_calls: int
    write_calls: int
    files: tuple[FileUse, ...]
    phases: tuple[Phase, ...]
    processes: int = 1
    open_files: int = 0
    read_streams: float = 1.0
    write_streams: float = 1.0
    device_read_bytes: int | None = None
    device_written_bytes: int | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    functions: tuple[FunctionUse, ...] = ()
    source: str = "measured"

    @property
    def cores(self) -> int:
        """Return how many cores it used in its busiest phase, at least one."""
        busiest = max(
            (phase.cpu_seconds / phase.seconds for phase in self.phases if phase.seconds > 0), default=1.0
        )
        return max(1, math.ceil(busiest - 0.25))

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def from_json(data: Mapping[str, Any]) -> ProgramProfile:
    """Return the profile that ``as_json`` gave; raises KeyError or TypeError for anything else."""
    members = {member.name for member in fields(ProgramProfile)}
    known = {name: value for name, value in data.items() if name in members}
    return ProgramProfile(
        **{
            **known,
            "command": tuple(data["command"]),
            "files": tuple(FileUse(**file) for file in data["files"]),
            "phases": tuple(Phase(**phase) for phase in data["phases"]),
            "notes": tuple(data.get("notes", ())),
            "functions": tuple(FunctionUse(**use) for use in data.get("functions", ())),
        }
    )
