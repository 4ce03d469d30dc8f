"""Where one disk or one union hangs or is away, the others are seen."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from mounts import served, stopped
from ran import ran
from smed_monitor.collectors.local import HANGS, LocalCollector
from smed_monitor.collectors.mergerfs import Mergerfs
from smed_monitor.collectors.statvfs import Statvfs
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ElementMissingError

pytestmark = pytest.mark.root


class Watched:
    """What a collector sees of paths, looked at again and again."""

    def __init__(self, collector: LocalCollector, *paths: Path) -> None:
        called = type(collector).__name__.lower()
        target = Target(name="here", collector=called, paths=tuple(map(str, paths)), timeout_seconds=2)
        self._collector, self._source = collector, collector.open(target)

    def read(self, *paths: Path) -> list[str]:
        """What is wrong with each path, nothing where its space is seen."""
        sample = self._collector.parse(self._source.read().body)
        return [self._why_not(sample, path) for path in paths]

    def _why_not(self, sample: object, path: Path) -> str:
        element = ElementSettings(id="u/x", target="here", mount_point=str(path))
        try:
            return "" if self._collector.reading(sample, element).size_bytes else "no size"  # type: ignore[arg-type]
        except ElementMissingError as error:
            return str(error)


@pytest.fixture
def fine(tmp_path: Path) -> Path:
    (path := tmp_path / "fine").mkdir()
    return path


@pytest.fixture
def union(tmp_path: Path, fine: Path) -> Iterator[Path]:
    """A union that is mounted as we advise, of a disk that is fine."""
    (mount := tmp_path / "union").mkdir()
    ran(["mergerfs", "-o", "allow_other,func.getattr=newest,cache.attr=0", fine, mount])
    try:
        yield mount
    finally:
        ran(["umount", "-l", mount])


def test_the_other_branches_of_a_union_are_seen_while_a_disk_hangs(
    tmp_path: Path, fine: Path, union: Path
) -> None:
    hung = tmp_path / "hung"
    with served(hung, tmp_path / "disk") as server:
        os.setxattr(union / ".mergerfs", "user.mergerfs.branches", f"{fine}:{hung}".encode())
        watched = Watched(Mergerfs(), union)
        assert watched.read(fine, hung) == ["", ""]
        with stopped(server):
            for _ in range(2):
                assert watched.read(fine, hung) == ["", f"{hung}: {HANGS}"]
        os.setxattr(union / ".mergerfs", "user.mergerfs.branches", str(fine).encode())


def test_the_other_file_systems_are_seen_while_one_hangs(tmp_path: Path, fine: Path) -> None:
    with served(tmp_path / "hung", tmp_path / "disk") as server, stopped(server):
        assert Watched(Statvfs(), fine, tmp_path / "hung").read(fine) == [""]


def test_the_other_unions_of_a_target_are_seen_while_one_is_not_mounted(
    tmp_path: Path, fine: Path, union: Path
) -> None:
    second, disk = tmp_path / "second", tmp_path / "disk"
    watched = Watched(Mergerfs(), union, second)
    with served(second, disk):
        assert watched.read(fine, disk) == ["", ""]
    assert watched.read(fine) == [""]
    (why,) = watched.read(disk)
    assert f"{second} is not the mount point of a mergerfs union" in why


def test_a_branch_of_two_unions_takes_files_if_one_may_create_there(
    tmp_path: Path, fine: Path, union: Path
) -> None:
    """As below a cache: in the slow pool beside it all disks are NC."""
    with served(tmp_path / "slow", fine):
        os.setxattr(tmp_path / "slow/.mergerfs", "user.mergerfs.branches", f"{fine}=NC".encode())
        for paths in ((union, tmp_path / "slow"), (tmp_path / "slow", union)):
            source = Mergerfs().open(Target(name="u", collector="mergerfs", paths=tuple(map(str, paths))))
            assert json.loads(source.read().body)[str(fine)]["mode"] == "RW"
        only = Target(name="u", collector="mergerfs", paths=(str(tmp_path / "slow"),))
        assert json.loads(Mergerfs().open(only).read().body)[str(fine)]["mode"] == "NC"
