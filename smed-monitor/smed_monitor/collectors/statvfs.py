"""File systems of this node by themselves: space from statvfs, rates from their block devices.

Needs no exporter and no rights.  A file system without a block device (NFS, tmpfs) has no rates.
"""

import json
import time

from smed_monitor.collectors.base import Reply, Source
from smed_monitor.collectors.local import LocalCollector, Looker
from smed_monitor.config.settings import Target
from smed_monitor.core.model import now


class Statvfs(LocalCollector):
    """Looks at mount points; one that fails, or hangs, is reported by itself."""

    def open(self, target: Target) -> Source:
        """The mount points the target lists."""
        return StatvfsSource(target)


class StatvfsSource(Source):
    """Looks at all mount points at once."""

    def __init__(self, target: Target) -> None:
        self._target, self._looker = target, Looker()

    def read(self) -> Reply:
        """Path -> facts or error, as JSON."""
        at, until = now(), time.monotonic() + self._target.timeout_seconds
        return Reply(json.dumps(self._looker.now(self._target.paths, until)).encode(), at)
