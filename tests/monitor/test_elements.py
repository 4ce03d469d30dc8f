"""Elements come and go: made by rules, moved to another server, learned from, reset."""

from typing import Any

from smed_monitor.collectors.lustre_series import LustreExporter
from smed_monitor.collectors.lustre_whamcloud import WHAMCLOUD
from smed_monitor.config.settings import Rule
from smed_monitor.core.capability import Best, Streak, best_after, streak_after
from smed_monitor.core.model import Moment, Outcome, Reading, Record
from smed_monitor.core.rates import Windows
from smed_monitor.state.table import Table

WINDOWS = Windows(current=2.0, average=60.0, max_gap=3.0)


def record(target: str, at: float, *, missing: bool = False) -> Record:
    return Record("fs/OST0000", "lustre_hpe", target, at=Moment(at, at), missing=missing, detail="")


def table() -> Table:
    first = Record("fs/OST0000", "lustre_hpe", "oss1")
    return Table(["oss1", "oss2"], [("oss1", first), ("oss2", first)], 3.0, lambda: Moment(10.0, 10.0))


def holder(seen: Table) -> str:
    return seen.snapshot().observations[0].record.target


def test_an_ost_that_moved_is_followed_to_its_server() -> None:
    seen = table()
    seen.publish(Outcome("oss1", 0.1, (record("oss1", 1.0),)))
    seen.publish(Outcome("oss2", 0.1, (record("oss2", 1.0, missing=True),)))
    assert holder(seen) == "oss1"
    seen.publish(Outcome("oss1", 0.1, (record("oss1", 1.0, missing=True),)))
    seen.publish(Outcome("oss2", 0.1, (record("oss2", 2.0),)))
    assert holder(seen) == "oss2"


def test_an_ost_is_followed_when_its_server_died_without_a_word() -> None:
    seen = table()
    seen.publish(Outcome("oss1", 0.1, (record("oss1", 1.0),)))
    seen.publish(Outcome("oss1", 0.1, error="gave no answer", reason="timeout"))
    seen.publish(Outcome("oss2", 0.1, (record("oss2", 3.0),)))
    assert holder(seen) == "oss1", "a moment of silence is not a move"
    seen.publish(Outcome("oss2", 0.1, (record("oss2", 4.5),)))
    assert holder(seen) == "oss2"


def test_two_servers_that_both_show_an_ost_do_not_take_turns() -> None:
    seen = table()
    for at in (1.0, 2.0, 3.0):
        seen.publish(Outcome("oss1", 0.1, (record("oss1", at),)))
        seen.publish(Outcome("oss2", 0.1, (record("oss2", at + 0.5),)))
        assert holder(seen) == "oss1"


def test_a_rule_names_elements_after_what_a_target_shows() -> None:
    rule = Rule(targets=("oss*",), match="lustre-OST*", element="lustre/{last}")
    assert rule.covers("oss7")
    assert not rule.covers("mds1")
    made = rule.settings_for("oss7", "lustre-OST0003", "ost")
    assert made is not None
    assert (made.id, made.ost, made.target) == ("lustre/OST0003", "lustre-OST0003", "oss7")
    assert rule.settings_for("oss7", "other-OST0003", "ost") is None


def test_a_page_shows_the_names_rules_are_matched_with() -> None:
    collector = LustreExporter(WHAMCLOUD)
    page = b'lustre_capacity_kilobytes{component="ost",target="fs-OST0007"} 1\n'
    assert list(collector.names(collector.parse(page))) == ["fs-OST0007"]


def test_counters_that_were_reset_and_grew_beyond_are_seen_by_their_start(alone: Any) -> None:
    before = alone.after(Reading("d", 100.0, 100.0, started=1.0), 0.0, WINDOWS)
    after = before.after(Reading("d", 150.0, 150.0, started=2.0), 1.0, WINDOWS)
    assert after.read_current == 150.0
    same = before.after(Reading("d", 150.0, 150.0, started=1.0), 1.0, WINDOWS)
    assert same.read_current == 50.0


def test_the_time_of_an_operation_is_time_over_operations(alone: Any) -> None:
    before = alone.after(Reading("d", operations=0.0, busy_seconds=0.0), 0.0, WINDOWS)
    assert before.after(Reading("d", operations=10.0, busy_seconds=0.5), 1.0, WINDOWS).service_seconds == 0.05
    assert before.after(Reading("d", operations=0.0, busy_seconds=0.0), 1.0, WINDOWS).service_seconds is None


def test_capability_is_learned_only_while_requests_wait(alone: Any) -> None:
    loads = alone
    for second in range(8):
        busy = Reading("d", 0.0, 1e8 * second, request_seconds=2.0 * second)
        loads = loads.after(busy, float(second), WINDOWS, learn=True)
    assert loads.best == Best(None, 1e8)
    slow = alone
    for second in range(8):
        idle = Reading("d", 0.0, 1e3 * second, request_seconds=0.1 * second)
        slow = slow.after(idle, float(second), WINDOWS, learn=True)
    assert slow.best == Best()


def test_a_queue_that_cannot_be_seen_teaches_nothing_and_a_slow_stretch_lowers_nothing() -> None:
    assert streak_after(Streak(9.0, 1.0, 1.0), None, 1.0, 5.0, 5.0) == Streak()
    assert best_after(Best(None, 2e8), Streak(6.0, 0.0, 6e8)) == Best(None, 2e8)


def test_a_mixed_stretch_teaches_neither_direction() -> None:
    assert best_after(Best(), Streak(6.0, 5e8, 5e8)) == Best()
