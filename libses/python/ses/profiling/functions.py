"""Which functions and commands of a program move its bytes: those that are worth calling near the data.

Stacks are looked at now and then, by ``eu-stack`` of elfutils, which stops a process for some milliseconds
and needs no recompiling.  What a process moved since its last look counts for every function that is on its
stack now: sums are those of samples.  Functions of the C library and the program loader are left out, as
are those without a symbol.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ses.profiling.proc import Look, ProcessLook
from ses.profiling.result import FunctionUse, ProgramProfile

TOOL = "eu-stack"
_AT_ONCE = 4
"""Processes whose stacks are looked at, at each look at the program: those that did most since the last."""
_TIMEOUT_SECONDS = 2.0
_FRAME = re.compile(r"^#\d+\s+0x[0-9a-f]+(?: - \d+)?(?: (?!- /)(?P<name>\S.*?))?(?: - (?P<module>/.*))?$")
_SYSTEM = re.compile(r"/(?:ld-linux[^/]*|ld-musl[^/]*|lib(?:c|pthread|dl|m|rt)(?:-[\d.]+)?)\.so[.\d]*$")
_BEGINNINGS = frozenset({"_start", "main", "__libc_start_main", "clone", "start_thread"})


@dataclass
class _Use:
    looks: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    cpu_seconds: float = 0.0

    def add(self, read: int, written: int, cpu: float) -> None:
        self.looks += 1
        self.read_bytes += read
        self.written_bytes += written
        self.cpu_seconds += cpu


@dataclass
class Functions:
    """Adds up what moved while each function was on the stack, by command."""

    _uses: dict[tuple[str, str], _Use] = field(default_factory=dict)
    _last: dict[int, ProcessLook] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    cost_seconds: float = 0.0  # processor time of looking

    def add(self, look: Look) -> None:
        """Take up the next look at the program."""
        gone = [process for pid, process in self._last.items() if pid not in look.processes]
        did = {pid: self._did(pid, process, gone) for pid, process in look.processes.items()}
        self._last = look.processes
        busiest = sorted((pid for pid in did if any(did[pid])), key=lambda pid: did[pid], reverse=True)
        for pid in busiest[:_AT_ONCE]:
            command = look.processes[pid].command
            for name in dict.fromkeys(["", *self._stack(pid)]):  # recursion counts once; "" is the command
                self._uses.setdefault((command, name), _Use()).add(*did[pid])

    def _did(self, pid: int, now: ProcessLook, gone: list[ProcessLook]) -> tuple[int, int, float]:
        """Return what a process did since the last look, without what children did that it has waited for.

        Of these, what no look saw counts for the process, under no function.
        """
        read, written, cpu = _since(self._last.get(pid), now)
        ended = [child for child in gone if sum(child.moved[:2]) > 0 and _fits(child, read, written)]
        for child in ended:
            gone.remove(child)
            read, written = max(0, read - child.moved.read_bytes), max(0, written - child.moved.written_bytes)
            cpu = max(0.0, cpu - child.cpu_seconds)
        if ended:
            self._uses.setdefault((now.command, ""), _Use()).add(read, written, cpu)
            return 0, 0, 0.0
        return read, written, cpu

    def listed(self) -> tuple[FunctionUse, ...]:
        """Return commands and functions that moved anything or computed, the largest first."""
        uses = [
            FunctionUse(command, name, use.looks, use.read_bytes, use.written_bytes, use.cpu_seconds)
            for (command, name), use in self._uses.items()
        ]
        return tuple(sorted(uses, key=_rank))

    def _stack(self, pid: int) -> list[str]:
        try:
            done = subprocess.run(
                [TOOL, "-m", "-n", "128", "-p", str(pid)],
                capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self.failures["a look took longer than 2 s"] += 1
            return []
        names = named(done.stdout.splitlines())
        if not names and "permitted" in done.stderr:
            self.failures["the kernel does not permit to look at stacks (kernel.yama.ptrace_scope)"] += 1
        return names


def is_there() -> bool:
    """Return whether stacks can be looked at on this node."""
    return shutil.which(TOOL) is not None


def named(lines: Iterable[str]) -> list[str]:
    """Return the functions of a stack as ``eu-stack -m`` prints it, the innermost first."""
    names = []
    for line in lines:
        frame = _FRAME.match(line)
        if frame and frame["name"] and not _SYSTEM.search(frame["module"] or ""):
            name = frame["name"].partition("@")[0]
            names += [] if name in _BEGINNINGS else [name]
    return names


def worth_moving(measured: ProgramProfile) -> str:
    """Say which function, or which command of several, to call near the data; empty where none reads half.

    Of the functions that read as much, the one that was seen least: it takes the reading along, and nothing
    that belongs elsewhere.
    """
    whole = max(1, measured.read_bytes)
    several = len({use.command for use in measured.functions}) > 1
    uses = [use for use in measured.functions if use.read_bytes >= whole / 2 and (use.function or several)]
    functions = [use for use in uses if use.function] or uses
    most = max((use.read_bytes for use in functions), default=0)
    least = min(
        (use for use in functions if use.read_bytes >= 0.9 * most), key=lambda use: use.looks, default=None
    )
    if least is None:
        return ""
    part = f"reads {min(1, least.read_bytes / whole):.0%} of the bytes"
    if least.function:
        return f"Worth calling near the data: {least.function} of {least.command} {part} (docs/offload.md)."
    return f"Worth running near the data: {least.command} {part} (ses run-near)."


def _since(before: ProcessLook | None, now: ProcessLook) -> tuple[int, int, float]:
    if before is None:
        return now.moved.read_bytes, now.moved.written_bytes, now.cpu_seconds
    read = now.moved.read_bytes - before.moved.read_bytes
    written = now.moved.written_bytes - before.moved.written_bytes
    return max(0, read), max(0, written), max(0.0, now.cpu_seconds - before.cpu_seconds)


def _fits(child: ProcessLook, read: int, written: int) -> bool:
    return child.moved.read_bytes <= read and child.moved.written_bytes <= written


def _rank(use: FunctionUse) -> tuple[int, float, str, str]:
    return -use.read_bytes - use.written_bytes, -use.cpu_seconds, use.command, use.function
