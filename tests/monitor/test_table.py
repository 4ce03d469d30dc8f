"""The table answers with state and age as of now, and wakes who waits."""

import threading
from dataclasses import replace

import pytest
from smed_monitor.core.model import Moment, Outcome, RatePair, Record, State
from smed_monitor.state.table import Table

FIRST = Record(element="union/b1", source="node_exporter", target="http://n1:9100/metrics")
SEEN = replace(
    FIRST,
    at=Moment(monotonic=100.0, wall=1.8e9),
    write=RatePair(current=5e6, average=2e6),
    free_bytes=1e9,
    missing=False,
    detail="",
)
GOOD = Outcome(target="n1", duration_seconds=0.01, records=(SEEN,))
BAD = Outcome(
    target="n1", duration_seconds=0.5, error="cannot be reached: Connection refused", reason="unreachable"
)


class Clock:
    monotonic = 100.0

    def __call__(self) -> Moment:
        return Moment(self.monotonic, 1.8e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock) -> Table:
    return Table(["n1"], [("n1", FIRST)], stale_after_seconds=3.0, clock=clock)


def test_before_any_answer_an_element_is_missing_without_age(table: Table) -> None:
    (seen,) = table.snapshot().observations
    assert (seen.state, seen.age_seconds, seen.detail) == (State.MISSING, None, "not scraped yet")


def test_a_fresh_record_is_ok_with_its_age(table: Table, clock: Clock) -> None:
    table.publish(GOOD)
    clock.monotonic = 100.4
    (seen,) = table.snapshot().observations
    assert (seen.state, seen.detail) == (State.OK, "")
    assert seen.age_seconds == pytest.approx(0.4)


def test_a_dead_target_makes_records_stale_but_keeps_their_figures(table: Table, clock: Clock) -> None:
    table.publish(GOOD)
    table.publish(BAD)
    clock.monotonic = 103.5
    (seen,) = table.snapshot().observations
    assert seen.state is State.STALE
    assert seen.age_seconds == pytest.approx(3.5)
    assert seen.record.write == RatePair(current=5e6, average=2e6)
    assert seen.detail == "http://n1:9100/metrics cannot be reached: Connection refused"


def test_records_go_stale_even_when_nobody_scrapes_any_more(table: Table, clock: Clock) -> None:
    table.publish(GOOD)
    clock.monotonic = 110.0
    (seen,) = table.snapshot().observations
    assert seen.state is State.STALE
    assert "has not been asked for 10.0 s" in seen.detail


def test_a_good_answer_without_the_element_is_missing_with_its_last_age(table: Table, clock: Clock) -> None:
    table.publish(replace(GOOD, records=(replace(FIRST, at=SEEN.at, detail="no file system there"),)))
    clock.monotonic = 102.0
    (seen,) = table.snapshot().observations
    assert (seen.state, seen.detail) == (State.MISSING, "no file system there")
    assert seen.age_seconds == pytest.approx(2)


def test_publishing_tells_the_error_before(table: Table) -> None:
    assert table.publish(BAD) is None
    assert table.publish(GOOD) == BAD.error
    assert table.publish(BAD) == ""


def test_failures_skips_and_time_are_counted_per_target(table: Table) -> None:
    for outcome in (GOOD, BAD, BAD):
        table.publish(outcome)
    table.skipped("n1")
    (health,) = table.health()
    assert (health.scrapes, health.skipped, health.failures) == (3, 1, {"unreachable": 2})
    assert health.seconds == pytest.approx(1.01)
    assert health.error == BAD.error


def waiting(table: Table, after: int | None) -> threading.Thread:
    """A thread that waits as a client would; ends when the wait is over."""
    thread = threading.Thread(target=table.wait, args=(after, 3600), daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("outcome", [GOOD, BAD])
def test_a_wait_ends_with_the_next_outcome_good_or_bad(table: Table, outcome: Outcome) -> None:
    thread = waiting(table, after=table.snapshot().sequence)
    thread.join(timeout=0.05)
    assert thread.is_alive()
    table.publish(outcome)
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_wait_for_something_that_happened_already_ends_at_once(table: Table) -> None:
    table.publish(GOOD)
    table.publish(GOOD)
    thread = waiting(table, after=1)
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_sequence_from_before_a_restart_of_the_monitor_does_not_wait(table: Table) -> None:
    thread = waiting(table, after=5000)
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_wait_ends_without_news_when_its_time_is_over(table: Table) -> None:
    table.wait(after=None, seconds=0.1)
    assert table.snapshot().sequence == 0


def test_closing_lets_everyone_go(table: Table) -> None:
    threads = [waiting(table, after=None) for _ in range(5)]
    table.close()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_news_is_gathered_until_its_time_is_over_or_the_table_is_closed() -> None:
    names = [f"n{number}" for number in range(9)]
    table = Table(names, [], stale_after_seconds=3.0)
    thread = threading.Thread(target=table.wait, args=(0, 3600, 3600), daemon=True)
    thread.start()
    for name in names:
        table.publish(Outcome(name, 0.1, error="is off", reason="unreachable"))
    thread.join(timeout=0.05)
    assert thread.is_alive()
    table.close()
    thread.join(timeout=60)
    assert not thread.is_alive()
