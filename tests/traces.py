"""Signs of anything that was left behind on this machine by what mounts, limits and starts."""

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_until

BLKIO = Path("/sys/fs/cgroup/blkio")


def staying(look: Callable[[], list[str]]) -> list[str]:
    """What is seen and does not go: what was killed or detached is there for a moment more, and others who
    limit and detach are seen halfway."""
    with contextlib.suppress(pytest.fail.Exception):
        wait_until(lambda: not look(), seconds=60.0, every=0.05)
    return look()


class Traces:
    """What something under one directory could leave behind on this machine."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def mounts(self) -> list[str]:
        lines = Path("/proc/self/mounts").read_text().splitlines()
        return [line for line in lines if str(self.base) in line]

    def loops(self, images: Path) -> list[str]:
        return staying(lambda: self._loops(images))

    def _loops(self, images: Path) -> list[str]:
        files = []
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            try:
                if str(images) in backing.read_text():
                    files.append(backing.parts[-3])
            except OSError:
                continue
        return files

    def rules_of_detached_devices(self) -> list[str]:
        """Throttle rules of loop devices nobody has attached: they would slow down whoever comes next."""
        return staying(self._rules_of_detached_devices)

    def _rules_of_detached_devices(self) -> list[str]:
        rules = []
        for name in ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"):
            for rule in (BLKIO / name).read_text().splitlines() if (BLKIO / name).exists() else ():
                major, _, minor = rule.split()[0].partition(":")
                if major == "7" and not Path(f"/sys/block/loop{minor}/loop").exists():
                    rules.append(rule)
        return rules

    def processes(self) -> list[str]:
        """Processes that name the directory in their command line or environment."""
        return staying(self._processes)

    def _processes(self) -> list[str]:
        base, commands = str(self.base).encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words, environment = ((process / name).read_bytes() for name in ("cmdline", "environ"))
            except OSError:
                continue
            if base in words + environment and process.name != str(os.getpid()):
                commands.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
        return commands

    def files(self) -> list[str]:
        return sorted(str(path) for path in self.base.rglob("*"))

    def left(self, log: Path) -> list[str]:
        """All of it, and what is attached to the images that a log names."""
        traces = self.files() + self.mounts() + self.processes() + self.rules_of_detached_devices()
        for images in map(Path, re.findall(r"image files in (\S+)", log.read_text())):
            traces += [str(images)] * images.exists() + self.loops(images)
        return traces
