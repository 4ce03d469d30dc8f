"""The storage of the demonstration: what stands, and that nothing of it stays, however it ends."""

import os
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from ses.demo.branches import MEGABYTE, BranchPlan, device_number
from ses.demo.faults import DemoError, StoppedError
from ses.demo.interrupts import Interrupts
from ses.demo.mounts import mount_type
from ses.demo.storage import set_up

pytestmark = pytest.mark.root

PLANS = (BranchPlan("b1", 100, 50, free=20, capacity=40), BranchPlan("b2", 40, 20, free=99, capacity=40))
STEPS = 4  # two branches, their limits, the union


@pytest.fixture
def work(traces):
    path = traces.base / f"{traces.base.name}-demo"  # no other run has that name in /dev/shm
    path.mkdir()
    yield path
    assert traces.mounts() == []
    assert traces.loops(Path("/dev/shm") / path.name) == []
    assert traces.loops(path) == []
    assert traces.rules_of_detached_devices() == []
    assert not (Path("/dev/shm") / path.name).exists()
    shutil.rmtree(path)


def ignore(_):
    """Progress nobody looks at."""


def test_branches_stand_as_planned_under_one_union(work):
    with ExitStack() as undo:
        storage = set_up(work, undo, ignore, PLANS)
        assert mount_type(storage.union) == "fuse.mergerfs"
        for branch in storage.branches:
            if branch.device is None:
                pytest.skip(f"no loop devices here: {storage.notes}")
            assert mount_type(branch.directory) == "ext4"
            state = os.statvfs(branch.directory)
            assert state.f_blocks * state.f_frsize <= branch.plan.capacity * MEGABYTE
        full = os.statvfs(work / "b1")
        assert full.f_bavail * full.f_frsize == pytest.approx(20 * MEGABYTE, abs=MEGABYTE)
        if storage.throttled:
            rules = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
            if rules.exists():
                assert (
                    f"{device_number(storage.branches[0].device)} 50000000" in rules.read_text().splitlines()
                )
        (storage.union / "file").write_text("x")
        where = storage.branch_of(os.getxattr(storage.union / "file", "user.mergerfs.basepath").decode())
        assert (work / where / "file").read_text() == "x"


def stopped_at(work, interrupts, stage, number):
    """Set up, get a signal at one of the steps, undo; returns the steps that were begun."""
    seen = []

    def progress(text):
        seen.append(text)
        if len(seen) == stage + 1:
            os.kill(os.getpid(), number)
        interrupts.check()

    try:
        with interrupts.undoing(lambda _: None) as undo:
            undo.callback(os.kill, os.getpid(), number)  # somebody is impatient
            set_up(work, undo, progress, PLANS)
    except StoppedError:
        return seen
    return []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", range(STEPS))
def test_a_signal_at_any_stage_undoes_what_stood_and_a_second_one_does_not_stop_that(work, stage, number):
    with Interrupts() as interrupts:
        assert len(stopped_at(work, interrupts, stage, number)) == stage + 1


def failing(tmp_path, monkeypatch, name):
    """Put a tool that fails in front of the real one."""
    script = tmp_path / name
    script.write_text(f"#!/bin/sh\necho '{name}: not permitted here' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.parametrize("name", ["losetup", "mkfs.ext4", "mount"])
def test_without_loop_devices_there_are_plain_directories_and_it_is_said(work, tmp_path, monkeypatch, name):
    failing(tmp_path, monkeypatch, name)
    with ExitStack() as undo:
        storage = set_up(work, undo, ignore, PLANS)
        assert [branch.device for branch in storage.branches] == [None, None]
        assert not storage.throttled
        assert any("plain directories" in note and "not permitted here" in note for note in storage.notes)
        assert mount_type(storage.union) == "fuse.mergerfs"


def test_without_limits_it_is_said(work, monkeypatch):
    def none(_):
        raise DemoError("no control group here")

    monkeypatch.setattr("ses.demo.storage.find_throttle", none)
    with ExitStack() as undo:
        storage = set_up(work, undo, ignore, PLANS)
        assert not storage.throttled
        assert any("not limited" in note or "plain directories" in note for note in storage.notes)


def test_a_union_that_cannot_be_mounted_is_a_fault_and_undoes_the_rest(work, tmp_path, monkeypatch):
    failing(tmp_path, monkeypatch, "mergerfs")
    with pytest.raises(DemoError, match="mergerfs: not permitted here"), ExitStack() as undo:
        set_up(work, undo, ignore, PLANS)
