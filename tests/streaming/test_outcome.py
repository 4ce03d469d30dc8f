"""What came of a forecast: the files since then, joined with it, and what bound them."""

import math
from dataclasses import replace

import pytest
from ses.streaming.advice import Place, Work
from ses.streaming.model import Resource
from ses.streaming.outcome import Ended, outcome

MB = 1e6
PLACES = [Place("u/a", 100 * MB, 50 * MB), Place("u/b", 400 * MB, 200 * MB)]
WORK = Work(0, 500 * MB, cpu_seconds=1.0)
FILE = Ended("u/a", 100.0, 110.0, 0.0, 500 * MB, None, 50.0, None)


def ratios(work: Work, *files: Ended) -> dict[str, float | None]:
    result = outcome(work, PLACES, math.inf, files)
    assert result is not None
    return {pair.name: pair.ratio for pair in result.pairs}


def test_a_run_that_was_as_forecast_has_the_ratio_one() -> None:
    assert ratios(WORK, FILE) == pytest.approx(
        {"seconds": 1.0, "MB/s of the program": 1.0, "MB/s written to a file": 1.0}
    )


def test_times_of_files_that_were_open_together_count_once() -> None:
    half = replace(FILE, written_bytes=250 * MB)
    assert ratios(WORK, half, half)["seconds"] == pytest.approx(1.0)
    later = replace(half, opened_at=200.0, ended_at=210.0)
    assert ratios(WORK, half, later)["seconds"] == pytest.approx(2.0)


def test_what_was_read_of_older_files_is_left_out_of_the_comparison() -> None:
    reading = Work(1000 * MB, 500 * MB, cpu_seconds=1.0)  # 10 s to read and 10 s to write
    assert ratios(reading, replace(FILE, ended_at=120.0))["seconds"] == pytest.approx(1.0)


def test_twice_the_program_is_compared_with_twice_the_time() -> None:
    assert ratios(WORK, replace(FILE, written_bytes=1000 * MB, ended_at=120.0))["seconds"] == pytest.approx(
        1.0
    )


@pytest.mark.parametrize(
    ("work", "ended_at", "cause", "bound"),
    [
        (WORK, 110.0, None, Resource.DISK),
        (WORK, 130.0, "others", Resource.DISK),
        (WORK, 130.0, "client-or-network", Resource.LINK),
        (WORK, 130.0, "program", None),
        (WORK, 130.0, None, None),
        (Work(0, 500 * MB, cpu_seconds=40.0), 140.0, None, Resource.PROCESSOR),
        (replace(WORK, cpu_seconds=8.0), 108.0, None, Resource.PROCESSOR),  # the disk gave more than forecast
    ],
)
def test_what_bound_is_the_resource_that_allows_no_more(
    work: Work, ended_at: float, cause: str | None, bound: Resource | None
) -> None:
    result = outcome(work, PLACES, math.inf, [replace(FILE, ended_at=ended_at, cause=cause)])
    assert result is not None
    assert result.bound == bound


def test_files_on_elements_without_a_forecast_are_named_and_left_out() -> None:
    result = outcome(WORK, PLACES, math.inf, [FILE, replace(FILE, element="u/c")])
    assert result is not None
    assert (result.files, result.unforeseen) == (1, ("u/c",))
    assert outcome(WORK, PLACES, math.inf, [replace(FILE, element="u/c")]) is None
    assert outcome(WORK, PLACES, math.inf, [replace(FILE, written_bytes=0.0)]) is None
