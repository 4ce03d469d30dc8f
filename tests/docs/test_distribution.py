"""Files of tests are divided as tests/distribution.py says, and each is run once."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distribution
import pytest
from distribution import LEAST, TESTS, Distribution, Recorder, Took, in_order, recorded, took

SLOW = tuple(f"slow/test_{number}.py" for number in range(6))
BUSY = ("libses/test_log.py", "service/test_edge.py", "portal/test_story.py", "copy/test_copy.py")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the slow ones it is known that they wait; of the others nothing."""
    monkeypatch.setattr(distribution, "KNOWN", {name: Took(60, waits=True) for name in SLOW})


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


def test_what_takes_longest_begins_first_and_before_what_nobody_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        distribution, "KNOWN", {"a.py": Took(9, False), "b.py": Took(30, True), "c.py": Took(20, False)}
    )
    items: list[Any] = [SimpleNamespace(path=TESTS / name) for name in ("new.py", "a.py", "b.py", "c.py")]
    assert [item.path.name for item in in_order(items)] == ["b.py", "c.py", "a.py", "new.py"]


def test_a_file_that_nobody_knows_has_a_worker_that_is_busy() -> None:
    assert not took("nobody/test_knows.py").waits


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """Of two files something is known, and of one that there is no longer."""
    for name in ("again.py", "before.py", "short.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(distribution, "TESTS", tmp_path)
    monkeypatch.setattr(distribution, "TIMES", tmp_path / "times.txt")
    (tmp_path / "times.txt").write_text("9.0 busy again.py\n8.0 waits before.py\n50.0 waits gone.py\n")
    return Recorder()


def record(recorder: Recorder, file: str, seconds: float, busy: float, share: float = 1.0) -> None:
    report: Any = SimpleNamespace(nodeid=f"tests/{file}::test", duration=seconds, busy=busy, share=share)
    recorder.pytest_runtest_logreport(report)


def test_what_was_run_is_recorded_beside_what_is_known_of_others_that_there_are(recorder: Recorder) -> None:
    record(recorder, "again.py", 3, 1)
    record(recorder, "again.py", 4, 0.1)
    record(recorder, "short.py", LEAST - 1, 1)
    recorder.pytest_sessionfinish()
    assert recorded() == {"again.py": Took(7, waits=True), "before.py": Took(8, waits=True)}


def test_where_others_have_the_processors_nobody_is_said_to_wait_who_was_not_before(
    recorder: Recorder,
) -> None:
    record(recorder, "again.py", 7, 0.1, share=0.1)
    record(recorder, "before.py", 9, 8, share=0.1)
    recorder.pytest_sessionfinish()
    assert recorded() == {"again.py": Took(7, waits=False), "before.py": Took(9, waits=True)}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (2, 2, 2, 2, 2, 2, 0, 1)])
def test_the_last_of_three_workers_runs_only_files_that_wait(
    monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]
) -> None:
    ran = run(monkeypatch, (*BUSY, *SLOW[:3]), order)
    assert ran[2]
    assert all(took(file).waits for file in ran[2])


def test_the_others_run_those_files_when_nothing_else_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(monkeypatch, (*BUSY[:2], *SLOW), (0, 1, 0, 1, 2))
    assert set(ran[0] + ran[1]) & set(SLOW)
    assert ran[0][0] == BUSY[0]
    assert ran[1][0] == BUSY[1]


def test_without_such_files_the_last_worker_has_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, BUSY, (0, 1, 2))[2] == []
