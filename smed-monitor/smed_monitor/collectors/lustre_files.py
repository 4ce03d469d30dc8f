"""Lustre's own files on an OSS, without any exporter: proc, sys and, for root, debugfs.

Each OST's counters, space and flags.  Its queue is the time its operations took (requests in service, by
Little's law) or, where a version does not time them, its part of the server's I/O service (ost_io).
Files that are absent in a version are left out; one that cannot be read is not an error as long as any
OST can be seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from smed_monitor.collectors.base import Collector, Source
from smed_monitor.collectors.local import LocalSource
from smed_monitor.collectors.lustre_text import ROOTS, Statistics, parameters, statistics
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ContentError, ElementMissingError, ReplyError, UnreachableError
from smed_monitor.core.model import Reading, ServerQueue

WANTED = (
    *(
        f"obdfilter/*-OST*/{name}"
        for name in (
            "stats",
            "kbytesavail",
            "kbytestotal",
            "degraded",
            "readonly",
            "no_create",
            "no_precreate",
        )
    ),
    *(f"osd-*/*-OST*/{name}" for name in ("kbytesavail", "kbytestotal")),
    "ost/OSS/ost_io/stats",
)


@dataclass(frozen=True, slots=True)
class ServerSample:
    """One OSS: parameters of each OST by their last word, its statistics, those of the I/O service."""

    values: Mapping[str, Mapping[str, str]]
    stats: Mapping[str, Statistics]
    service: Statistics | None


class LustreFiles(Collector[ServerSample]):
    """Lustre 2.12 to 2.17, read on the server itself or from a copy of its files (``root``)."""

    finds_by = "ost"
    local = True

    def open(self, target: Target) -> Source:
        """The files below the target's root."""
        return LocalSource(target, lambda: _gathered(Path(target.root), target.max_reply_bytes))

    def parse(self, body: bytes) -> ServerSample:
        """Parameters by OST.  Text without an OST is refused."""
        values: dict[str, dict[str, str]] = {}
        stats: dict[str, Statistics] = {}
        service = None
        for name, value in parameters(body.decode("utf-8", "replace")).items():
            parts = name.split(".")
            if parts[:3] == ["ost", "OSS", "ost_io"] and parts[-1] == "stats":
                service = statistics(value)
            elif len(parts) == 3 and "-OST" in parts[1] and parts[0].startswith(("obdfilter", "osd-")):
                if parts[0] == "obdfilter" and parts[2] == "stats":
                    stats[parts[1]] = statistics(value)
                else:
                    values.setdefault(parts[1], {}).setdefault(parts[2], value)
        if not values and not stats:
            raise ContentError("has no OST: is Lustre started, and is this an OSS?")
        return ServerSample(values, stats, service)

    def names(self, sample: ServerSample) -> Iterable[str]:
        """The names of the OSTs mounted here."""
        return sorted(sample.values.keys() | sample.stats.keys())

    def reading(self, sample: ServerSample, element: ElementSettings) -> Reading:
        """Counters, space and flags of the element's OST."""
        ost = element.ost or ""
        values, stats = sample.values.get(ost, {}), sample.stats.get(ost)
        if not values and stats is None:
            raise ElementMissingError(f"there is no OST {ost} here: is it mounted on another server now?")
        timed = stats is not None and any(c.unit in ("usec", "usecs") for c in stats.counters.values())
        busy = (stats.total("read") + stats.total("write")) / 1e6 if stats and timed else None
        return Reading(
            device=ost,
            read_bytes=float(stats.total("read_bytes")) if stats else None,
            written_bytes=float(stats.total("write_bytes")) if stats else None,
            operations=float(stats.samples("read_bytes") + stats.samples("write_bytes")) if stats else None,
            busy_seconds=busy,
            request_seconds=busy,
            free_bytes=_kib(values.get("kbytesavail")),
            size_bytes=_kib(values.get("kbytestotal")),
            read_only=_flag(values.get("readonly")),
            degraded=_flag(values.get("degraded")),
            no_create=_flag(values.get("no_create")) or _flag(values.get("no_precreate")),
            started=stats.started if stats else None,
            note="" if stats else "no rates: only root may read obdfilter.*.stats below /sys/kernel/debug",
            server_queue=_server_queue(sample) if stats and not timed else None,
        )


def _server_queue(sample: ServerSample) -> ServerQueue | None:
    """The queue of the I/O service (ost_io), for versions before 2.13, which time no OST by itself.

    From the times requests waited and were served, whose sum grows by the requests there are (Little's
    law); req_qdepth and req_active of the same file are means over arrivals, not over time.
    """
    service = sample.service
    if service is None or "req_waittime" not in service.counters:
        return None
    spent = sum(service.total(name) for name in ("req_waittime", "ost_read", "ost_write"))
    done = sum(each.samples(name) for each in sample.stats.values() for name in ("read_bytes", "write_bytes"))
    return ServerQueue(spent / 1e6, float(done))


def _gathered(root: Path, limit: int) -> bytes:
    """Return all wanted files as ``lctl get_param`` would print them, ``limit`` bytes of them at most."""
    parts: list[bytes] = []
    size = 0
    for folder in (root / tree for tree in ROOTS):
        for path in (path for pattern in WANTED for path in sorted(folder.glob(pattern))):
            try:
                with path.open("rb") as file:
                    content = file.read(limit + 1 - size)
            except OSError:
                continue
            size += len(content)
            if size > limit:
                raise ReplyError(f"has more than {limit} bytes (max_reply_bytes)")
            name = ".".join(path.relative_to(folder).parts).encode()
            lines = content.strip()
            parts.append(name + b"=" + (b"\n" if b"\n" in lines else b"") + lines)
    if not parts:
        raise UnreachableError(f"has no readable file of an OSS below {root}: is Lustre started here?")
    return b"\n".join(parts) + b"\n"


def _kib(text: str | None) -> float | None:
    return float(text) * 1024 if text is not None and text.isdigit() else None


def _flag(text: str | None) -> bool:
    return text is not None and text.strip() not in ("", "0")
