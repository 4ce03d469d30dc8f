"""Branches whose disk is not mounted: what lies there now is another file system, mostly that of the root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from ses_client.errors import SesError
from ses_client.mounts import MOUNTINFO, parse_mounts, unescaped

_FSTAB = Path("/etc/fstab")


def check_mounted(directories: Sequence[str]) -> None:
    """Raise SesError where a directory is on another mount than fstab has for it, further up."""
    mounted = {Path(mount.point) for mount in parse_mounts(MOUNTINFO.read_bytes())}
    # One that is mounted is called as it is there, and may hang.
    wanted = [point if point in mounted else point.resolve() for point in _mount_points()]
    for directory in directories:
        point, here = (_nearest(points, Path(directory).resolve()) for points in (wanted, mounted))
        if len(point.parts) > len(here.parts):
            raise SesError(
                f"{point} is not mounted, though {_FSTAB} has it: {directory} is not the file system that it "
                f"should be. Mount it (mount {quote(str(point))}) and look again."
            )


def on_the_root(directories: Sequence[str]) -> list[tuple[str, str]]:
    """Return which of several directories are on the root's file system as others are not, and what to do."""
    devices: dict[str, int] = {}
    for directory in directories:
        with suppress(OSError):
            devices[directory] = Path(directory).stat().st_dev
    root = Path("/").stat().st_dev
    on_root = [directory for directory, device in devices.items() if device == root]
    if len(on_root) == len(devices):
        return []
    return [
        (
            f"{directory} is on the file system of /, as not all branches are.",
            "If it is to be a disk of its own, mount that first.",
        )
        for directory in on_root
    ]


def _nearest(points: Iterable[Path], path: Path) -> Path:
    """Return the last of some mount points on the way to a path."""
    above = (point for point in points if path.is_relative_to(point))
    return max(above, key=lambda point: len(point.parts), default=Path("/"))


def _mount_points() -> list[Path]:
    try:
        lines = _FSTAB.read_bytes().splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines if not line.lstrip().startswith(b"#")]
    points = [row[1] for row in fields if len(row) > 2 and row[1].startswith(b"/") and row[1] != b"/"]
    return [Path(os.fsdecode(unescaped(point))) for point in points]
