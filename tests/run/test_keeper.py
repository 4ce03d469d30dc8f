"""When guardian and worker are killed together, one keeper takes over, however many there are."""

from __future__ import annotations

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
class TwoKeepers:
    """What a guardian leaves that is killed as it starts a keeper, and a program that waits for a line."""

    union: Union
    marks: Path
    spare: int
    last: int

    def watching(self) -> set[int]:
        return {int(mark.name.removeprefix("watches-")) for mark in self.marks.glob("watches-*")}

    def kill_the_others(self) -> None:
        """Worker and guardian, so that neither sees the other die."""
        there = by_role(self.union)
        (worker,), (guardian,) = there["worker"], there["guardian"]
        for pid in (worker, guardian):
            os.kill(pid, signal.SIGSTOP)
        for pid in (worker, guardian):
            wait_until(lambda pid=pid: has_stopped(pid), f"{pid} does not stop")
        for pid in (worker, guardian):
            os.kill(pid, signal.SIGKILL)
        for pid in (worker, guardian):
            wait_until_gone(pid)

    def took_over(self, keeper: int) -> bool:
        """Whether it has, once it has, or has ended."""
        wait_until(
            lambda: supervisors(self.union).get(keeper) == "successor" or is_gone(keeper),
            f"keeper {keeper} goes on",
        )
        return not is_gone(keeper)


@pytest.fixture
def two_keepers(union: Union, ses_run: Path, programs: Programs, tmp_path: Path) -> Iterator[TwoKeepers]:
    marks = tmp_path / "keepers"
    marks.mkdir()
    command = [
        with_preloaded(ses_run, programs.build("preloaded", "late_keeper.c"), tmp_path / "run"),
        *("--supervise", "/bin/sh", "-c", 'read x; exec busybox touch "$0"', union.path / "file"),
    ]
    with subprocess.Popen(
        [str(part) for part in command],
        env=union.environment(library=False, KEEPERS=str(marks)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until((marks / "held").exists, "no keeper has started")
        there = wait_for_all(union)
        (guardian,), (last,) = there["guardian"], there["keeper"]
        os.kill(guardian, signal.SIGKILL)
        wait_until(lambda: any(marks.glob("watches-*")), "no second keeper has started")
        (spare,) = (int(mark.name.removeprefix("watches-")) for mark in marks.glob("watches-*"))
        (marks / "let-go").touch()
        wait_until((marks / f"watches-{last}").exists, "the first keeper has not begun")
        try:
            yield TwoKeepers(union, marks, spare, last)
        finally:
            _, err = process.communicate("go\n", timeout=MAX_SECONDS)
    wait_for_end(union)
    assert (process.returncode, err) == (0, "")
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_the_spare_one_takes_over_when_the_last_is_dead(two_keepers: TwoKeepers) -> None:
    os.kill(two_keepers.last, signal.SIGKILL)
    wait_until_gone(two_keepers.last)
    two_keepers.kill_the_others()
    assert two_keepers.took_over(two_keepers.spare)


def test_one_of_two_takes_over_and_the_other_ends(two_keepers: TwoKeepers) -> None:
    """Two guardians would answer each other's calls."""
    two_keepers.kill_the_others()
    took = [two_keepers.took_over(keeper) for keeper in (two_keepers.spare, two_keepers.last)]
    assert sorted(took) == [False, True]


def test_one_that_is_slow_to_see_it_ends(two_keepers: TwoKeepers) -> None:
    """The other has taken over by then, and its guardian has started a keeper of its own."""
    (two_keepers.marks / "slow").touch()
    two_keepers.kill_the_others()
    assert two_keepers.took_over(two_keepers.last)
    wait_until(lambda: len(two_keepers.watching()) == 3, "the guardian has no keeper")
    (two_keepers.marks / "awake").touch()
    assert not two_keepers.took_over(two_keepers.spare)
