"""A forecast follows from the model: what binds, how long it takes, and what to change first."""

import math

import pytest
from ses.profiling.result import FileUse, Phase, ProgramProfile, from_json
from ses.streaming.advice import Place, Work, advice, fitting, fitting_on_all, forecast, forecasts
from ses.streaming.model import Resource

MB = 1e6
SLOW, FAST = Place("u/slow", 100 * MB, 50 * MB), Place("u/fast", 400 * MB, 200 * MB)


def test_storage_binds_a_program_that_computes_little() -> None:
    foreseen = forecast(Work(1000 * MB, 500 * MB, cpu_seconds=2.0), [SLOW])
    assert (foreseen.binding, foreseen.seconds) == (Resource.DISK, pytest.approx(20.0))
    assert foreseen.allowed[Resource.DISK] == pytest.approx(75 * MB)
    assert foreseen.allowed[Resource.PROCESSOR] == pytest.approx(750 * MB)
    assert foreseen.together == 1


def test_the_processor_binds_one_that_computes_much() -> None:
    work = Work(1000 * MB, 500 * MB, cpu_seconds=40.0)
    prediction = forecast(work, [SLOW])
    assert (prediction.binding, prediction.seconds, prediction.together) == (
        Resource.PROCESSOR,
        pytest.approx(40.0),
        2,
    )
    assert forecast(Work(1000 * MB, 500 * MB, 40.0, cores=4), [SLOW]).seconds == pytest.approx(20.0)
    assert "processor binds" in advice(prediction, [prediction, forecast(work, [FAST])], work)
    assert "more than 1 core," in advice(prediction, [prediction], work)
    assert "more than 4 cores," in advice(prediction, [prediction], Work(1000 * MB, 500 * MB, 40.0, cores=4))


def test_how_many_fit_is_reported_with_its_arithmetic() -> None:
    many = forecast(Work(1000 * MB, 500 * MB, cpu_seconds=40.0), [SLOW])
    assert fitting(many) == "u/slow: storage 75 MB/s / 37.5 MB/s of one = 2 at once."
    single = forecast(Work(1000 * MB, 500 * MB, cpu_seconds=2.0), [SLOW])
    assert fitting(single) == "u/slow: one could move 750 MB/s, storage gives 75: 1 fills it."
    assert "takes all of the 75 MB/s" in fitting(forecast(Work(1000 * MB, 500 * MB, 0.0), [SLOW]))


def test_how_many_fit_is_reported_of_every_element_and_of_all() -> None:
    predictions = forecasts(Work(1000 * MB, 500 * MB, cpu_seconds=40.0), [SLOW, FAST])
    assert [prediction.together for prediction in predictions] == [2, 8, 4]
    assert fitting_on_all(predictions) == "all 2 elements: 10 at once (u/slow 2, u/fast 8)."


def test_the_link_binds_a_fast_element_behind_a_slow_one() -> None:
    work = Work(0, 1000 * MB, cpu_seconds=1.0)
    foreseen = forecast(work, [FAST], link=100 * MB)
    assert (foreseen.binding, foreseen.seconds) == (Resource.LINK, pytest.approx(10.0))
    assert "more nodes" in advice(foreseen, [foreseen], work)


def test_a_program_that_waits_for_each_transfer_takes_the_sum() -> None:
    work = Work(1000 * MB, 0, cpu_seconds=5.0, overlapped=False)
    assert forecast(work, [SLOW]).seconds == pytest.approx(15.0)


def test_stripes_are_as_fast_as_the_slowest_of_them() -> None:
    work = Work(0, 1000 * MB, cpu_seconds=0.1)
    assert forecast(work, [FAST, SLOW]).seconds == pytest.approx(10.0)
    predictions = forecasts(work, [SLOW, FAST, Place("u/third", 400 * MB, 200 * MB)])
    assert [prediction.elements for prediction in predictions] == [
        ("u/slow",),
        ("u/fast",),
        ("u/third",),
        ("u/fast", "u/third"),
    ]
    assert predictions[-1].seconds == pytest.approx(2.5)
    assert advice(predictions[0], predictions, work) == "Storage binds: 2 stripes would take 88% less time."
    assert "no other element is faster" in advice(predictions[-1], predictions, work)


def test_an_element_that_gives_nothing_takes_for_ever() -> None:
    assert math.isinf(forecast(Work(1, 0, 0), [Place("u/dead", 0, 0)]).seconds)
    with pytest.raises(ValueError, match="moves no byte"):
        forecast(Work(0, 0, 1), [FAST])


def test_a_profile_that_was_kept_is_the_same_again() -> None:
    program_profile = ProgramProfile(
        ("a", "b"), 2.0, 1.0, 5, 6, 1, 1, (FileUse("/a", 5, 6, "random"),), (Phase("reads", 0.0, 2.0, 5, 6),),
        counters={"page faults": 3}, notes=("x",),
    )  # fmt: skip
    assert from_json({**program_profile.as_json(), "requirements": []}) == program_profile
    with pytest.raises(KeyError):
        from_json({"command": []})
