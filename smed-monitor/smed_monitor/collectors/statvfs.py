"""File systems of this node by themselves: space from statvfs, rates from their block devices.

Needs no exporter and no rights.  A file system without a block device (NFS, tmpfs) has no rates.
"""

from smed_monitor.collectors.local import LocalCollector


class Statvfs(LocalCollector):
    """Looks at mount points; one that fails, or hangs, is reported by itself."""
