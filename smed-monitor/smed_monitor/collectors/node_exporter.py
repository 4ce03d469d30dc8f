"""Prometheus's node_exporter: block device counters and the space of mounted file systems.

Reads six series and nothing else; each is looked up by device or mount point.  An element that
lies on no block device (tmpfs, overlay, NFS) has space but no rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from smed_monitor.collectors.base import Collector, Source
from smed_monitor.collectors.http import HttpSource
from smed_monitor.errors import ContentError, ElementMissingError
from smed_monitor.model import Reading
from smed_monitor.settings import ElementSettings, Target

READ = "node_disk_read_bytes_total"
WRITTEN = "node_disk_written_bytes_total"
REQUEST_SECONDS = "node_disk_io_time_weighted_seconds_total"
AVAILABLE = "node_filesystem_avail_bytes"
SIZE = "node_filesystem_size_bytes"
READ_ONLY = "node_filesystem_readonly"
FAILED = "node_filesystem_device_error"
MAPPER = "node_disk_device_mapper_info"

DISK_SERIES = frozenset((READ, WRITTEN, REQUEST_SECONDS))
SPACE_SERIES = frozenset((AVAILABLE, SIZE, READ_ONLY, FAILED))
WANTED = tuple(f"{name}{{" for name in sorted(DISK_SERIES | SPACE_SERIES | {MAPPER}))

DEVICE_HINT = (
    "Debian's node_exporter leaves out loop devices and partitions: "
    "start it with --collector.diskstats.device-exclude='^(ram|fd|sr)\\d+$'"
)
MOUNT_HINT = (
    "is it mounted there, as process 1 sees it? Debian's node_exporter leaves out /mnt, /media and /run: "
    "start it with --collector.filesystem.mount-points-exclude='^/(dev|proc|sys)($|/)'"
)


class Series(NamedTuple):
    """One series' name and what its samples are looked up by."""

    name: str
    device: str
    mount_point: str
    mapped_name: str


@dataclass(frozen=True, slots=True)
class NodeSample:
    """``disks``: device -> series -> value; ``spaces``: mount point -> series -> value.

    ``mounted`` gives the device behind a mount point as /proc/mounts names it, ``mapped`` the
    kernel's name (``dm-0``) of a device mapper name.
    """

    disks: Mapping[str, Mapping[str, float]]
    spaces: Mapping[str, Mapping[str, float]]
    mounted: Mapping[str, str]
    mapped: Mapping[str, str]


class NodeExporter(Collector[NodeSample]):
    """Reads node_exporter 1.x in the Prometheus text format."""

    def open(self, target: Target) -> Source:
        """Plain HTTP."""
        return HttpSource(target)

    def parse(self, body: bytes) -> NodeSample:
        """Keep what the six series say.  A page with none of them is refused."""
        disks: dict[str, dict[str, float]] = {}
        spaces: dict[str, dict[str, float]] = {}
        mounted: dict[str, str] = {}
        mapped: dict[str, str] = {}
        for series, value in _samples(body):
            if series.name in DISK_SERIES:
                disks.setdefault(series.device, {})[series.name] = value
            elif series.name in SPACE_SERIES:
                spaces.setdefault(series.mount_point, {})[series.name] = value
                mounted[series.mount_point] = series.device
            else:
                mapped[series.mapped_name] = series.device
        if not disks and not spaces:
            start = body[:60].decode("utf-8", "replace").split("\n")[0]
            raise ContentError(
                f"is not node_exporter's page, or its diskstats and filesystem collectors are off "
                f"(it begins with {start!r})"
            )
        return NodeSample(disks, spaces, mounted, mapped)

    def reading(self, sample: NodeSample, element: ElementSettings) -> Reading:
        """Space by mount point; counters by the device given, or else the one mounted there."""
        space: Mapping[str, float] = {}
        if element.mount_point is not None:
            if element.mount_point not in sample.spaces:
                raise ElementMissingError(
                    f"node_exporter reports no file system at {element.mount_point}: {MOUNT_HINT}"
                )
            space = sample.spaces[element.mount_point]
            if space.get(FAILED):
                raise ElementMissingError(
                    f"node_exporter cannot read the file system at {element.mount_point} "
                    "(node_filesystem_device_error is 1): is the mount hanging?"
                )
        label = element.device or sample.mounted[element.mount_point or ""]
        device = _kernel_name(label, sample)
        disk = sample.disks.get(device)
        if disk is None and not space:
            raise ElementMissingError(f"node_exporter reports no disk {device}: {DEVICE_HINT}")
        disk = disk or {}
        return Reading(
            device=device,
            read_bytes=disk.get(READ),
            written_bytes=disk.get(WRITTEN),
            request_seconds=disk.get(REQUEST_SECONDS),
            free_bytes=space.get(AVAILABLE),
            size_bytes=space.get(SIZE),
            read_only=bool(space.get(READ_ONLY)),
            note="" if disk else _no_rates(label, device),
        )


def _no_rates(label: str, device: str) -> str:
    if label.startswith("/dev/") and label != "/dev/root":
        return f"no rates: node_exporter reports no disk {device}: {DEVICE_HINT}"
    return f"no rates: {label} is not the name of a block device; if there is one, name it by device"


def _kernel_name(label: str, sample: NodeSample) -> str:
    """``/dev/loop3`` -> ``loop3``; ``/dev/mapper/vg-data`` -> ``dm-2`` where the page says so."""
    if label.startswith("/dev/mapper/"):
        name = label.removeprefix("/dev/mapper/")
        return sample.mapped.get(name, name)
    return label.removeprefix("/dev/")


def _samples(body: bytes) -> Iterator[tuple[Series, float]]:
    """The wanted samples of a page: ``name{labels} value [timestamp]``, one a line; NaN says nothing."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContentError(f"is not text: byte {error.start} is not UTF-8") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith(WANTED):
            head, brace, tail = line.rpartition("}")
            try:
                series, value = _series(head + brace), float(tail.split(maxsplit=1)[0])
            except (ValueError, IndexError, KeyError) as error:
                raise ContentError(f"line {number} is not Prometheus text: {line[:120]!r}") from error
            if isfinite(value):
                yield series, value


@lru_cache(maxsize=1 << 17)
def _series(text: str) -> Series:
    """What ``name{labels}`` means, by the library's parser.

    The text of a series is the same in every scrape, and reading labels is nearly all the work of
    the library (25 us a line, 1.5 s for the 60,000 lines of 10,000 elements): each is read once.
    """
    for family in text_string_to_metric_families(f"{text} 0\n"):
        for sample in family.samples:
            labels = sample.labels
            return Series(
                name=sample.name,
                device=labels["device"],
                mount_point=labels["mountpoint"] if sample.name in SPACE_SERIES else "",
                mapped_name=labels["name"] if sample.name == MAPPER else "",
            )
    raise ValueError(text)
