"""Plain directories of this node: space and inodes of each, and the load of the disk or NFS server below it.

Disks count for all who use them.  What the kernel says of an NFS server (``/proc/self/mountstats``) is what
this node moves, how long requests are under way to the server, and how many wait: that shows what others do
there.  Directories on one disk, or of one server, have its load in common.

Each directory is looked at in a thread of its own, so that a mount that hangs is unknown by itself.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ses_client.devices import (
    NFS,
    Served,
    counted_by,
    device_of,
    file_system_of,
    is_nfs,
    parse_mountstats,
    server_of,
    stat_of,
)
from ses_client.mounts import mount_of, parse_mounts

from smed_monitor.collectors.base import Source
from smed_monitor.collectors.local import LocalCollector, LocalSample, PathsSource, look
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.model import Reading


class Directories(LocalCollector):
    """Looks at the directories its target lists as ``paths``."""

    def open(self, target: Target) -> Source:
        """The directories the target lists."""
        return DirectoriesSource(target)

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space of its file system, and the counters of its disk or server."""
        reading = super().reading(sample, element)
        facts = sample[element.mount_point or ""]
        reading.no_create = facts["inodes"] == 0
        if served := facts.get("served"):
            reading = replace(
                reading,
                read_bytes=float(served["read"]),
                written_bytes=float(served["written"]),
                operations=float(served["operations"]),
                busy_seconds=served["round_trip_ms"] / 1000,
                request_seconds=served["whole_ms"] / 1000,
                note="",
            )
        return reading


class DirectoriesSource(PathsSource):
    """Looks at all directories at once."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, _look)
        self._root = Path(target.root)

    def facts(self, until: float) -> dict[str, dict[str, Any]]:
        """The facts of every directory, with the counters of its disk or server."""
        facts, proc = super().facts(until), self._root / "proc/self"
        mounts = {entry.number: entry for entry in parse_mounts((proc / "mountinfo").read_bytes())}
        servers: Mapping[str, Served] | None = None
        for fact in facts.values():
            if "error" in fact:
                continue
            mount = mounts.get(fact["mount"])
            device = device_of(mount, file_system_of(mount, fact["number"]), self._root / "sys")
            fact |= {"device": device, **stat_of(self._root / "sys", device)}
            if device.startswith(NFS):
                if servers is None:
                    text = (proc / "mountstats").read_text("utf-8", "surrogateescape")
                    servers = parse_mountstats(text, mounts.values())
                server = device.removeprefix(NFS)
                fact["served"] = servers.get(server, Served())._asdict()
                of_server = {
                    mount.device
                    for mount in mounts.values()
                    if is_nfs(mount.type) and server_of(mount.source) == server
                }
                fact["device"] = counted_by(device, of_server)
        return facts


def _look(path: str) -> dict[str, Any]:
    facts = look(path)
    here = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        return facts | {"mount": mount_of(here), "number": os.fstat(here).st_dev}
    finally:
        os.close(here)
