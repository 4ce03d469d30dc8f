"""What ``places`` runs within ``user_mode``: directories of unequal speed, and jobs that write there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import ses.api
from ses.demo.branches import MEGABYTE, device_number, mount_new
from ses.demo.throttle import Throttle, find_throttle
from ses.demo.tools import tool

from ses_experiment import nfs, places_service, user_mode

WORK = Path("/run/places")
# Its arguments: a directory to make, then seconds of computing and MiB to write, in turns.
_JOB = """folder=$1
mkdir "$folder" || exit 1
while shift && [ $# -gt 1 ]; do
  sleep "$1"
  shift
  dd if=/dev/zero of="$folder/$#" bs=1M count="$1" conv=fsync 2>/dev/null || exit 1
done"""


def directories(rates: Sequence[float], megabytes: int, remote: int) -> list[str]:
    """Make directories of these MB/s and this size; the last ``remote`` ones are NFS mounts of slow disks."""
    user_mode.load_modules("nfs", "nfsv4", "nfsd", "loop", "veth")
    for folder in (WORK, Path("/run/blkio")):
        folder.mkdir()
    tool("mount", "-t", "tmpfs", "-o", "size=90%,mode=755", "places", str(WORK))
    tool("mount", "-t", "cgroup", "-o", "blkio", "blkio", "/run/blkio")
    throttle = find_throttle("places")
    disks = [_slow_disk(f"d{number}", rate, megabytes, throttle) for number, rate in enumerate(rates, 1)]
    local, far = disks[: len(disks) - remote], disks[len(disks) - remote :]
    nfs.serve({disk.name: disk for disk in far})
    mounts = [WORK / f"nfs{number}" for number in range(1, remote + 1)]
    for number, (disk, folder) in enumerate(zip(far, mounts, strict=True), 1):
        nfs.mount(disk.name, number, folder)
    return [str(mount) for mount in (*local, *mounts)]


def _slow_disk(name: str, rate: float, megabytes: int, throttle: Throttle) -> Path:
    """Make a disk of ``rate`` MB/s, mounted.

    What is slowed down is a device below it, since the kernel has requests wait before a device counts them.
    """
    image, folder, limit = WORK / f"{name}.img", WORK / name, int(rate * MEGABYTE)
    with image.open("xb") as file:
        file.truncate(megabytes * MEGABYTE)
    below = tool("losetup", "--find", "--show", str(image))
    throttle.limit(device_number(Path(below)), limit, limit)
    mount_new(Path(tool("losetup", "--direct-io=on", "--find", "--show", below)), folder)
    return folder


class Batches:
    """Runs batches of jobs whose directories one arm chooses."""

    def __init__(self, asked: dict[str, Any], among: list[str]) -> None:
        self._asked, self._among = asked, among
        rates = dict(zip(among, asked["rates"], strict=True))
        stated = rates if asked["arm"] == "stated" else None
        if asked["arm"] == "service":
            places_service.begin(WORK, rates)
        self._places = ses.api.Places(among, rates=stated, ledger=WORK / "ledger")

    @contextmanager
    def _chosen(self, name: str) -> Iterator[str]:
        """Give a job its directory."""
        arm, chance = self._asked["arm"], Random(f"{self._asked['seed']} {name}")
        if arm == "weights":
            yield chance.choices(self._among, self._asked["rates"])[0]
        elif arm == "random":
            yield chance.choice(self._among)
        elif arm == "free":
            yield max(self._among, key=lambda directory: os.statvfs(directory).f_bavail)
        elif arm == "service":
            with ses.api.place(on=places_service.NAME) as given:
                yield given.directory
        else:
            with self._places.place() as placement:
                yield placement.directory

    def run(self, jobs: Sequence[Sequence[Sequence[float]]], name: str) -> list[tuple[int, float, float]]:
        """Run jobs, so many at a time; return of each its directory, when it was given that, and its end."""
        begin = time.monotonic()

        def run(number: int) -> tuple[int, float, float]:
            words = [str(word) for part in jobs[number] for word in part]
            with self._chosen(f"{name}{number}") as directory:
                start = time.monotonic()
                subprocess.run(["sh", "-c", _JOB, "job", f"{directory}/{name}{number}", *words], check=True)
                return self._among.index(directory), start - begin, time.monotonic() - begin

        with ThreadPoolExecutor(self._asked["slots"]) as pool:
            return list(pool.map(run, range(len(jobs))))


def main() -> None:
    """Make the directories, run what comes before, and what is measured."""
    asked = user_mode.argument()
    batches = Batches(asked, directories(asked["rates"], asked["capacity"], asked["remote"]))
    batches.run(asked["before"], "before")
    user_mode.answer(batches.run(asked["jobs"], "job"))


if __name__ == "__main__":
    main()
