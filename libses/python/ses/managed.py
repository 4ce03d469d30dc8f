"""Whether a file is on storage that the site describes: nothing else is placed."""

from __future__ import annotations

import os
from pathlib import Path

from ses.answers import parse
from ses.lustre import blob
from ses.service import ServiceClient


def outside(client: ServiceClient, path: Path) -> str:
    """Return a sentence that says so if a file is on none of the site's storage systems, else nothing."""
    systems = parse(
        "the storage systems",
        lambda data: [
            (str(one["mount_point"]), one["name"], one["backend"]) for one in data["storage_systems"]
        ],
        client.storage_systems(),
    )
    if any(_is_on(path, Path(mount)) for mount, _, _ in systems):
        return ""
    if any(backend == "lustre" for _, _, backend in systems) and _on_lustre(path):
        return ""  # a node may mount it elsewhere than the site says
    told = ", ".join(f"{mount} ({name})" for mount, name, _ in sorted(systems))
    return (
        f"{path} is outside managed storage: the file system chose its place. Files are placed on: "
        f"{told or 'none, the site describes no storage system'}."
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
