"""Prometheus's node_exporter: block device counters and the space of mounted file systems.

Reads a dozen series and nothing else; each is looked up by device or mount point.  An element that
lies on no block device (tmpfs, overlay) has space but no rates; NFS has those of the export, as this
node sees them, with --collector.mountstats.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ses_client.devices import MOVES_DATA, NFS, counted_by, is_nfs, paths_of
from ses_client.mounts import is_another_kind

from smed_monitor.collectors.base import Collector, Source
from smed_monitor.collectors.block_devices import unless_blind
from smed_monitor.collectors.exposition import Reader, beginning
from smed_monitor.collectors.http import HttpSource
from smed_monitor.collectors.layout import Fill, Pages, filler
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ContentError, ElementMissingError
from smed_monitor.core.model import Reading

READ = "node_disk_read_bytes_total"
WRITTEN = "node_disk_written_bytes_total"
REQUEST_SECONDS = "node_disk_io_time_weighted_seconds_total"
IN_FLIGHT = "node_disk_io_now"
OPERATIONS = ("node_disk_reads_completed_total", "node_disk_writes_completed_total")
BUSY = ("node_disk_read_time_seconds_total", "node_disk_write_time_seconds_total")
AVAILABLE = "node_filesystem_avail_bytes"
SIZE = "node_filesystem_size_bytes"
READ_ONLY = "node_filesystem_readonly"
FAILED = "node_filesystem_device_error"
MAPPER = "node_disk_device_mapper_info"
BTRFS = "node_btrfs_device_size_bytes"

NFS_SERIES: Mapping[str, tuple[str, str]] = {
    "node_mountstats_nfs_total_read_bytes_total": (READ, READ),
    "node_mountstats_nfs_total_write_bytes_total": (WRITTEN, WRITTEN),
    "node_mountstats_nfs_operations_requests_total": OPERATIONS,
    "node_mountstats_nfs_operations_response_time_seconds_total": BUSY,
    "node_mountstats_nfs_operations_request_time_seconds_total": (REQUEST_SECONDS, REQUEST_SECONDS),
}
"""What --collector.mountstats says of an export -> the same of a disk, of reading and of writing."""

DISK_SERIES = frozenset((READ, WRITTEN, REQUEST_SECONDS, IN_FLIGHT, *OPERATIONS, *BUSY))
SPACE_SERIES = frozenset((AVAILABLE, SIZE, READ_ONLY, FAILED))
DEVICE_HINT = (
    "Debian's node_exporter leaves out loop devices and partitions: "
    "start it with --collector.diskstats.device-exclude='^(ram|fd|sr)\\d+$'"
)
NFS_HINT = "no rates: it is NFS, of which node_exporter says more with --collector.mountstats"
MOUNT_HINT = (
    "is it mounted there, as process 1 sees it? Debian's node_exporter leaves out /mnt, /media and /run: "
    "start it with --collector.filesystem.mount-points-exclude='^/(dev|proc|sys)($|/)'"
)


class Series(NamedTuple):
    """One series' name and what its samples are looked up by.

    ``within`` is the mount point of a file system and its type, the name of a device mapper's device, or the
    UUID of a btrfs.
    """

    name: str
    device: str
    within: str
    type: str


@dataclass(frozen=True, slots=True)
class NodeSample:
    """``disks``: device, or ``nfs EXPORT`` -> series -> value; ``spaces``: mount point -> series -> value.

    ``mounted`` gives the device behind a mount point as /proc/mounts names it, and the type of the file
    system; ``mapped`` the kernel's name (``dm-0``) of a device mapper name; ``btrfs`` the devices of each.
    """

    disks: Mapping[str, Mapping[str, float]]
    spaces: Mapping[str, Mapping[str, float]]
    mounted: Mapping[str, tuple[str, str]]
    mapped: Mapping[str, str]
    btrfs: Mapping[str, Collection[str]]


class NodeExporter(Collector[NodeSample]):
    """Reads node_exporter 1.x in the Prometheus text format."""

    finds_by = "mount_point"

    def __init__(self) -> None:
        self._reader = Reader(DISK_SERIES | SPACE_SERIES | NFS_SERIES.keys() | {MAPPER, BTRFS}, _series)

    def open(self, target: Target) -> Source:
        """Plain HTTP."""
        return HttpSource(target)

    def parse(self, body: bytes) -> NodeSample:
        """Keep what the wanted series say.  A page with none of them is refused."""
        sample = _sorted_out(self._reader.read(body))
        if not sample.disks and not sample.spaces:
            raise ContentError(
                f"is not node_exporter's page, or its diskstats and filesystem collectors are off "
                f"(it begins with {beginning(body)})"
            )
        return sample

    def parser(self) -> Callable[[bytes], NodeSample]:
        """Remembers the layout of the last page."""
        return Pages(self._reader, self.parse, _form).parse

    def names(self, sample: NodeSample) -> Iterable[str]:
        """The mount points that have a size."""
        return [path for path, space in sample.spaces.items() if space.get(SIZE) and not space.get(FAILED)]

    def reading(self, sample: NodeSample, element: ElementSettings) -> Reading:
        """Space by mount point; counters by the device given, or else the one mounted there."""
        space: Mapping[str, float] = {}
        mounted, type_ = sample.mounted.get(element.mount_point or "", ("", ""))
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
            if is_another_kind(element.file_system, type_, mounted):
                raise ElementMissingError(
                    f"{element.mount_point} is not the file system that was described ({type_} instead of "
                    f"{element.file_system}): see findmnt -T {element.mount_point}"
                )
        label = element.device or mounted
        of_nfs = is_nfs(type_) and element.device is None
        device = NFS + mounted if of_nfs else _kernel_name(label, sample)
        counted, disk = _counters(device, sample.disks)
        if disk is None and not space:
            raise ElementMissingError(f"node_exporter reports no disk {device}: {DEVICE_HINT}")
        several = next((each for each in sample.btrfs.values() if device in each and len(each) > 1), None)
        disk = disk if disk and not several else {}
        reading = Reading(
            device=counted,
            read_bytes=disk.get(READ),
            written_bytes=disk.get(WRITTEN),
            request_seconds=disk.get(REQUEST_SECONDS),
            operations=_sum(disk, OPERATIONS),
            busy_seconds=_sum(disk, BUSY),
            in_flight=disk.get(IN_FLIGHT),
            free_bytes=space.get(AVAILABLE),
            size_bytes=space.get(SIZE),
            read_only=bool(space.get(READ_ONLY)),
            note="" if disk else NFS_HINT if of_nfs else _no_rates(label, device, several),
        )
        return reading if of_nfs else unless_blind(reading)


def _sorted_out(values: Mapping[Series, float]) -> NodeSample:
    disks: dict[str, dict[str, float]] = {}
    spaces: dict[str, dict[str, float]] = {}
    mounted: dict[str, tuple[str, str]] = {}
    mapped: dict[str, str] = {}
    btrfs: dict[str, list[str]] = {}
    for series, value in values.items():
        if series.name in DISK_SERIES:
            disks.setdefault(series.device, {})[series.name] = value
        elif series.name in SPACE_SERIES:
            spaces.setdefault(series.within, {})[series.name] = value
            mounted[series.within] = series.device, series.type
        elif series.name == BTRFS:
            btrfs.setdefault(series.within, []).append(series.device)
        else:
            mapped[series.within] = series.device
    return NodeSample(disks, spaces, mounted, mapped, btrfs)


def _form(series: Sequence[Series]) -> Fill[NodeSample]:
    """Sorts the places of the values out as the values themselves would be."""
    places = _sorted_out({each: place for place, each in enumerate(series)})
    disks, spaces = filler(places.disks), filler(places.spaces)
    return lambda values: NodeSample(
        disks(values), spaces(values), places.mounted, places.mapped, places.btrfs
    )


def _counters(
    device: str, disks: Mapping[str, Mapping[str, float]]
) -> tuple[str, Mapping[str, float] | None]:
    """Whose counters those of a device are, and these; where its paths do the counting, theirs together."""
    own, paths = disks.get(device), paths_of(device, disks)
    if not paths or (own and any(own.values())):
        return device, own
    added = {name: sum(disks[path].get(name, 0.0) for path in paths) for name in DISK_SERIES}
    return counted_by(device, paths), added


def _no_rates(label: str, device: str, several: Collection[str] | None) -> str:
    if several:
        return (
            f"no rates: it is a btrfs of several devices ({', '.join(sorted(several))}), which share the load"
        )
    if label.startswith("/dev/") and label != "/dev/root":
        return f"no rates: node_exporter reports no disk {device}: {DEVICE_HINT}"
    return f"no rates: {label} is not the name of a block device; if there is one, name it by device"


def _kernel_name(label: str, sample: NodeSample) -> str:
    """``/dev/loop3`` -> ``loop3``; ``/dev/mapper/vg-data`` -> ``dm-2`` where the page says so."""
    if label.startswith("/dev/mapper/"):
        name = label.removeprefix("/dev/mapper/")
        return sample.mapped.get(name, name)
    return label.removeprefix("/dev/")


def _sum(disk: Mapping[str, float], names: tuple[str, str]) -> float | None:
    first, second = disk.get(names[0]), disk.get(names[1])
    return None if first is None or second is None else first + second


def _series(name: str, labels: Mapping[str, str]) -> Series | None:
    if name in NFS_SERIES:
        return _nfs_series(name, labels)
    within = {MAPPER: "name", BTRFS: "uuid", **dict.fromkeys(SPACE_SERIES, "mountpoint")}.get(name)
    return Series(
        name=name,
        device=labels["device"],
        within=labels[within] if within else "",
        type=labels.get("fstype", "") if name in SPACE_SERIES else "",
    )


def _nfs_series(name: str, labels: Mapping[str, str]) -> Series | None:
    """What moves data of an export.

    Exports that are one file system of their server show the same, so that those of a server have no sum.
    """
    operation = labels.get("operation", "READ")
    if operation not in MOVES_DATA:
        return None
    reading, writing = NFS_SERIES[name]
    counted = reading if operation == "READ" else writing
    return Series(counted, NFS + labels["export"], "", "")
