"""What an element is expected to give and what it misses, in words."""

import pytest
from ses_client.messages.selections import Prediction
from ses_client.messages.vocabulary import Kind, Vocabulary
from ses_webface.shortfalls import expectation, misses


def kind(name: str, unit: str, bound: str = "minimum") -> Kind:
    label = name.replace("-", " ")
    return Kind(
        kind=name, label=label, definition="", unit=unit, units=[unit], sizes={unit: 1.0}, bound=bound
    )


WORDS = Vocabulary(
    kinds=(kind("current-write-rate", "MB/s"), kind("free-capacity", "GB"), kind("latency", "ms", "maximum"))
)

RATE = Prediction(kind="current-write-rate", value=40.0, unit="MB/s", minimum=50.0, shortfall=0.2)
SPACE = Prediction(kind="free-capacity", value=3.0, unit="GB", minimum=4.0, shortfall=0.25)
LATENCY = Prediction(kind="latency", value=12.0, unit="ms", minimum=10.0, shortfall=1 / 6)
MET = Prediction(kind="free-capacity", value=9.0, unit="GB", minimum=4.0, shortfall=0.0)
HARDLY = Prediction(kind="current-write-rate", value=49.9, unit="MB/s", minimum=50.0, shortfall=0.002)
UNKNOWN = Prediction(kind="current-write-rate", value=None, unit="MB/s", minimum=50.0, shortfall=1.0)


@pytest.mark.parametrize(
    ("predicted", "short", "sentence"),
    [
        ((), "meets everything", "e was expected to give everything asked for."),
        ((MET,), "meets everything", "e was expected to give everything asked for."),
        (
            (SPACE, RATE),
            "current write rate 20% short, free capacity 25% short",
            "e was expected to give 40 MB/s of the 50 MB/s asked for (current write rate) and 3 GB of the "
            "4 GB asked for (free capacity).",
        ),
        (
            (RATE, MET),
            "current write rate 20% short",
            "e was expected to give 40 MB/s of the 50 MB/s asked for (current write rate), and to meet the "
            "rest.",
        ),
        (
            (LATENCY, MET),
            "latency 20% over",
            "e was expected to give 12 ms where at most 10 ms was asked for (latency), and to meet the rest.",
        ),
        (
            (HARDLY,),
            "current write rate under 1% short",
            "e was expected to give 49.9 MB/s of the 50 MB/s asked for (current write rate).",
        ),
        (
            (UNKNOWN,),
            "current write rate unknown",
            "e was expected to give an unknown part of the 50 MB/s asked for (current write rate).",
        ),
    ],
)
def test_every_kind_that_is_missed_is_named_with_its_own_numbers(
    make_placement, predicted: tuple[Prediction, ...], short: str, sentence: str
) -> None:
    distance = max((prediction.shortfall for prediction in predicted), default=0.0)
    made = make_placement(8, "alice", predicted=predicted, distance=distance * 0.9)
    assert misses(made, WORDS) == short
    assert expectation("e", predicted, WORDS).replace("\u00a0", " ") == sentence
