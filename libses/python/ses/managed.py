"""Whether a file is on storage that the site describes: nothing else is placed."""

from __future__ import annotations

import os
from pathlib import Path

from ses_client.client import ServiceClient
from ses_client.mounts import MOUNTINFO, parse_mounts

from ses.lustre import blob


def outside(client: ServiceClient, path: Path) -> str:
    """Return a sentence that says so if a file is on none of the site's storage systems, else nothing."""
    systems = [system for system in client.storage_systems() if system.mount_point]
    mounts = {mount.point: mount.device for mount in parse_mounts(MOUNTINFO.read_bytes())}
    number = path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    # What is mounted there may hang, and is not looked at; else it may be a link to where it is mounted.
    points = [
        point if point in mounts else os.path.realpath(point)
        for point in (system.mount_point for system in systems)
    ]
    if any(path.is_relative_to(point) or mounts.get(point) == device for point in points):
        return ""
    if any(system.backend == "lustre" for system in systems) and _on_lustre(path):
        return ""  # a node may mount it elsewhere than the site says
    described = ", ".join(sorted(f"{system.mount_point} ({system.name})" for system in systems))
    return (
        f"{path} is outside managed storage: the file system chose its place. Files are placed on: "
        f"{described or 'none, the site describes no storage system'}."
    )


def _on_lustre(path: Path) -> bool:
    try:
        blob.of_path(path)
    except (OSError, blob.LayoutError):
        return False
    return True
