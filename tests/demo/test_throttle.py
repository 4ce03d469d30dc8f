"""Speed limits, against files that look like the kernel's control groups."""

import os
import shutil
from pathlib import Path

import pytest
from ses.demo.faults import DemoError
from ses.demo.throttle import BlkioThrottle, IoMaxThrottle, find_throttle


@pytest.fixture
def blkio(tmp_path):
    root = tmp_path / "blkio"
    root.mkdir()
    for direction in ("read", "write"):
        (root / f"blkio.throttle.{direction}_bps_device").write_text("")
    return root


@pytest.fixture
def unified(tmp_path):
    root = tmp_path / "unified"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu io memory\n")
    (root / "cgroup.subtree_control").write_text("")
    (root / "cgroup.procs").write_text("")
    return root


def mounts(tmp_path, *lines):
    path = tmp_path / "mounts"
    path.write_text("proc /proc proc rw 0 0\n" + "".join(f"{line}\n" for line in lines))
    return path


def test_cgroup_v1_is_used_at_the_root_group(tmp_path, blkio):
    table = mounts(tmp_path, f"cgroup {blkio} cgroup rw,relatime,blkio 0 0")
    assert find_throttle("demo", table) == BlkioThrottle(blkio)


def test_a_v1_rule_is_one_line_per_direction_and_taken_away_by_rate_0(blkio):
    throttle = BlkioThrottle(blkio)
    throttle.limit("7:3", 40_000_000, 30_000_000)
    assert (blkio / "blkio.throttle.read_bps_device").read_text() == "7:3 40000000\n"
    assert (blkio / "blkio.throttle.write_bps_device").read_text() == "7:3 30000000\n"
    throttle.release("7:3")
    assert (blkio / "blkio.throttle.write_bps_device").read_text() == "7:3 0\n"


def test_a_device_without_a_rule_is_left_alone(blkio):
    BlkioThrottle(blkio).release("7:3")
    assert (blkio / "blkio.throttle.read_bps_device").read_text() == ""


def test_a_rule_the_kernel_does_not_keep_is_a_fault(blkio, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *_: "")
    with pytest.raises(DemoError, match="did not keep"):
        BlkioThrottle(blkio).limit("7:3", 1, 1)


def test_cgroup_v2_limits_a_group_of_its_own_which_we_join_and_leave(tmp_path, unified, monkeypatch):
    # the real file system lets a group be removed with its files, as they are the kernel's own
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    table = mounts(tmp_path, f"cgroup2 {unified} cgroup2 rw 0 0")
    throttle = find_throttle("qstorman-demo-x", table)
    assert isinstance(throttle, IoMaxThrottle)
    group = unified / "qstorman-demo-x"
    assert (unified / "cgroup.subtree_control").read_text() == "+io\n"
    assert (group / "cgroup.procs").read_text() == f"{os.getpid()}\n"
    throttle.limit("7:3", 40_000_000, 30_000_000)
    assert (group / "io.max").read_text() == "7:3 rbps=40000000 wbps=30000000\n"
    throttle.release("7:3")
    assert (group / "io.max").read_text() == "7:3 rbps=max wbps=max\n"
    back = IoMaxThrottle(group, unified)
    back.close()
    assert (unified / "cgroup.procs").read_text() == f"{os.getpid()}\n"
    assert not group.exists()
    back.close()


def test_a_machine_without_either_says_so(tmp_path, unified):
    (unified / "cgroup.controllers").write_text("cpu memory\n")
    table = mounts(tmp_path, f"cgroup2 {unified} cgroup2 rw 0 0")
    with pytest.raises(DemoError, match="no control group here"):
        find_throttle("demo", table)
