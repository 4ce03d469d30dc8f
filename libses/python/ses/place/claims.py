"""A claim of a place: who has which directory, what it stands for there, and when it ends."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from ses_client.errors import UsageError
from ses_client.messages.message import Message

LEASE = 24 * 3600.0  # seconds
_LONGEST = 366 * 24 * 3600.0
_UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
_PROC = Path("/proc")
FIRST_NAMESPACE = 4026531836
"""Of PIDs, in every kernel (PROC_PID_INIT_INO): processes of all others are seen in it."""
_STEP = rb"slurmstepd: \[([0-9]+)\.([a-z0-9]+)"


class Holder(Message):
    """What a claim lasts as long as; ``until`` (seconds since the epoch) counts where nothing else is known.

    A process differs from a later one of its number by when it started, in ticks since the machine did, and
    has its number in the PID namespace it was named in.
    """

    until: float
    pid: int | None = None
    started: int | None = None
    namespace: int | None = None
    job: str | None = None

    def __str__(self) -> str:
        """Say when the claim ends."""
        if self.pid is not None:
            return f"job {self.job} ends" if self.job else f"process {self.pid} ends"
        moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.until))
        return f"job {self.job} ends, or {moment}" if self.job else moment

    @property
    def lives(self) -> bool:
        """Whether its process lives."""
        return self.pid is not None and _lives(self.pid, self.started)


class Claim(Holder):
    """One stream, and ``bytes``, on ``file_system`` and ``device``, whose names hold since ``boot`` only.

    It was ``made`` (seconds since the epoch) ``at`` a second of the machine, whose clock may be set.
    ``path`` was given out; ``base`` is the directory it was chosen for, itself or the one above.  ``streams``
    is 0 where what it stands for goes on elsewhere.  ``size`` is what was stated, ``label`` what directories
    like this one are called (``run-XXXX``), and ``asked`` what else was asked for (``request.py``).
    ``why`` is what was seen of each directory, as JSON; it is empty where that was not kept.
    """

    id: int
    user: int
    path: str
    base: str
    file_system: str
    device: str
    boot: str
    bytes: int
    made: float
    at: float
    streams: int = 1
    size: int | None = None
    label: str | None = None
    asked: str
    why: str = ""

    @property
    def own_directory(self) -> bool:
        """Whether the directory was made for the claim: what is in it was written under the claim."""
        return self.path != self.base

    @property
    def is_released(self) -> bool:
        """Whether it was ended, and is kept until what was written under it is known."""
        return self.until == 0

    def is_on(self, base: str, name: str) -> bool:
        """Return whether it lies on the file system, or device, that a directory is on now."""
        return self.base == base or (self.boot == boot() and name in (self.file_system, self.device))

    def has_ended(self) -> bool:
        """Return whether it counts no more."""
        is_of_now = self.boot == boot()
        if (self.pid is not None or self.job is not None) and not is_of_now:
            return True
        if self.pid is not None and self.namespace == namespace():
            return not self.lives
        if self.pid is not None and _sees_all():
            return (self.pid, self.started) not in _below()
        lasts, now = (self.until - self.made, clock() - self.at) if is_of_now else (self.until, time.time())
        return now >= lasts and not (self.pid is None and of_process(self).lives)


def living(claims: Iterable[Claim]) -> list[Claim]:
    """Return those that have not ended."""
    _below.cache_clear()
    return [claim for claim in claims if not claim.has_ended()]


def clock() -> float:
    """Return seconds since the machine started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@cache
def boot() -> str:
    """Return what tells this start of the machine from others."""
    return (_PROC / "sys/kernel/random/boot_id").read_bytes().decode("ascii").strip()


@cache
def namespace() -> int:
    """Return the number of the PID namespace of this process."""
    return (_PROC / "self/ns/pid").stat().st_ino


os.register_at_fork(after_in_child=namespace.cache_clear)


def holder(text: str | None, now: float) -> Holder:
    """Return what ``pid:N``, ``job`` or ``8h`` means; a day where nothing is said.  Raises UsageError."""
    if text is None:
        return Holder(until=now + LEASE)
    if text == "job":
        job = os.environ.get("SLURM_JOB_ID", "")
        if not job.isdecimal():
            raise UsageError("This is no job of Slurm (SLURM_JOB_ID). Say how long: pid:N, or 8h.")
        end = os.environ.get("SLURM_JOB_END_TIME", "")
        until = float(end) if end.isdecimal() and len(end) < 15 else now + LEASE
        return of_process(Holder(until=until, job=job))
    if text.startswith("pid:"):
        number = text.removeprefix("pid:")
        started = _started(int(number)) if number.isdecimal() and len(number) < 10 else None
        if started is None:
            raise UsageError(f"There is no process {number!r}.")
        return Holder(until=now + LEASE, pid=int(number), started=started, namespace=namespace())
    return Holder(until=now + _seconds(text))


def of_process(held: Holder) -> Holder:
    """Return a holder of a job as one of Slurm's process that lasts as long on this node, if any is seen.

    That of the whole job, else that of its script, else that of a step.
    """
    if held.job is None or held.pid is not None:
        return held
    pids: dict[str, int] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "comm").read_bytes() != b"slurmstepd\n":
                continue
            step = re.search(_STEP, (entry / "cmdline").read_bytes())
            if step is not None and step[1].decode() == held.job:
                pids[step[2].decode()] = int(entry.name)
    pid = pids.get("extern") or pids.get("batch") or next(iter(pids.values()), None)
    started = None if pid is None else _started(pid)
    return held if started is None else held.but(pid=pid, started=started, namespace=namespace())


def _seconds(text: str) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    with suppress(ValueError, KeyError):
        seconds = float(number) * _UNITS[text[len(number) :]]
        if 0 < seconds <= _LONGEST:
            return seconds
    raise UsageError(f"{text!r} is no time. Write pid:N, job, or how long: 8h, 30min, 2d (a year at most).")


def _lives(pid: int, started: int | None) -> bool:
    now = _started(pid)
    if now is not None:
        return now == started
    try:
        os.kill(pid, 0)  # /proc may hide processes of others
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _started(pid) == started  # it ended, and its number is another's, between the two questions


def _sees_all() -> bool:
    """Return whether processes of all namespaces are seen: /proc may hide those of others."""
    return namespace() == FIRST_NAMESPACE and _started(1) is not None


@cache
def _below() -> set[tuple[int, int | None]]:
    """Return number and start of each process of namespaces below the first one, by each of its numbers."""
    numbered = set()
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "status").read_bytes().partition(b"NSpid:")[2].partition(b"\n")[0].split()
            if len(words) > 1:
                numbered |= {(int(word), _started(int(entry.name))) for word in words[1:]}
    return numbered


def _started(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123  # pathlib would take longer than the read
            words = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if words[0] in (b"Z", b"X") else int(words[19])
