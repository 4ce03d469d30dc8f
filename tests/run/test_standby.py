"""When watchdog and worker are killed together, one standby takes over, however many there are."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_agent import CREATED
from mergerfs_union import Union
from patience import wait_until
from preloaded_supervisor import with_preloaded
from program_ways import Programs
from supervisors import (
    MAX_SECONDS,
    by_role,
    has_stopped,
    is_gone,
    supervisors,
    wait_for_all,
    wait_for_end,
    wait_until_gone,
)


@dataclass
class TwoStandbys:
    """What a watchdog leaves that is killed as it starts a standby, and a program that waits for a line."""

    union: Union
    marks: Path
    spare: int
    last: int

    def watching(self) -> set[int]:
        return {int(mark.name.removeprefix("watches-")) for mark in self.marks.glob("watches-*")}

    def kill_the_others(self) -> None:
        """Worker and watchdog, so that neither sees the other die."""
        there = by_role(self.union)
        (worker,), (watchdog,) = there["worker"], there["watchdog"]
        for pid in (worker, watchdog):
            os.kill(pid, signal.SIGSTOP)
        for pid in (worker, watchdog):
            wait_until(lambda pid=pid: has_stopped(pid), f"{pid} does not stop")
        for pid in (worker, watchdog):
            os.kill(pid, signal.SIGKILL)
        for pid in (worker, watchdog):
            wait_until_gone(pid)

    def took_over(self, standby: int) -> bool:
        """Whether it has, once it has, or has ended."""
        wait_until(
            lambda: supervisors(self.union).get(standby) == "successor" or is_gone(standby),
            f"standby {standby} goes on",
        )
        return not is_gone(standby)


@pytest.fixture
def two_standbys(union: Union, ses_run: Path, programs: Programs, tmp_path: Path) -> Iterator[TwoStandbys]:
    marks = tmp_path / "standbys"
    marks.mkdir()
    command = [
        with_preloaded(ses_run, programs.build("preloaded", "late_standby.c"), tmp_path / "run"),
        *("--supervise", "/bin/sh", "-c", 'read x; exec busybox touch "$0"', union.path / "file"),
    ]
    with subprocess.Popen(
        [str(part) for part in command],
        env=union.environment(library=False, STANDBYS=str(marks)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until((marks / "held").exists, "no standby has started")
        there = wait_for_all(union)
        (watchdog,), (last,) = there["watchdog"], there["standby"]
        os.kill(watchdog, signal.SIGKILL)
        wait_until(lambda: any(marks.glob("watches-*")), "no second standby has started")
        (spare,) = (int(mark.name.removeprefix("watches-")) for mark in marks.glob("watches-*"))
        (marks / "let-go").touch()
        wait_until((marks / f"watches-{last}").exists, "the first standby has not begun")
        try:
            yield TwoStandbys(union, marks, spare, last)
        finally:
            _, err = process.communicate("go\n", timeout=MAX_SECONDS)
    wait_for_end(union)
    assert (process.returncode, err) == (0, "")
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_the_spare_one_takes_over_when_the_last_is_dead(two_standbys: TwoStandbys) -> None:
    os.kill(two_standbys.last, signal.SIGKILL)
    wait_until_gone(two_standbys.last)
    two_standbys.kill_the_others()
    assert two_standbys.took_over(two_standbys.spare)


def test_one_of_two_takes_over_and_the_other_ends(two_standbys: TwoStandbys) -> None:
    """Two watchdogs would answer each other's calls."""
    two_standbys.kill_the_others()
    took = [two_standbys.took_over(standby) for standby in (two_standbys.spare, two_standbys.last)]
    assert sorted(took) == [False, True]


def test_one_that_is_slow_to_see_it_ends(two_standbys: TwoStandbys) -> None:
    """The other has taken over by then, and its watchdog has started a standby of its own."""
    (two_standbys.marks / "slow").touch()
    two_standbys.kill_the_others()
    assert two_standbys.took_over(two_standbys.last)
    wait_until(lambda: len(two_standbys.watching()) == 3, "the watchdog has no standby")
    (two_standbys.marks / "awake").touch()
    assert not two_standbys.took_over(two_standbys.spare)
