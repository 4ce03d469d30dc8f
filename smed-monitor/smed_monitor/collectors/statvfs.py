"""File systems of this node by themselves: space from statvfs, rates from their block devices.

Needs no exporter and no rights.  A file system without a block device (NFS, tmpfs) has no rates.
"""

from __future__ import annotations

import threading

from smed_monitor.collectors.base import Reply, Source
from smed_monitor.collectors.local import LocalCollector, facts_of, in_time
from smed_monitor.config.settings import Target
from smed_monitor.core.model import now


class Statvfs(LocalCollector):
    """Looks at the mount points of its elements."""

    def open(self, target: Target) -> Source:
        """The mount points the target lists."""
        return PathsSource(target)


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
