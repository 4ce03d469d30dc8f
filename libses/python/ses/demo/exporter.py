"""How node_exporter is started, so that it sees the demonstration's file systems."""

from __future__ import annotations

from pathlib import Path


def exporter_options(work: Path) -> list[str]:
    """Return the options for loop devices and for what is mounted now.

    node_exporter reads the mounts of process 1. In a chroot, or with mounts of one's own, those are
    others; a directory without process 1 in place of /proc makes it read its own mounts instead.
    ``work`` receives that directory.
    """
    options = [
        "--collector.disable-defaults",
        "--collector.filesystem",
        "--collector.diskstats",
        "--collector.diskstats.device-exclude=^$",  # loop devices are left out by default
    ]
    if not _mount_points("self") <= _mount_points("1"):
        view = work / "proc"
        view.mkdir(exist_ok=True)
        for name, place in (("diskstats", "diskstats"), ("mounts", "self/mounts")):
            link = view / name
            if not link.is_symlink():
                link.symlink_to(f"/proc/{place}")
        options.append(f"--path.procfs={view}")
    return options


def _mount_points(process: str) -> set[str]:
    try:
        lines = Path(f"/proc/{process}/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return set()
    return {line.split()[1] for line in lines}
