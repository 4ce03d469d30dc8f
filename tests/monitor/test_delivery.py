"""A sample is with the reader that waits for it within 50 ms: nothing on its way waits too long."""

import threading
from dataclasses import replace

import pytest
from smed_monitor.core.model import Moment, Outcome, Record
from smed_monitor.core.rates import Windows
from smed_monitor.http.answer import observations_json
from smed_monitor.http.edge import GATHER_SECONDS
from smed_monitor.http.schemas import ObservationsOut
from smed_monitor.state.table import MANY_TARGETS, Table

PROMISED_SECONDS = 0.05
WINDOWS = Windows(current=2.0, average=60.0, max_gap=3.0)


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.monotonic = 100.0
        self.slept: list[float] = []

    def __call__(self) -> Moment:
        return Moment(self.monotonic, 1.8e9 + self.monotonic)


class Sleep(threading.Event):
    """Stands in for the table's own: says how long it was waited for, and what came meanwhile."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.meanwhile: list[tuple[Table, Outcome]] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.clock.slept.append(timeout)
        self.clock.monotonic += timeout
        for table, outcome in self.meanwhile:
            table.publish(outcome)
        return False


def outcome(target: int, at: float) -> Outcome:
    record = Record(f"fs/e{target}", "node_exporter", f"http://n{target}/", missing=False, detail="")
    return Outcome(f"n{target}", 0.001, (replace(record, at=Moment(at, 1.8e9 + at)),))


def table_of(targets: int, clock: Clock) -> Table:
    first = [(f"n{n}", Record(f"fs/e{n}", "node_exporter", f"http://n{n}/")) for n in range(targets)]
    table = Table([name for name, _ in first], first, stale_after_seconds=3.0, clock=clock)
    table._closed = Sleep(clock)
    return table


def test_the_time_news_are_gathered_leaves_time_to_deliver_them() -> None:
    assert GATHER_SECONDS <= 0.8 * PROMISED_SECONDS


def test_the_first_news_waits_once_and_what_comes_meanwhile_goes_with_it() -> None:
    clock = Clock()
    table = table_of(MANY_TARGETS, clock)
    table.publish(outcome(1, clock.monotonic))
    sleep = table._closed
    assert isinstance(sleep, Sleep)
    sleep.meanwhile.append((table, outcome(2, clock.monotonic + 0.01)))
    table.wait(after=0, seconds=30.0, gather=0.03)
    assert clock.slept == [pytest.approx(0.03)]
    news = table.changes(0)
    assert news is not None
    answer = ObservationsOut.model_validate_json(observations_json(news, WINDOWS, complete=False))
    assert [observation.element for observation in answer.observations] == ["fs/e1", "fs/e2"]
    assert [each.age_seconds for each in answer.observations] == [pytest.approx(0.03), pytest.approx(0.02)]


def test_news_that_waited_while_the_reader_was_busy_only_waits_for_the_rest() -> None:
    clock = Clock()
    table = table_of(MANY_TARGETS, clock)
    table.publish(outcome(1, clock.monotonic))
    clock.monotonic += 0.02
    table.publish(outcome(2, clock.monotonic))
    table.wait(after=0, seconds=30.0, gather=0.03)
    clock.monotonic += 1.0
    table.publish(outcome(3, clock.monotonic))
    table.wait(after=0, seconds=30.0, gather=0.03)
    assert clock.slept == [pytest.approx(0.01), 0.0]


def test_with_few_targets_news_wait_for_nothing() -> None:
    clock = Clock()
    table = table_of(MANY_TARGETS - 1, clock)
    table.publish(outcome(1, clock.monotonic))
    table.wait(after=0, seconds=30.0, gather=0.03)
    assert clock.slept == []
