"""What directories give is learned from what was written under claims, and decides."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ses.place import samples
from ses.place.decision import Candidate, choose
from ses.place.directories import Directory
from ses.place.ledger import opened
from ses.place.samples import Counters, Sample, measure
from ses.quantities import requirements_in

GIGABYTE = 10**9
Look = Callable[..., Sample]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Look at a device at a time: ms it was busy, and bytes it moved; its claim was made at second 0."""
    kept: dict[str, Sample] = {}
    monkeypatch.setattr(samples.time, "sleep", lambda _seconds: None)

    def look(at: float, busy_ms: int, moved: int, began: float = 0.0) -> Sample:
        monkeypatch.setattr(samples, "clock", lambda: at)
        counted = {"8:0": Counters(busy_ms, busy_ms, moved)}
        kept.update(measure(["8:0"], kept, lambda _names: counted, {"8:0": [began]}))
        return kept["8:0"]

    return look


def test_what_a_device_moved_while_it_was_busy_is_what_it_gives(look: Look) -> None:
    look(1.0, 0, 0)
    assert look(2.0, 500, 50_000_000).gives is None, "half a second says little"
    assert look(4.0, 2000, 200_000_000).gives == 100e6
    assert look(4.01, 2000, 200_000_000).gives == 100e6, "two at a moment share a sample"
    assert look(60.0, 12_000, 1_200_000_000).gives == pytest.approx(100e6), "however long ago"


def test_a_device_that_becomes_slower_is_soon_known_to_be(look: Look) -> None:
    look(1.0, 0, 0)
    assert look(101.0, 100_000, 10_000_000_000).gives == 100e6
    assert look(121.0, 120_000, 10_200_000_000).gives == pytest.approx(40e6)
    assert look(141.0, 140_000, 10_400_000_000).gives == pytest.approx(20e6)


def test_what_is_moved_without_claims_teaches_nothing(look: Look) -> None:
    look(1.0, 0, 0)
    assert look(5.0, 4000, 1_000_000, began=4.0).gives is None


def test_another_device_of_the_same_name_is_not_taken_for_it(look: Look) -> None:
    look(1.0, 0, 0)
    look(4.0, 2000, 200_000_000)
    assert look(6.0, 1, 1).seconds == 0


def test_streams_of_claims_are_not_taken_for_those_of_others(look: Look) -> None:
    look(1.0, 0, 0)
    seen = look(3.0, 2000, 1, began=2.0)
    assert (seen.use, seen.queue, seen.rate, seen.own) == (1.0, 1.0, 0.5, 0.5)


def test_what_was_learned_is_kept(tmp_path: Path) -> None:
    counted = {"at": 2.0, "busy_ms": 1, "queue_ms": 2, "moved": 3}
    sample = Sample(**counted, use=1.0, queue=2.0, rate=3.0, own=4.0, learned=5.0, seconds=6.0)
    with opened(tmp_path / "ledger") as ledger:
        assert ledger
        ledger.keep({"8:0": sample}, "boot")
        assert ledger.samples("boot") == {"8:0": sample}


def chosen(*rates: float | None, streams: tuple[int, ...] = (), need: str = "") -> int | None:
    candidates = [
        Candidate(
            directory=Directory(given=f"/d{row}", path=f"/d{row}", size=100 * GIGABYTE, free=50 * GIGABYTE),
            streams=streams[row] if streams else 0,
            rate=rate,
        )
        for row, rate in enumerate(rates)
    ]
    return choose(candidates, requirements_in([need] if need else []), None)[0]


def test_a_fast_directory_takes_more_streams_than_a_slow_one() -> None:
    assert chosen(400e6, 100e6, streams=(1, 0)) == 0
    assert chosen(400e6, 100e6, streams=(7, 0)) == 1


def test_a_directory_of_unknown_rate_is_tried_as_if_it_were_the_fastest() -> None:
    assert chosen(400e6, None, streams=(1, 0)) == 1
    assert chosen(400e6, None, streams=(1, 0), need="write>=50MB/s!") == 0, "not where a rate is asked for"
