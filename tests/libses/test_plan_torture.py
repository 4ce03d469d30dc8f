"""Many programs and threads at one plan, while it is filled and read, and programs are killed."""

import random
import signal
import subprocess
import time
from collections import Counter

import pytest
from mergerfs_union import Union
from plan_double import (
    CREATED,
    ENTRIES_AT,
    REPORT_SIZE,
    REPORTS_AT,
    TAKEN_IN_ENTRY,
    PlanDouble,
    PlanReport,
)

PROGRAMS = 6
ENOUGH = 600  # reports, after which the programs end; those that are killed are killed before
THREADED = """
import itertools, os, sys, threading
def work(k):
    for n in itertools.takewhile(lambda _: not os.path.exists(sys.argv[1]), itertools.count()):
        os.close(os.open(f"{os.getpid()}-{k}-{n}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


class Agent:
    """Fills tickets and reads reports in small steps, as one thread of a real agent would."""

    def __init__(self, union: Union, plan: PlanDouble) -> None:
        self.plan = plan
        self.places = []
        for branch in range(3):
            stage, through = union.agent.stages(branch, 0)
            place = plan.element(f"union/b{branch + 1}", stage=str(stage), stage_in_union=str(through))
            self.places.append(place)
        self.dealt = 0
        self.read: list[PlanReport] = []

    def step(self, chance: random.Random) -> None:
        for _ in range(chance.randrange(40)):
            if self.plan.stock(0) >= 60:
                break
            self.dealt += 1
            self.plan.ticket(0, self.dealt, self.places[self.dealt % 3])
        for report in self.plan.reports():
            self.read.append(report)
            slot = report.number % 4096
            self.plan.put64(REPORTS_AT + slot * REPORT_SIZE, 0)


@pytest.mark.parametrize("kill", [False, True])
def test_every_ticket_is_taken_once_and_every_create_is_reported(union: Union, kill: bool) -> None:
    plan = PlanDouble(union.socket)
    try:
        plan.entry(0, union.path.stat().st_dev)
        agent = Agent(union, plan)
        chance = random.Random(7)
        end = union.path.parent / "end"
        command = ["/usr/bin/python3", "-I", "-S", "-c", THREADED, str(end)]
        environment = union.environment(SES_SYNC_MS="0")
        running = [
            subprocess.Popen(command, env=environment, cwd=union.path, stderr=subprocess.PIPE, text=True)
            for _ in range(PROGRAMS)
        ]
        deadline = time.monotonic() + 120
        killed, to_kill = 0, PROGRAMS // 2 if kill else 0
        while any(program.poll() is None for program in running):
            assert time.monotonic() < deadline, "a program did not end"
            agent.step(chance)
            if killed < to_kill and len(agent.read) > 100 * (killed + 1):
                running[killed].send_signal(signal.SIGKILL)
                killed += 1
            if len(agent.read) > ENOUGH and killed == to_kill:
                end.touch()
        agent.step(chance)
        for number, program in enumerate(running):
            _, said = program.communicate(timeout=30)
            assert program.returncode == (-9 if number < killed else 0), said
            assert said == ""
        taken = plan.get64(ENTRIES_AT + TAKEN_IN_ENTRY)
        unfinished = sum(state % 2 for state in plan.slots())
    finally:
        plan.close()

    assert Counter(report.placement_id for report in agent.read).most_common(1)[0][1] == 1
    assert all(1 <= report.placement_id <= agent.dealt for report in agent.read)
    assert {report.outcome for report in agent.read} == {CREATED}
    files = {entry.stat().st_ino: entry.name for entry in union.path.iterdir() if entry.name != ".ses"}
    for report in agent.read:
        assert files[report.inode] == report.path
        assert union.copies(union.path / report.path) == [report.placement_id % 3]
        assert report.path.split("-")[0] == str(report.pid)
    assert len(agent.read) > ENOUGH
    assert len(agent.read) <= taken <= len(agent.read) + unfinished
    assert kill or unfinished == 0
