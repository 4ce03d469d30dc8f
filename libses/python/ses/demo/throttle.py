"""Giving block devices different speeds, by the kernel's own limits.

Two ways, whichever the machine has:

* cgroup v1: ``blkio.throttle.*_bps_device`` of the ROOT group.  In a child group buffered
  write-back would not be limited, as it is charged to the root.
* cgroup v2: ``io.max`` of a group of our own, which this process joins with all it starts later;
  the root has no limits there.

A rule outlives the loop device it was made for and would slow down the device that gets that number next,
so each is taken away before its device is detached.  Does not check that the kernel keeps a rule
beyond reading it back.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ses.demo.faults import DemoError


class Throttle(Protocol):
    """Limits of block devices.  ``device`` is ``MAJOR:MINOR``, rates are bytes per second."""

    @property
    def description(self) -> str:
        """How it is done, in a few words."""

    def limit(self, device: str, read_rate: int, write_rate: int) -> None:
        """Limit a device; raises DemoError when the kernel does not accept that."""

    def release(self, device: str) -> None:
        """Take the limits of a device away; nothing happens if it has none."""

    def close(self) -> None:
        """Leave everything as it was found."""


@dataclass(frozen=True, slots=True)
class BlkioThrottle:
    """Cgroup v1: rules of the root group of the blkio hierarchy at ``root``."""

    root: Path
    description: str = "cgroup v1 blkio throttle, root group"

    def limit(self, device: str, read_rate: int, write_rate: int) -> None:
        """Write one rule for each direction and read it back."""
        for direction, rate in (("read", read_rate), ("write", write_rate)):
            rules = self.root / f"blkio.throttle.{direction}_bps_device"
            _write(rules, f"{device} {rate}\n")
            if f"{device} {rate}" not in rules.read_text().splitlines():
                raise DemoError(f"The kernel did not keep the limit {device} {rate} in {rules}.")

    def release(self, device: str) -> None:
        """Write rules of rate 0, which removes them."""
        for direction in ("read", "write"):
            rules = self.root / f"blkio.throttle.{direction}_bps_device"
            if any(rule.startswith(f"{device} ") for rule in rules.read_text().splitlines()):
                _write(rules, f"{device} 0\n")

    def close(self) -> None:
        """Nothing: rules go one by one."""


@dataclass(frozen=True, slots=True)
class IoMaxThrottle:
    """Cgroup v2: ``io.max`` of ``group``, which this process has joined from ``came_from``."""

    group: Path
    came_from: Path
    description: str = "cgroup v2 io.max"

    @classmethod
    def join(cls, root: Path, name: str) -> IoMaxThrottle:
        """Make a group under ``root`` and move this process into it; raises DemoError."""
        own = Path("/proc/self/cgroup").read_text().splitlines()
        path = next((entry.split(":", 2)[2] for entry in own if entry.startswith("0::")), "/")
        group = root / name
        try:
            group.mkdir()
        except OSError as error:
            raise DemoError(f"The control group {group} cannot be made: {error.strerror}.") from error
        joined = cls(group, root / path.lstrip("/"))
        try:
            _write(root / "cgroup.subtree_control", "+io\n")
            _write(group / "cgroup.procs", f"{os.getpid()}\n")
        except DemoError:
            joined.close()
            raise
        return joined

    def limit(self, device: str, read_rate: int, write_rate: int) -> None:
        """Write one rule for both directions and read it back."""
        _write(self.group / "io.max", f"{device} rbps={read_rate} wbps={write_rate}\n")
        rules = (self.group / "io.max").read_text().splitlines()
        if not any(rule.startswith(f"{device} ") and f"wbps={write_rate}" in rule for rule in rules):
            raise DemoError(f"The kernel did not keep the limit of {device} in {self.group}/io.max.")

    def release(self, device: str) -> None:
        """Write a rule without limits, which removes it."""
        rules = self.group / "io.max"
        if rules.exists() and any(rule.startswith(f"{device} ") for rule in rules.read_text().splitlines()):
            _write(rules, f"{device} rbps=max wbps=max\n")

    def close(self) -> None:
        """Move the processes that are left back and remove the group."""
        if not self.group.exists():
            return
        members = self.group / "cgroup.procs"
        for process in members.read_text().split() if members.exists() else ():
            try:
                _write(self.came_from / "cgroup.procs", f"{process}\n")
            except DemoError:  # it ended meanwhile
                continue
        self.group.rmdir()


def find_throttle(name: str, mounts: Path = Path("/proc/self/mounts")) -> Throttle:
    """Return the way this machine can limit block devices; raises DemoError with the reason if none.

    ``name`` is used for a control group, where one has to be made.
    """
    entries = [entry.split(" ") for entry in os.fsdecode(mounts.read_bytes()).split("\n")[:-1]]
    for _, where, kind, options, *_ in entries:
        if kind == "cgroup" and "blkio" in options.split(","):
            root = Path(where)
            if os.access(root / "blkio.throttle.write_bps_device", os.W_OK):
                return BlkioThrottle(root)
    for _, where, kind, *_ in entries:
        controllers = Path(where) / "cgroup.controllers"
        if kind == "cgroup2" and controllers.exists() and "io" in controllers.read_text().split():
            return IoMaxThrottle.join(Path(where), name)
    raise DemoError(
        "no control group here can limit block devices (neither a writable blkio hierarchy of cgroup v1 "
        "nor the io controller of cgroup v2)"
    )


def _write(path: Path, text: str) -> None:
    try:
        with path.open("w") as file:
            file.write(text)
    except OSError as error:
        raise DemoError(f"{path} does not accept {text.strip()!r}: {error.strerror}.") from error
