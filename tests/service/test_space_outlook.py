"""When an element is full: a line through its free space, over restarts and gaps."""

from pathlib import Path
from typing import Any

import pytest
from ses_service.decision.space_outlook import APART, SpaceTrend, full_in
from ses_service.model.entities import Observation
from ses_service.process.space import Space

DAY = 86400.0
START = 1_800_000_000.0


def filled(trend: SpaceTrend, days: float, a_day: float, begin: float = START, free: float = 500e9) -> float:
    """Sample an element that loses so many bytes a day; returns the time of the last sample."""
    now = begin
    while now <= begin + days * DAY:
        trend.record(now, ["u/a"], [free - (now - begin) / DAY * a_day])
        now += 6 * APART
    return now - 6 * APART


def foreseen(lines: SpaceTrend | Space, name: str, free: float, now: float) -> float | None:
    return full_in(lines.changes(now).get(name), free)


def test_a_steady_pace_is_found_and_ends_where_it_must() -> None:
    trend = SpaceTrend()
    now = filled(trend, 3, 10e9)
    assert trend.changes(now)["u/a"] == pytest.approx(-10e9, rel=1e-6)
    assert foreseen(trend, "u/a", 470e9, now) == pytest.approx(47, rel=1e-6)


def test_the_last_weeks_count_more_than_those_before() -> None:
    trend = SpaceTrend()
    turn = filled(trend, 20, 0)
    now = filled(trend, 20, 10e9, begin=turn)
    assert -10e9 < trend.changes(now)["u/a"] < -8e9, "half the pace, if all counted alike"


def test_what_grows_emptier_or_stands_still_is_never_full() -> None:
    for pace in (0.0, -5e9):
        trend = SpaceTrend()
        now = filled(trend, 2, pace)
        assert "u/a" in trend.changes(now)
        assert foreseen(trend, "u/a", 500e9, now) is None


def test_nothing_is_said_before_a_day_or_after_a_day_of_silence() -> None:
    trend = SpaceTrend()
    assert foreseen(trend, "u/a", 1.0, START) is None
    now = filled(trend, 0.9, 10e9)
    assert foreseen(trend, "u/a", 1e9, now) is None
    now = filled(trend, 0.5, 10e9, begin=now + APART)
    assert foreseen(trend, "u/a", 1e9, now) is not None
    trend.record(now + 2 * DAY, ["u/b"], [1.0])
    assert foreseen(trend, "u/a", 1e9, now + 2 * DAY) is None
    trend.record(now + 60 * DAY, ["u/b"], [1.0])
    assert list(trend.saved()[1]) == ["u/b"]


def seen(free: float, **more: Any) -> Observation:
    return Observation("union/b0", START, free_bytes=free, **more)


def test_a_sample_is_due_now_and_then_whatever_becomes_of_the_clock() -> None:
    trend = SpaceTrend()
    assert trend.due(START)
    trend.record(START, ["u/a"], [1e9])
    assert not trend.due(START + APART - 1)
    assert trend.due(START + APART)
    assert trend.due(START - DAY), "the clock was set back: it would be a day without samples"


def test_it_is_kept_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "space.json"
    space = Space(path)
    for hour in range(30):
        space.take([seen(300e9 - hour * 1e9)], START + hour * 3600)
        space.take([seen(0.0)], START + hour * 3600 + 1)
        space.take([seen(0.0, state="stale")], START + hour * 3600 + 1800)
    now = START + 29 * 3600
    before = foreseen(space, "union/b0", 271e9, now)
    assert before == pytest.approx(271 / 24, rel=1e-3)
    assert foreseen(Space(path), "union/b0", 271e9, now) == before
    for wrong in ("", "[]", '{"origin": 1, "lines": {"u/a": [1, 2]}}', '{"origin": null, "lines": {"a": 1}}'):
        path.write_text(wrong)
        assert foreseen(Space(path), "union/b0", 271e9, now) is None


def test_elements_say_when_they_are_full(service: Any, clock: Any) -> None:
    begin = clock()
    for hour in range(26):
        clock.time = begin + hour * 3600
        service.runtime.space.take([seen(100e9 - hour * 1e9)], clock())
    service.see([Observation("union/b0", clock(), free_bytes=75e9)])
    first, second, _ = service.get("/v1/elements").get_json()["elements"]
    assert first["free_bytes_per_day"] == pytest.approx(-24e9, rel=1e-3)
    assert first["full_in_days"] == pytest.approx(75 / 24, abs=0.02)
    assert service.get("/v1/elements/union/b0").get_json()["elements"] == [first]
    assert service.get("/v1/elements/union/none").status_code == 404
    assert (second["free_bytes_per_day"], second["full_in_days"]) == (None, None)
