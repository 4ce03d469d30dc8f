"""File systems of this node by themselves: space from statvfs, rates from their block devices.

Needs no exporter and no rights.  A file system without a block device (NFS, tmpfs) has no rates.
"""

from smed_monitor.collectors.base import Source
from smed_monitor.collectors.local import LocalCollector, PathsSource
from smed_monitor.config.settings import Target


class Statvfs(LocalCollector):
    """Looks at mount points."""

    def open(self, target: Target) -> Source:
        """The mount points the target lists."""
        return PathsSource(target)
