"""Block devices out of a table in shared memory: smed-sampler's, or one smed-mirror keeps of another node.

Asking wakes the sampler; the counters are at most 16 ms old when read (two periods of a slower sampler),
or the question fails.  Space is looked up at the target's ``paths``; without them the table may say it.
The layout of the table is that of ``native/table.h``; a copy counts only when its sequence is even and its
check is right, so that no memory model of the machine matters.  It is read, not mapped: a table that is cut
short is a fault of its own, and no SIGBUS.  Waking needs the right to write to the table: without it the
sampler must run with --always.
"""

import json
import os
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from smed_monitor.collectors.base import Collector, Reply, Source
from smed_monitor.collectors.block_devices import unless_blind
from smed_monitor.collectors.local import LocalSample, Looker, same_file_system
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ContentError, DeadlineError, ElementMissingError, UnreachableError
from smed_monitor.core.model import ONE_SIDED, PULL, Moment, Reading, now

HEAD = struct.Struct("=IHHQIIQI28xQ56x")
RECORD = struct.Struct("=I36s11Q")
MAGIC, VERSION, MAX_RECORDS = 0x44454D53, 1, 4096
ASKED_OFFSET = 64
WAYS = {1: ONE_SIDED, 2: PULL}
NOT_REACHED = 3
OLDEST_NS = 16_000_000
TRIES = 1000
POLL_SECONDS = 0.001
GONE_NS = 1_000_000_000


class Counters(NamedTuple):
    """One record, in its order; ``check`` is left out.  Without a size the space is not known."""

    monotonic_ns: int
    read_bytes: int
    written_bytes: int
    operations: int
    busy_ms: int
    request_ms: int
    in_flight: int
    size_bytes: int
    free_bytes: int
    read_only: int


@dataclass(frozen=True, slots=True)
class TableSample:
    """Device -> counters, and mount point -> facts (see ``local.look``) with the ``name`` of its device."""

    devices: dict[str, Counters]
    paths: LocalSample


class Sampler(Collector[TableSample]):
    """Elements by ``device`` (as smed-sampler was given it), or by what is mounted at ``mount_point``."""

    finds_by = "mount_point"
    local = True

    def open(self, target: Target) -> Source:
        """The table the target names."""
        return TableSource(target)

    def parse(self, body: bytes) -> TableSample:
        """What TableSource wrote."""
        try:
            decoded = json.loads(body)
            devices = {name: Counters(*words) for name, words in decoded["devices"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContentError(f"is not what this collector wrote: {error!r}") from error
        return TableSample(devices, decoded["paths"])

    def names(self, sample: TableSample) -> Iterable[str]:
        """The paths on devices that are sampled."""
        return [path for path, facts in sample.paths.items() if facts.get("name") in sample.devices]

    def reading(self, sample: TableSample, element: ElementSettings) -> Reading:
        """Counters of the element's device; its space, as the target's paths or the table say."""
        facts: dict[str, Any] = dict(sample.paths.get(element.mount_point or "", {}))
        if element.mount_point is not None and "error" in facts:
            raise ElementMissingError(f"{element.mount_point}: {facts['error']}")
        same_file_system(facts, element)
        device = element.device or facts.get("name", "")
        counters = sample.devices.get(device)
        if counters is None:
            known = ", ".join(sorted(sample.devices)) or "none"
            raise ElementMissingError(
                f"smed-sampler does not watch {device or element.mount_point}; it watches {known}"
            )
        newest = max(each.monotonic_ns for each in sample.devices.values())
        if counters.monotonic_ns + GONE_NS < newest:
            raise ElementMissingError(f"smed-sampler gets no counters of {device} any more: is it unplugged?")
        size, free, read_only = counters[-3:]
        if facts:
            size, free, read_only = facts["size"], facts["free"], facts["read_only"]
        reading = Reading(
            device=device,
            read_bytes=float(counters.read_bytes),
            written_bytes=float(counters.written_bytes),
            operations=float(counters.operations),
            busy_seconds=counters.busy_ms / 1000,
            request_seconds=counters.request_ms / 1000,
            in_flight=float(counters.in_flight),
            free_bytes=float(free) if size else None,
            size_bytes=float(size) if size else None,
            read_only=bool(read_only),
            stamp=float(counters.monotonic_ns),
        )
        return unless_blind(reading)


class TableSource(Source):
    """Opens the table once; a sampler that was started again has the same file."""

    def __init__(self, target: Target) -> None:
        self._path = target.table or ""
        self._paths = target.paths
        self._timeout = target.timeout_seconds
        self._looker = Looker()
        self._file: int | None = None
        self._writable = False

    def read(self) -> Reply:
        """Counters that are fresh, waiting for the sampler to wake where that is needed."""
        deadline = time.monotonic() + self._timeout
        space = self._looker.now(self._paths, deadline - self._timeout / 2)
        file = self._opened()
        period, count, _via = _checked(file)
        oldest = max(OLDEST_NS, 2 * period)
        while True:
            asked = time.monotonic_ns()
            if self._writable:
                os.pwrite(file, struct.pack("=Q", asked), ASKED_OFFSET)
            devices = dict(filter(None, (read_record(file, index) for index in range(count))))
            newest = max((device.monotonic_ns for device in devices.values()), default=0)
            age = time.monotonic_ns() - newest
            if age <= oldest:
                break
            if time.monotonic() >= deadline:
                why = self._why(_checked(file)[2])
                self.close()
                raise DeadlineError(f"has no sample of the last {oldest / 1e6:g} ms in {self._path}: {why}")
            time.sleep(POLL_SECONDS)
        body = json.dumps({"devices": devices, "paths": space}).encode()
        at = now()
        way = WAYS.get(_checked(file)[2], "")
        return Reply(body, Moment(newest / 1e9, at.wall - (at.monotonic - newest / 1e9)), way)

    def close(self) -> None:
        """Close the table; the sampler falls asleep two seconds later."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _why(self, via: int) -> str:
        if via == NOT_REACHED:
            return "smed-mirror does not reach the other node's smed-sampler"
        program = "smed-mirror" if via in WAYS else "smed-sampler"
        return f"is {program} running" + (
            "?" if self._writable else " with --always? (this user may not wake it)"
        )

    def _opened(self) -> int:
        if self._file is not None:
            return self._file
        try:
            self._writable = os.access(self._path, os.W_OK)
            self._file = os.open(self._path, os.O_CLOEXEC | (os.O_RDWR if self._writable else os.O_RDONLY))
        except OSError as error:
            raise UnreachableError(
                f"{self._path} cannot be read: {error}; is smed-sampler running?"
            ) from error
        return self._file


def _checked(file: int) -> tuple[int, int, int]:
    """Period (ns), number of records of a table, and how it came here.  Raises ContentError."""
    head = os.pread(file, HEAD.size, 0)
    if len(head) < HEAD.size:
        raise ContentError("is not a table of smed-sampler: too short")
    magic, version, head_bytes, size, count, record_bytes, period, via, _asked = HEAD.unpack(head)
    if (magic, version, head_bytes, record_bytes) != (MAGIC, VERSION, HEAD.size, RECORD.size):
        raise ContentError("is not a table of this version of smed-sampler")
    if count > MAX_RECORDS or size != HEAD.size + count * RECORD.size or os.fstat(file).st_size < size:
        raise ContentError("is a table of smed-sampler that is shorter than it says")
    return period, count, via


def read_record(file: int, index: int) -> tuple[str, Counters] | None:
    """Name and counters of one record; ``None``: never written, or its writer died in the middle."""
    offset = HEAD.size + index * RECORD.size
    for _ in range(TRIES):
        copy = os.pread(file, RECORD.size, offset)
        if len(copy) < RECORD.size:
            return None
        sequence, name, *words = RECORD.unpack(copy)
        if not sequence:
            return None
        if not sequence & 1 and _check(words) == words[-1]:
            return name.rstrip(b"\0").decode("utf-8", "replace"), Counters(*words[:-1])
    return None


def _check(words: list[int]) -> int:
    """``smed_sample_check`` of table.h."""
    check = 0x5EED
    for word in words[:-1]:
        check = (check ^ word) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        check ^= check >> 32
    return check
