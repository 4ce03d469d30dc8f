"""What another requirement, or more stripes, would have meant for files that missed.  Pure.

Nothing is simulated: stripes are judged by what was predicted, when each file was created, of the elements
that were there; requirements by what files received.  Where a file goes by another requirement, and what
others would do then, nobody knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ses_service.ledger.files import File
from ses_service.ledger.placement import Candidate
from ses_service.model.kinds import RATES, Kind

MAX_STRIPES = 8
_MIN_FILES = 3  # files of a kind, from which there is a sentence
_NINE_OF_TEN = 0.9


@dataclass(frozen=True, slots=True)
class Miss:
    """A file that missed a requirement, with the elements there were as its decision saw them."""

    file: File
    candidates: tuple[Candidate, ...]


def what_if(missed: Sequence[Miss]) -> list[str]:
    """Return sentences about files that missed, by kind; none where too little is known."""
    sentences = []
    for kind in RATES:
        of_kind = [miss for miss in missed if miss.file.kind == kind.record and miss.file.bound]
        if len(of_kind) >= _MIN_FILES:
            sentences += [
                text for text in (_by_requirement(kind, of_kind), _by_stripes(kind, of_kind)) if text
            ]
    return sentences


def _by_requirement(kind: Kind, missed: Sequence[Miss]) -> str:
    received = sorted((miss.file.achieved for miss in missed if miss.file.achieved), reverse=True)
    if len(received) < _MIN_FILES:
        return ""
    least = received[round(_NINE_OF_TEN * (len(received) - 1))]
    return (
        f"another requirement: of the latest {len(received)} files that missed a {_words(kind)}, nine of ten "
        f"got {least / kind.size:.3g} {kind.unit} or more; requiring that much would have called them met."
    )


def _by_stripes(kind: Kind, missed: Sequence[Miss]) -> str:
    known = [miss for miss in missed if miss.candidates]
    if len(known) < _MIN_FILES:
        return ""
    enough = [_stripes(kind, miss) for miss in known]
    alone = enough.count(1)
    alone_enough = (
        f"spreading files: when {len(known)} of them were created, one element was predicted to give the "
        f"required {_words(kind)} to {alone} of them"
    )
    counts = [count for count in enough if count is not None]
    if len(counts) > alone:
        return f"{alone_enough}; the best {max(counts)} together were to {len(counts)}."
    return f"{alone_enough}; several together were to no more."


def _stripes(kind: Kind, missed: Miss) -> int | None:
    """Return how many of the best elements together were predicted to give enough; ``None``: not even all."""
    offered = sorted(
        (
            prediction.value
            for candidate in missed.candidates
            for prediction in candidate.predicted
            if prediction.kind == kind and prediction.value
        ),
        reverse=True,
    )
    total = 0.0
    for count, value in enumerate(offered[:MAX_STRIPES], 1):
        total += value
        if total >= (missed.file.bound or 0.0):
            return count
    return None


def _words(kind: Kind) -> str:
    return kind.value.replace("-", " ")
