"""Plain directories: space, inodes and load of each, whatever file system it is on and whatever hangs."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from mounts import served, small_disk, stopped
from ses_client.mounts import parse_mounts
from smed_monitor.collectors.base import Source
from smed_monitor.collectors.directories import Directories
from smed_monitor.collectors.local import HANGS
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import ElementMissingError
from smed_monitor.core.model import Reading

COLLECTOR = Directories()
FIXTURES, MOUNTINFO = Path(__file__).parent / "fixtures", Path("/proc/self/mountinfo")


def source(*paths: Path, root: Path = Path("/"), seconds: float = 10) -> Source:
    target = Target(
        name="here", collector="directories", paths=tuple(map(str, paths)), root=str(root),
        timeout_seconds=seconds,
    )  # fmt: skip
    return COLLECTOR.open(target)


def seen(body: bytes, path: Path) -> Reading:
    element = ElementSettings(id="scratch/x", target="here", mount_point=str(path))
    return COLLECTOR.reading(COLLECTOR.parse(body), element)


def test_each_has_its_space_and_one_without_inodes_takes_nothing(tmp_path: Path) -> None:
    (below := tmp_path / "below").mkdir()
    gone = tmp_path / "gone"
    with small_disk(tmp_path / "disk", 8) as disk:
        subprocess.run(["mount", "-o", "remount,nr_inodes=1", disk], check=True)
        body = source(tmp_path, below, disk, gone).read().body
    here, same, full = (seen(body, path) for path in (tmp_path, below, disk))
    assert (here.size_bytes, here.device) == (same.size_bytes, same.device)
    assert (full.size_bytes, full.no_create, here.no_create) == (8 * 2**20, True, False)
    assert full.read_bytes is None
    assert "lies on no block device" in full.note
    with pytest.raises(ElementMissingError, match="No such file"):
        seen(body, gone)
    assert list(COLLECTOR.names(COLLECTOR.parse(body))) == [str(tmp_path), str(below), str(disk)]


def test_a_partition_has_the_load_of_its_whole_disk(tmp_path: Path) -> None:
    root, number = tmp_path / "root", tmp_path.stat().st_dev
    (disk := root / "sys/devices/sda").mkdir(parents=True)
    (part := disk / "sda1").mkdir()
    (part / "partition").write_text("1\n")
    (part / "stat").write_text("9 " * 17)
    (disk / "dev").write_text("8:0\n")
    (disk / "stat").write_text("1 0 16 40 2 0 24 60 3 20 30 0 0 0 0 0 0\n")
    (blocks := root / "sys/dev/block").mkdir(parents=True)
    blocks.joinpath("8:0").symlink_to(disk)
    blocks.joinpath("8:1").symlink_to(part)
    (root / "proc/self").mkdir(parents=True)
    mounts = Path("/proc/self/mountinfo").read_text()
    own = f" {os.major(number)}:{os.minor(number)} "
    (root / "proc/self/mountinfo").write_text(mounts.replace(own, " 8:1 "))
    sample = seen(source(tmp_path, root=root).read().body, tmp_path)
    assert (sample.device, sample.read_bytes, sample.written_bytes) == ("8:0", 16 * 512, 24 * 512)
    assert (sample.operations, sample.busy_seconds, sample.request_seconds) == (3, 0.1, 0.03)


def test_a_mount_that_hangs_is_unknown_by_itself_and_within_its_time(tmp_path: Path) -> None:
    (fine := tmp_path / "fine").mkdir()
    with served(tmp_path / "hung", tmp_path / "branch") as server:
        asked = source(fine, tmp_path / "hung", seconds=1)
        assert seen(asked.read().body, tmp_path / "hung").size_bytes
        with stopped(server):
            began = time.monotonic()
            body = asked.read().body
            assert time.monotonic() - began < 2
            assert seen(body, fine).size_bytes
            with pytest.raises(ElementMissingError, match=HANGS.replace("?", r"\?")):
                seen(body, tmp_path / "hung")
            began = time.monotonic()
            seen(asked.read().body, fine)
            assert time.monotonic() - began < 1, "what hung is waited for once"
        for _ in range(500):  # the thread that hung ends when its mount answers
            if list(COLLECTOR.names(COLLECTOR.parse(asked.read().body))) == [
                str(fine),
                str(tmp_path / "hung"),
            ]:
                break
            time.sleep(0.02)
        else:
            pytest.fail("a mount that answers again is not seen again")


def test_an_nfs_mount_has_the_load_of_its_server_once(tmp_path: Path) -> None:
    """Two exports that are one file system of their server, after 20 MiB were written to one of them."""
    with small_disk(tmp_path / "home", 8) as home:
        number = next(
            mount.number for mount in parse_mounts(MOUNTINFO.read_bytes()) if mount.point == str(home)
        )
        proc = tmp_path / "root/proc/self"
        proc.mkdir(parents=True)
        (proc / "mountstats").write_bytes((FIXTURES / "linux-6.1-mountstats.txt").read_bytes())
        (proc / "mountinfo").write_text(
            f"{number} 25 0:23 / /mnt/home rw - nfs4 10.0.2.2:/home rw\n"
            "28 25 0:23 / /mnt/scratch rw - nfs4 10.0.2.2:/scratch rw\n"
        )
        sample = seen(source(home, root=tmp_path / "root").read().body, home)
        with (proc / "mountinfo").open("a") as mounts:
            mounts.write("30 25 0:29 / /mnt/old rw - nfs4 10.0.2.2:/old rw\n")
        of_both = seen(source(home, root=tmp_path / "root").read().body, home)
    assert (sample.device, sample.read_bytes, sample.written_bytes) == ("nfs 10.0.2.2", 0, 20 << 20)
    assert of_both.device == "nfs 10.0.2.2 (0:23, 0:29)", "when one is unmounted, the sum cannot be compared"
    assert (sample.operations, sample.busy_seconds, sample.request_seconds) == (21, 0.315, 17.748)
    assert (sample.size_bytes, sample.note) == (8 << 20, "")
