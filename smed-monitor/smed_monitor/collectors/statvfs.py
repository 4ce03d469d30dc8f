"""File systems of this node by themselves: space from statvfs, rates from their block devices.

Needs no exporter and no rights.  A file system without a block device (NFS, tmpfs) has no rates.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from smed_monitor.collectors.base import Collector, Reply, Source
from smed_monitor.collectors.local import LocalSample, facts_of, in_time, local_reading, local_sample
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.model import Reading, now


class Statvfs(Collector[LocalSample]):
    """Looks at the mount points of its elements."""

    finds_by = "mount_point"
    local = True

    def open(self, target: Target) -> Source:
        """The mount points the target lists."""
        return PathsSource(target)

    def parse(self, body: bytes) -> LocalSample:
        """Mount point -> facts, as PathsSource wrote them."""
        return local_sample(body)

    def found(self, sample: LocalSample) -> Iterable[str]:
        """The paths that answered."""
        return [path for path, facts in sample.items() if "error" not in facts]

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space, and the device's counters."""
        return local_reading(sample, element)


class PathsSource(Source):
    """Looks at each path; one that fails is reported by itself, one that hangs ends the question."""

    def __init__(self, target: Target) -> None:
        self._paths = target.paths
        self._timeout = target.timeout_seconds
        self._stuck: list[threading.Thread] = []

    def read(self) -> Reply:
        """The facts of every path, as JSON."""
        at = now()
        return Reply(in_time(lambda: facts_of(self._paths), self._timeout, self._stuck), at)

    def close(self) -> None:
        """Nothing is kept open."""
