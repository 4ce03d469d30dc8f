"""Files of tests are divided as tests/distribution.py says, and each is run once."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from distribution import LONG, TESTS, WAITING, Distribution, mostly_waits

SLOW = [name for name in WAITING if name.endswith(".py")]
BUSY = ("libses/test_log.py", "service/test_edge.py", "portal/test_story.py", "copy/test_copy.py")


class Worker:
    """Notes what it is told to run."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.to_run: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.to_run.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


def run(
    monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], order: tuple[int, ...]
) -> dict[int, list[str]]:
    """Run three tests of each file by three workers, which end one each in this order, again and again;
    returns the files by who ran them."""
    monkeypatch.setattr("xdist.scheduler.loadscope.parse_tx_spec_config", lambda _: [0, 1, 2])
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False))
    distribution = Distribution(config)
    workers: list[Any] = [Worker(number) for number in range(3)]
    tests = [f"tests/{file}::test_{number}" for file in files for number in range(3)]
    for worker in workers:
        distribution.add_node(worker)
        distribution.add_node_collection(worker, tests)
    distribution.schedule()
    ran: dict[int, list[str]] = {number: [] for number in range(3)}
    while any(worker.to_run for worker in workers):
        for number in order:
            if workers[number].to_run:
                done = workers[number].to_run.pop(0)
                ran[number].append(tests[done])
                distribution.mark_test_complete(workers[number], done)
    assert all(worker.shutting_down for worker in workers)
    assert Counter(test for each in ran.values() for test in each) == Counter(tests)
    return {
        number: [*dict.fromkeys(test.split("::")[0][6:] for test in each)] for number, each in ran.items()
    }


def test_files_that_are_named_exist_and_are_named_once() -> None:
    named = (*LONG, *WAITING)
    assert len(named) > 10
    assert [name for name in named if not (TESTS / name).exists()] == []
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (2, 2, 2, 2, 2, 2, 0, 1)])
def test_the_last_of_three_workers_runs_only_files_that_wait(
    monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]
) -> None:
    ran = run(monkeypatch, (*BUSY, *SLOW[:2], "slurm/test_job.py"), order)
    assert ran[2]
    assert all(map(mostly_waits, ran[2]))


def test_the_others_run_those_files_when_nothing_else_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(monkeypatch, (*BUSY[:2], *SLOW[:6]), (0, 1, 0, 1, 2))
    assert set(ran[0] + ran[1]) & set(SLOW)
    assert ran[0][0] == BUSY[0]
    assert ran[1][0] == BUSY[1]


def test_without_such_files_the_last_worker_has_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, BUSY, (0, 1, 2))[2] == []
