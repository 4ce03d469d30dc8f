"""Callers and jobs are killed at random: a claim lives exactly as long as its job."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from ses.place import placing

CALLER = """
import sys, time, pathlib
from ses.place import placing
from ses.place.claims import holder
from ses_client.errors import UsageError

for job in map(str.strip, sys.stdin):
    try:
        request = placing.request_of(sys.argv[2:], holder(f"pid:{job}", time.time()), size=1000)
    except UsageError:  # the job has ended
        continue
    sys.stdout.write(f"{job} {placing.place(request, pathlib.Path(sys.argv[1])).claim.id}\\n")  # at once
    sys.stdout.flush()
"""
CALLERS = 4


class Caller:
    """A process that claims for one job after the other until it is killed, in the middle of anything."""

    def __init__(self, ledger: Path, among: list[Path]) -> None:
        command = [sys.executable, "-c", CALLER, str(ledger), *map(str, among)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def claim_for(self, job: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()

    def end(self, *, kill: bool) -> dict[int, int]:
        """Kill it, or have it do what is left; return which claim it said that each job has."""
        if kill:
            self.process.kill()
        said, wrong = self.process.communicate(timeout=120)
        assert self.process.returncode in (0, -signal.SIGKILL), wrong
        return {int(job): int(claim) for job, claim in map(str.split, said.splitlines())}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("jobs", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_no_claim_that_lives_is_lost_and_none_lives_on(
    disks: Callable[..., list[Path]], tmp_path: Path, jobs: int
) -> None:
    chance, among, ledger = Random(40), disks(16, 16, 16), tmp_path / "ledger"
    running: dict[int, subprocess.Popen[bytes]] = {}
    claimed: dict[int, int] = {}
    killed = 0
    callers = [Caller(ledger, among) for _ in range(CALLERS)]
    try:
        for _ in range(jobs):
            job = subprocess.Popen(["sleep", "3600"])
            running[job.pid] = job
            chance.choice(callers).claim_for(job.pid)
            if chance.random() < 0.1:
                number = chance.randrange(CALLERS)
                time.sleep(chance.random() * 0.01)
                claimed |= callers[number].end(kill=True)
                callers[number] = Caller(ledger, among)
                killed += 1
            while len(running) > 40 or chance.random() < 0.3:
                if not running:
                    break
                finished = running.pop(chance.choice(list(running)))
                finished.kill()
                finished.wait()
        for caller in callers:
            claimed |= caller.end(kill=False)
        assert killed > jobs // 30
        assert len(claimed) > jobs // 4
        living = {claim.pid: claim.id for claim in placing.claims_on((), ledger)}
        assert living.keys() <= running.keys(), "none lives on"
        promised = {job: claim for job, claim in claimed.items() if job in running}
        assert promised
        assert promised.items() <= living.items(), "none that lives is lost"
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    assert placing.claims_on((), ledger) == []
    with closing(sqlite3.connect(ledger)) as whole:
        assert whole.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
