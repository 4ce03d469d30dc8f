"""What an element is expected to give and what it misses, in words: each kind with its own numbers.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ses_client.messages.selections import Candidate, Placement, Prediction
from ses_client.messages.vocabulary import Vocabulary

from ses_webface.quantities import show_quantity

_MIN_SHOWN = 0.01


def misses(one: Candidate | Placement, words: Vocabulary) -> str:
    """Return what is missed by how much: ``current write rate 20% short, free capacity unknown``."""
    missed = missed_of(one.predicted, words)
    if missed:
        return ", ".join(f"{words.label(each.kind).lower()} {_how_far(each, words)}" for each in missed)
    if one.predicted or one.distance <= 0:
        return "meets everything"
    return f"misses something by a distance of {one.distance:.2g}"  # an old record: its numbers are gone


def expectation(element: str, predicted: Sequence[Prediction], words: Vocabulary) -> str:
    """Return what was expected of an element, in one sentence."""
    missed = missed_of(predicted, words)
    if not missed:
        return f"{element} was expected to give everything asked for."
    rest = ", and to meet the rest" if len(missed) < len(predicted) else ""
    return f"{element} was expected to give {_joined([_given(one, words) for one in missed])}{rest}."


def missed_of(predicted: Sequence[Prediction], words: Vocabulary) -> list[Prediction]:
    """Return what is missed, in the order of the form."""
    return sorted((one for one in predicted if one.shortfall > 0), key=lambda one: words.rank(one.kind))


def _how_far(one: Prediction, words: Vocabulary) -> str:
    if one.value is None or not one.bound:
        return "unknown" if one.value is None else "missed"
    part = abs(one.value / one.bound - 1)
    share = f"{part:.0%}" if part >= _MIN_SHOWN else f"under {_MIN_SHOWN:.0%}"
    return f"{share} {'over' if _at_most(one, words) else 'short'}"


def _given(one: Prediction, words: Vocabulary) -> str:
    value = "an unknown part" if one.value is None else show_quantity(one.value, one.unit)
    bound = show_quantity(one.bound, one.unit)
    asked = f"where at most {bound} was" if _at_most(one, words) else f"of the {bound}"
    return f"{value} {asked} asked for ({words.label(one.kind).lower()})"


def _at_most(one: Prediction, words: Vocabulary) -> bool:
    kind = words.kind(one.kind)
    return kind is not None and kind.at_most


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
