"""What an element is expected to give and what it misses, in words: each kind with its own numbers.  Pure."""

from collections.abc import Sequence

from ses_client.messages.selections import Candidate, Placement, Prediction
from ses_client.messages.vocabulary import Vocabulary

from ses_webface.quantities import show_quantity

_MIN_SHOWN = 0.01


def misses(choice: Candidate | Placement, words: Vocabulary) -> str:
    """Return what is missed by how much: ``current write rate 20% short, free capacity unknown``."""
    missed = missed_of(choice.predicted, words)
    if missed:
        return ", ".join(f"{words.label(each.kind).lower()} {_how_far(each, words)}" for each in missed)
    if choice.predicted or choice.distance <= 0:
        return "meets everything"
    return f"misses something by a distance of {choice.distance:.2g}"  # an old record: its numbers are gone


def expectation(element: str, predicted: Sequence[Prediction], words: Vocabulary) -> str:
    """Return what was expected of an element, in one sentence."""
    missed = missed_of(predicted, words)
    if not missed:
        return f"{element} was expected to give everything asked for."
    rest = ", and to meet the rest" if len(missed) < len(predicted) else ""
    given = _joined([_given(prediction, words) for prediction in missed])
    return f"{element} was expected to give {given}{rest}."


def missed_of(predicted: Sequence[Prediction], words: Vocabulary) -> list[Prediction]:
    """Return what is missed, in the order of the form."""
    return sorted(
        (prediction for prediction in predicted if prediction.shortfall > 0),
        key=lambda prediction: words.rank(prediction.kind),
    )


def _how_far(prediction: Prediction, words: Vocabulary) -> str:
    if prediction.value is None or not prediction.bound:
        return "unknown" if prediction.value is None else "missed"
    part = abs(prediction.value / prediction.bound - 1)
    share = f"{part:.0%}" if part >= _MIN_SHOWN else f"under {_MIN_SHOWN:.0%}"
    return f"{share} {'over' if _at_most(prediction, words) else 'short'}"


def _given(prediction: Prediction, words: Vocabulary) -> str:
    value = (
        "an unknown part" if prediction.value is None else show_quantity(prediction.value, prediction.unit)
    )
    bound = show_quantity(prediction.bound, prediction.unit)
    asked = f"where at most {bound} was" if _at_most(prediction, words) else f"of the {bound}"
    return f"{value} {asked} asked for ({words.label(prediction.kind).lower()})"


def _at_most(prediction: Prediction, words: Vocabulary) -> bool:
    kind = words.kind(prediction.kind)
    return kind is not None and kind.at_most


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
