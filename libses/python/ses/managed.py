"""Whether a file is on storage that the site describes: nothing else is placed."""

from __future__ import annotations

import os
from pathlib import Path

from ses_client.client import ServiceClient

from ses.lustre import blob


def outside(client: ServiceClient, path: Path) -> str:
    """Return a sentence that says so if a file is on none of the site's storage systems, else nothing."""
    systems = [system for system in client.storage_systems() if system.mount_point]
    if any(_is_on(path, Path(system.mount_point)) for system in systems):
        return ""
    if any(system.backend == "lustre" for system in systems) and _on_lustre(path):
        return ""  # a node may mount it elsewhere than the site says
    described = ", ".join(sorted(f"{system.mount_point} ({system.name})" for system in systems))
    return (
        f"{path} is outside managed storage: the file system chose its place. Files are placed on: "
        f"{described or 'none, the site describes no storage system'}."
    )


def _is_on(path: Path, mount: Path) -> bool:
    try:
        real = Path(os.path.realpath(mount))
        return path.is_relative_to(real) or (real.is_mount() and path.stat().st_dev == real.stat().st_dev)
    except OSError:
        return False


def _on_lustre(path: Path) -> bool:
    try:
        blob.of_path(path)
    except (OSError, blob.LayoutError):
        return False
    return True
