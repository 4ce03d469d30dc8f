"""What the counters of a block device say of the elements on it, by whatever way they were read.

Devices that count what their file systems do (partitions, md, LVM, device mapper, bcache) stand for
themselves.  An NVMe namespace with several paths may leave the counting to these, which are devices of their
own: they are added up.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from smed_monitor.core.model import Reading

_NVME = re.compile(r"nvme(\d+)n(\d+)(?:p\d+)?")


def paths_of(device: str, devices: Iterable[str]) -> list[str]:
    """Those of ``devices`` that are a path (``nvme0c1n1``) to the NVMe namespace ``device`` is or lies on."""
    matched = _NVME.fullmatch(device)
    if matched is None:
        return []
    path = re.compile(rf"nvme{matched[1]}c\d+n{matched[2]}")
    return sorted(filter(path.fullmatch, devices))


def counted_by(device: str, parts: Iterable[str]) -> str:
    """Return whose counters those of a device are: where several are added up, which.

    When one comes or goes, the sum moves by all that it ever counted.
    """
    names = sorted(parts)
    return f"{device} ({', '.join(names)})" if len(names) > 1 else device


def unless_blind(reading: Reading) -> Reading:
    """``reading`` without counters that have never counted: what is mounted was read to be mounted."""
    counters = (reading.read_bytes, reading.written_bytes, reading.operations)
    if not reading.size_bytes or counters != (0, 0, 0):
        return reading
    return replace(
        reading,
        read_bytes=None,
        written_bytes=None,
        operations=None,
        busy_seconds=None,
        request_seconds=None,
        in_flight=None,
        note=f"no rates: {reading.device} has counted nothing since the start, though it is in use; "
        "name the device whose counters move by device",
    )
