"""What collectors of this node's own files share: reading that may hang, space, disk counters.

A read of a hanging mount cannot be stopped, only left behind: it happens in a thread of its own, and
while that thread hangs the answer is at once that it does.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ses_client.devices import stat_of
from ses_client.errors import SesError
from ses_client.mounts import file_system_at, is_another

from smed_monitor.collectors.base import Collector, Reply, Source
from smed_monitor.collectors.block_devices import unless_blind
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import (
    CollectorError,
    ContentError,
    DeadlineError,
    ElementMissingError,
    UnreachableError,
)
from smed_monitor.core.model import Reading, now

SECTOR = 512
HANGS = "does not answer: is its mount hanging?"
LocalSample = Mapping[str, Mapping[str, Any]]
"""Path -> facts (see ``look``), or ``{"error": why}``."""


class Disk(NamedTuple):
    """Counters of a block device since it appeared, of ``/sys/dev/block/*/stat``, named as in a reading.

    ``request_seconds`` grows by the requests in flight every second.  Source: the kernel's
    Documentation/block/stat.rst.
    """

    read_bytes: float
    written_bytes: float
    operations: float
    busy_seconds: float
    request_seconds: float
    in_flight: float


def disk(text: str) -> Disk:
    """Understand one ``stat`` file.  Raises ValueError."""
    numbers = [int(word) for word in text.split()]
    if len(numbers) < 11:
        raise ValueError(f"a block device's stat has 11 numbers or more, not {len(numbers)}")
    return Disk(
        read_bytes=numbers[2] * SECTOR,
        written_bytes=numbers[6] * SECTOR,
        operations=numbers[0] + numbers[4],
        busy_seconds=(numbers[3] + numbers[7]) / 1000,
        request_seconds=numbers[10] / 1000,
        in_flight=numbers[8],
    )


def look(path: str, sys: Path = Path("/sys")) -> dict[str, Any]:
    """Space and identity of the file system at ``path``, the counters and name of its device if it has one.

    ``sys`` is where sysfs is.
    """
    space = os.statvfs(path)
    number = Path(path).stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    file_system = ""
    with suppress(OSError):
        file_system = file_system_at(path)
    return {
        "free": space.f_bavail * space.f_frsize,
        "size": space.f_blocks * space.f_frsize,
        "inodes": space.f_favail if space.f_files else None,
        "read_only": bool(space.f_flag & os.ST_RDONLY),
        "file_system": file_system,
        "device": device,
        **stat_of(sys, device),
    }


def same_file_system(facts: Mapping[str, Any], element: ElementSettings) -> None:
    """Raise ElementMissingError where another file system is there than the element was described on."""
    seen = facts.get("file_system", "")
    if is_another(element.file_system, seen):
        raise ElementMissingError(
            f"{element.mount_point} is not the file system that was described ({seen} instead of "
            f"{element.file_system}): see findmnt -T {element.mount_point}"
        )


class LocalCollector(Collector[LocalSample]):
    """Looks at paths of this node, by which elements are found."""

    finds_by = "mount_point"
    local = True

    def open(self, target: Target) -> Source:
        """The paths the target lists."""
        return PathsSource(target)

    def parse(self, body: bytes) -> LocalSample:
        """Path -> facts, as its source wrote them."""
        try:
            decoded = json.loads(body)
        except ValueError as error:
            raise ContentError(f"is not what this collector wrote: {error}") from error
        if not isinstance(decoded, dict):
            raise ContentError("is not what this collector wrote: no table of paths")
        return decoded

    def names(self, sample: LocalSample) -> Iterable[str]:
        """The paths that answered."""
        return [path for path, facts in sample.items() if "error" not in facts]

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space of the element's mount point, and the counters of its device."""
        facts = sample.get(element.mount_point or "", {"error": "is not among the paths of its target"})
        if "error" in facts:
            raise ElementMissingError(f"{element.mount_point}: {facts['error']}")
        same_file_system(facts, element)
        try:
            counters = disk(facts["stat"])._asdict() if facts["stat"] else {}
        except ValueError as error:
            raise ContentError(f"the counters of {facts['device']} cannot be read: {error}") from error
        reading = Reading(
            device=str(facts["device"]),
            **counters,
            free_bytes=float(facts["free"]),
            size_bytes=float(facts["size"]),
            read_only=bool(facts["read_only"]),
            note="" if counters else f"no rates: {element.mount_point} lies on no block device of this node",
        )
        return unless_blind(reading)


class Looker:
    """Looks at names, each in a thread of its own; one that hangs is left behind, and asked no more."""

    def __init__(self, look: Callable[[str], dict[str, Any]] = look) -> None:
        self._look = look
        self._hanging: dict[str, threading.Thread] = {}

    def now(self, names: Iterable[str], until: float) -> dict[str, dict[str, Any]]:
        """Return what is found of each by a time of the monotonic clock, or ``{"error": why}``."""
        answers: dict[str, dict[str, Any]] = {name: {"error": HANGS} for name in names}
        self._hanging = {name: thread for name, thread in self._hanging.items() if thread.is_alive()}
        looking = {
            name: threading.Thread(target=self._answer, args=(name, answers), name="local-look", daemon=True)
            for name in answers
            if name not in self._hanging
        }
        for thread in looking.values():
            thread.start()
        for thread in looking.values():
            thread.join(max(0.0, until - time.monotonic()))
        self._hanging |= {name: thread for name, thread in looking.items() if thread.is_alive()}
        return dict(answers)

    def _answer(self, name: str, answers: dict[str, dict[str, Any]]) -> None:
        try:
            answers[name] = self._look(name)
        except OSError as error:
            answers[name] = {"error": error.strerror or str(error)}
        except SesError as error:
            answers[name] = {"error": str(error)}


class PathsSource(Source):
    """Looks at all paths of a target at once."""

    def __init__(self, target: Target, look: Callable[[str], dict[str, Any]] = look) -> None:
        self._target, self._looker = target, Looker(look)

    def read(self) -> Reply:
        """Path -> facts or error, as JSON."""
        at, until = now(), time.monotonic() + self._target.timeout_seconds
        return Reply(json.dumps(self.facts(until)).encode(), at)

    def facts(self, until: float) -> dict[str, dict[str, Any]]:
        """Path -> facts or error, found by a time of the monotonic clock."""
        return self._looker.now(self._target.paths, until)


class LocalSource(Source):
    """What ``gather`` finds on this node, looked up in a thread that may get stuck without harm."""

    def __init__(self, target: Target, gather: Callable[[], bytes]) -> None:
        self._gather = gather
        self._timeout = target.timeout_seconds
        self._stuck: list[threading.Thread] = []

    def read(self) -> Reply:
        """What is there now."""
        at = now()
        return Reply(in_time(self._gather, self._timeout, self._stuck), at)


def in_time(work: Callable[[], bytes], seconds: float, stuck: list[threading.Thread]) -> bytes:
    """What ``work`` returns, or DeadlineError after ``seconds``; ``stuck`` keeps a thread left behind."""
    if stuck and stuck[0].is_alive():
        raise DeadlineError("still hangs in an earlier question: a mount or a file does not answer")
    stuck.clear()
    done: list[bytes] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # handed to the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, name="local-read", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        stuck.append(thread)
        raise DeadlineError(f"gave no whole answer within {seconds:g} s (timeout_seconds)")
    if failed and isinstance(failed[0], CollectorError):
        raise failed[0]
    if failed:
        raise UnreachableError(f"cannot be read: {failed[0]}") from failed[0]
    return done[0]
