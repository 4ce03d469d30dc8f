"""The crowd of the benchmarks, against a real HTTP server."""

from collections.abc import Callable

import pytest
from http_server import Asked
from ses_benchmarks.http_call import request_bytes
from ses_benchmarks.open_loop import Crowd, Outcome, with_crowd
from ses_benchmarks.probe import BenchmarkError


@pytest.fixture
def answer() -> Callable[[Asked], object]:
    """/good with 200, /busy with 503, and /gone by hanging up."""

    def answer(asked: Asked) -> None:
        if asked.path == "/gone":
            asked.close_connection = True
        else:
            asked.say(200 if asked.path == "/good" else 503, b"hello")

    return answer


def run(port: int, *paths: str) -> Outcome:
    async def work(crowd: Crowd) -> Outcome:
        return await crowd.run([request_bytes("GET", path) for path in paths], 100, 0.5)

    return with_crowd(port, 5, work)


def test_answers_are_told_apart_by_status_and_timed(port: int) -> None:
    outcome = run(port, "/good", "/good", "/good", "/busy")
    sent = outcome.answered + outcome.unsent
    assert set(outcome.times) == {200, 503}
    assert 10 < sent < 200
    assert len(outcome.times[200]) > len(outcome.times[503])
    assert outcome.share(503) == len(outcome.times[503]) / sent
    assert all(time > 0 for times in outcome.times.values() for time in times)


def test_a_server_that_hangs_up_ends_the_benchmark(port: int) -> None:
    with pytest.raises(BenchmarkError, match="lost"):
        run(port, "/gone")
