"""Many programs and threads at one table, while it is counted and changed, and programs are killed."""

import random
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from fake_table import CREATED, Claim, FakeClaims, FakeTable, table_of
from mergerfs_union import Union
from patience import wait_until

PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]

# Arguments: a directory whose file "go" starts all, processes, threads of each.  A file by each process, that
# then has the segments attached (meanwhile its other threads would ask the agent), and one by each thread.
AT_ONCE = """
import os, sys, threading, time
directory, processes, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
together = threading.Barrier(threads)
def work(k):
    name = f"{os.getpid()}-{k}"
    together.wait()
    while not os.path.exists(f"{directory}/go"):
        pass
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
children = []
for _ in range(processes):
    child = os.fork()
    if child == 0:
        os.close(os.open(str(os.getpid()), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        all_ = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
        [t.start() for t in all_]
        [t.join() for t in all_]
        os._exit(0)
    children.append(child)
open(f"{directory}/go", "w").close()
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


@pytest.mark.parametrize(("processes", "threads"), [(64, 1), (1, 64), (8, 8)])
def test_creators_at_the_same_moment_spread_evenly(
    make_union: Callable[..., Union], processes: int, threads: int
) -> None:
    """No agent has counted anything: what they know of each other is what they claimed."""
    union = make_union(8)
    table = table_of(union)
    try:
        union.run(*PYTHON, AT_ONCE, union.path.parent, str(processes), str(threads))
        assert union.agent.asks == []
        claims = table.users[0].claims()
        assert len({claim.number for claim in claims}) == 64 + processes
        claimed = table.users[0].claimed()[:8]
        assert max(claimed) - min(claimed) <= 1
        assert Counter(claim.rows for claim in claims) == {(row,): claimed[row] for row in range(8)}
    finally:
        table.close()


PROGRAMS = 6
ENOUGH = 600  # claims, after which the programs end; those that are killed are killed before
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
    """Counts claims, reads them and changes the table in small steps, as a real agent would."""

    def __init__(self, table: FakeTable, claims: FakeClaims) -> None:
        self.table, self.claims = table, claims
        self.read: list[Claim] = []

    def step(self, chance: random.Random) -> None:
        self.table.count(self.claims)
        if chance.random() < 0.3:
            with self.table.change():
                self.table.elements()["others"][:3] = [chance.randrange(3) for _ in range(3)]
                self.table.elements()["own"][:3] = 0
        self.read += self.claims.take()


@pytest.fixture
def table(union: Union) -> Iterator[FakeTable]:
    table = table_of(union)
    yield table
    table.close()


@pytest.mark.parametrize("kill", [False, True])
def test_every_create_is_claimed_and_told_once(union: Union, table: FakeTable, kill: bool) -> None:
    claims = table.users[0]
    agent = Agent(table, claims)
    chance = random.Random(7)
    end = union.path.parent / "end"
    command = [*PYTHON, THREADED, str(end)]
    environment = union.environment(SES_SYNC_MS="0")
    running = [
        subprocess.Popen(command, env=environment, cwd=union.path, stderr=subprocess.PIPE, text=True)
        for _ in range(PROGRAMS)
    ]
    killed, to_kill = 0, PROGRAMS // 2 if kill else 0

    def have_ended() -> bool:
        nonlocal killed
        agent.step(chance)
        if killed < to_kill and len(agent.read) > 100 * (killed + 1):
            running[killed].send_signal(signal.SIGKILL)
            killed += 1
        if len(agent.read) > ENOUGH and killed == to_kill:
            end.touch()
        return all(program.poll() is not None for program in running)

    wait_until(have_ended, "all programs end", every=0)
    agent.step(chance)
    for number, program in enumerate(running):
        _, said = program.communicate(timeout=60)
        assert program.returncode == (-9 if number < killed else 0), said
        assert said == ""
    unfinished = sum(state % 2 for state in claims.states())

    assert Counter(claim.number for claim in agent.read).most_common(1)[0][1] == 1
    assert {claim.outcome for claim in agent.read} == {CREATED}
    files = {entry.stat().st_ino: entry.name for entry in union.path.iterdir() if entry.name != ".ses"}
    for claim in agent.read:
        assert files[claim.inode] == claim.path
        assert union.copies(union.path / claim.path) == list(claim.rows)
        assert claim.path.split("-")[0] == str(claim.pid)
    assert len(agent.read) > ENOUGH
    assert len(agent.read) <= claims.total() <= len(agent.read) + unfinished
    assert kill or unfinished == 0
