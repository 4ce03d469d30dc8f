"""Verdicts: what was required against what was received, and the likely cause of a miss."""

import numpy as np
import pytest
from ses_service.ledger.achieved import Achieved, Cause, Doubt, FileVerdict, Verdict
from ses_service.ledger.placement import Placement, Prediction
from ses_service.model.entities import Element, Subject
from ses_service.model.kinds import Kind
from ses_state._state import ElementLoad, LoadHistory, file_verdict_of, prediction_error

MB = 1e6


def figures(
    written: float = 1000,
    seconds: float = 10,
    open_for: float = 10,
    *doubts: Doubt,
    device: float | None = None,
) -> Achieved:
    """Figures in MB and seconds; nothing is read."""
    on_device = None if device is None else device * MB
    return Achieved(written * MB, 0, seconds, 0, open_for, on_device, doubts)


def load(busy: float = 0.5, health: float = 1.0, first: float = 1, most: float = 1) -> ElementLoad:
    return ElementLoad(((0.0, busy, first),), busy, health, first, most)


def judged(
    achieved: Achieved | None,
    *kinds: tuple[Kind, float],
    predicted: float | None = 1000,
    during: ElementLoad | None = None,
) -> FileVerdict:
    value = None if predicted is None else predicted * MB
    wanted = tuple(Prediction(kind, value, bound * MB, 0.0) for kind, bound in kinds)
    element = Element("u/a", "", "a", "u", "/u/a", "n1")
    placement = Placement("1" * 16, Subject("alice"), element, "mergerfs", 0.0, 0.0, 1.0, wanted)
    return file_verdict_of(placement.replaced(achieved=achieved), during)


WRITE, AVERAGE, READ = Kind.CURRENT_WRITE_RATE, Kind.AVERAGE_WRITE_RATE, Kind.CURRENT_READ_RATE


@pytest.mark.parametrize(
    ("bound", "verdict"), [(100, Verdict.MET), (125, Verdict.NEARLY), (126, Verdict.MISSED), (0, Verdict.MET)]
)
def test_nearly_begins_at_80_percent(bound: float, verdict: Verdict) -> None:
    assert judged(figures(), (WRITE, bound)).verdict is verdict


def test_a_current_rate_counts_seconds_of_writing_and_an_average_all_until_the_close() -> None:
    verdicts = judged(figures(1000, 10, 40), (WRITE, 100), (AVERAGE, 100))
    assert [kind.achieved for kind in verdicts.kinds] == [100 * MB, 25 * MB]
    assert [kind.verdict for kind in verdicts.kinds] == [Verdict.MET, Verdict.MISSED]
    assert (verdicts.verdict, verdicts.worst, verdicts.cause) == (Verdict.MISSED, 1, Cause.PROGRAM)
    assert "25%" in verdicts.why


@pytest.mark.parametrize(
    ("bound", "device", "verdict"),
    [
        (100, 1000, Verdict.MET),  # all of it reached the device
        (100, 850, Verdict.NEARLY),  # that much is certain
        (100, 10, Verdict.CANNOT_SAY),  # the rest may be in memory
        (100, None, Verdict.CANNOT_SAY),
        (126, 10, Verdict.MISSED),  # not even memory took it fast enough
    ],
)
def test_what_may_be_in_memory_meets_nothing_and_misses_what_memory_missed(
    bound: float, device: float | None, verdict: Verdict
) -> None:
    verdicts = judged(figures(1000, 10, 10, Doubt.PAGE_CACHE, device=device), (WRITE, bound))
    assert verdicts.verdict is verdict
    assert bool(verdicts.kinds[0].why) is (verdict is Verdict.CANNOT_SAY)


@pytest.mark.parametrize(
    ("doubt", "current", "average"),
    [
        (Doubt.TOO_SMALL, Verdict.CANNOT_SAY, Verdict.CANNOT_SAY),
        (Doubt.TOO_SHORT, Verdict.CANNOT_SAY, Verdict.CANNOT_SAY),
        (Doubt.SHARED, Verdict.CANNOT_SAY, Verdict.CANNOT_SAY),
        (Doubt.GAPS, Verdict.CANNOT_SAY, Verdict.MET),
        (Doubt.MAPPED, Verdict.CANNOT_SAY, Verdict.MET),
    ],
)
def test_a_doubt_leaves_open_what_it_is_about(doubt: Doubt, current: Verdict, average: Verdict) -> None:
    verdicts = judged(figures(1000, 10, 10, doubt), (WRITE, 100), (AVERAGE, 100))
    assert [kind.verdict for kind in verdicts.kinds] == [current, average]


def test_what_is_not_known_does_not_hide_what_is() -> None:
    verdicts = judged(figures(), (READ, 100), (WRITE, 100))
    assert [kind.verdict for kind in verdicts.kinds] == [Verdict.CANNOT_SAY, Verdict.MET]
    assert (verdicts.verdict, verdicts.kinds[0].why) == (Verdict.MET, "Nothing was read.")


def test_without_figures_nobody_can_say_and_without_requirements_there_is_nothing_to_say() -> None:
    assert judged(None, (WRITE, 100)).verdict is Verdict.CANNOT_SAY
    assert judged(figures()).verdict is None


def test_capacity_is_judged_by_what_was_free_at_the_create() -> None:
    assert judged(figures(), (Kind.FREE_CAPACITY, 100)).verdict is Verdict.MET
    assert judged(figures(), (Kind.FREE_CAPACITY, 2000)).verdict is Verdict.MISSED
    assert judged(figures(), (Kind.FREE_CAPACITY, 1), predicted=None).verdict is Verdict.CANNOT_SAY


def test_a_kind_nobody_measures_cannot_be_judged() -> None:
    assert judged(figures(), (Kind("latency", "ms", 1e-3, at_most=True), 1)).verdict is Verdict.CANNOT_SAY


@pytest.mark.parametrize(
    ("during", "predicted", "cause"),
    [
        (load(health=0.5, most=9), 1000, Cause.SLOW_ELEMENT),
        (load(most=9), 110, Cause.FORESEEN),
        (load(first=1, most=3), 1000, Cause.OTHERS),
        (load(busy=0.2, first=0, most=1), 1000, Cause.CLIENT_OR_NETWORK),  # the stream is the file itself
        (load(busy=0.95), 1000, Cause.OTHERS),
        (load(busy=0.2), 1000, Cause.CLIENT_OR_NETWORK),
        (load(busy=0.8), 1000, None),
        (None, 1000, None),
    ],
)
def test_the_cause_of_a_miss_is_what_was_seen_meanwhile(
    during: ElementLoad | None, predicted: float, cause: Cause | None
) -> None:
    verdicts = judged(figures(), (WRITE, 500), predicted=predicted, during=during)
    assert (verdicts.verdict, verdicts.cause) == (Verdict.MISSED, cause)
    assert verdicts.why


@pytest.mark.parametrize(
    ("achieved", "bound", "error"),
    [
        (figures(), 500, 0.1),
        (figures(1000, 10, 20), 500, None),  # it waited elsewhere in half of the time
        (figures(), 100, None),  # it got what it required and may have wanted no more
        (figures(1000, 10, 10, Doubt.PAGE_CACHE, device=1000), 500, None),
        (figures(20_000), 500, 2.0),  # more than was predicted says something in any case
    ],
)
def test_a_prediction_is_compared_only_where_the_program_did_not_wait(
    achieved: Achieved, bound: float, error: float | None
) -> None:
    assert prediction_error(judged(achieved, (WRITE, bound)), achieved) == error


def test_the_load_of_an_element_is_known_for_the_time_of_a_file() -> None:
    history = LoadHistory()
    history.bind({"u/a": 0, "u/b": 1})
    for moment in range(10):
        busy = np.array([moment / 10, np.nan])
        history.record(100.0 + moment, busy, np.array([1.0, 0.5]), np.array([moment, 1.0]))
    loads = history.during("u/a", 102.5, 105.5)
    assert loads is not None
    assert (loads.first, loads.most, loads.points[0]) == (2.0, 5.0, (0.0, 0.2, 2.0))
    assert loads.busy == pytest.approx(0.35)
    unseen = history.during("u/b", 102, 105)
    assert unseen is not None
    assert (unseen.busy, unseen.health, unseen.points[0][1]) == (None, 0.5, -1.0)
    assert history.during("u/c", 102, 105) is None
    history.bind({"u/b": 0, "u/c": 1})
    again = history.during("u/b", 102, 105)
    assert again is not None
    assert again.health == 0.5


def test_the_history_of_loads_stays_bounded_and_keeps_the_newest() -> None:
    history = LoadHistory()
    history.bind({"u/a": 0})
    ones = np.ones(1)
    for moment in range(3000):
        history.record(float(moment), ones, ones, ones * moment)
    assert len(history) <= 512
    loads = history.during("u/a", 0, 3000)
    assert loads is not None
    assert loads.most == 2999
