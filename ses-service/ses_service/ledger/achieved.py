"""What a file received: what its node's agent saw of it from its create to its close, and at what doubt.

Bytes, seconds and bytes per second.  Not frozen, as all that is made for every file.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ses_service.model.kinds import Kind

Sample: TypeAlias = tuple[float, float, float]


class Doubt(StrEnum):
    """Why a figure may say less than it seems.

    ``page-cache``: what was written may be in the node's memory only; ``too-small``, ``too-short``: there was
    too little to measure; ``shared``: several files of the process moved at the same time and could not be
    distinguished; ``gaps``: the agent did not look for a while; ``mapped``: the file was written or read as
    memory.
    """

    PAGE_CACHE = "page-cache"
    TOO_SMALL = "too-small"
    TOO_SHORT = "too-short"
    SHARED = "shared"
    GAPS = "gaps"
    MAPPED = "mapped"


@dataclass(slots=True)
class Achieved:
    """What one file received.

    ``writing_seconds`` and ``reading_seconds`` are those in which data moved, ``open_seconds`` those from its
    create to its close.  ``bytes_on_device``: what is known to have reached the device by the end; ``None``:
    unknown.  ``samples`` are seconds since the create, bytes written and bytes read until then.
    """

    bytes_written: float
    bytes_read: float
    writing_seconds: float
    reading_seconds: float
    open_seconds: float
    bytes_on_device: float | None = None
    doubts: tuple[Doubt, ...] = ()
    samples: tuple[Sample, ...] = ()


class Verdict(StrEnum):
    """Whether a file received what was required: nearly is at least 80 % of it."""

    MET = "met"
    NEARLY = "nearly"
    MISSED = "missed"
    CANNOT_SAY = "cannot-say"

    @property
    def words(self) -> str:
        """Return it as people read it."""
        return self.value.replace("-", " ")


class Cause(StrEnum):
    """Why a requirement was likely missed.

    ``program``: the program itself waited elsewhere; ``slow-element``: the element was slower than described;
    ``others``: other streams came to the element; ``foreseen``: the prediction at the create was below what
    was required; ``client-or-network``: the element had time left, so that the program, its node or the
    network was the limit.
    """

    PROGRAM = "program"
    SLOW_ELEMENT = "slow-element"
    OTHERS = "others"
    FORESEEN = "foreseen"
    CLIENT_OR_NETWORK = "client-or-network"


@dataclass(slots=True)
class KindVerdict:
    """One kind that was required, in base units (bytes, bytes per second).

    ``achieved`` is what the program saw and ``at_least`` what is certain of it; ``None``: unknown.  ``why``
    is a sentence where there is more to say than the numbers.
    """

    kind: Kind
    bound: float
    predicted: float | None
    achieved: float | None
    at_least: float | None
    verdict: Verdict
    why: str = ""


@dataclass(slots=True)
class FileVerdict:
    """What became of the requirements of one file; ``verdict`` ``None``: nothing was required.

    ``worst`` is the place among ``kinds`` of the one that decided.  ``load`` is that of its element: seconds
    since the create, the part of it that was busy, and our streams on it.
    """

    verdict: Verdict | None
    kinds: tuple[KindVerdict, ...] = ()
    worst: int | None = None
    cause: Cause | None = None
    why: str = ""
    load: tuple[Sample, ...] = ()
