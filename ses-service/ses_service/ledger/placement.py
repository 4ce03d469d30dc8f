"""What is recorded of one placement: who asked, where the file went, why, and how it ended.

Records are never changed but replaced: they are shared with those who store or answer them in other
threads.  Those of placements are in native code (``libses/state/records.h``), and these classes are what
Python sees of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import orjson
from ses_state import _state

from ses_service.ledger.achieved import Achieved, Cause, Doubt, FileVerdict, KindVerdict, Verdict
from ses_service.model.entities import Element, Kind, ResolvedRequirement, Subject


class Basis(StrEnum):
    """What a prediction rests on, best first."""

    MONITOR = "monitor+ledger"
    LEDGER = "ledger"
    STATIC = "static"


class Reason(StrEnum):
    """Why an element was refused."""

    WRONG_SYSTEM = "wrong-system"
    UNREACHABLE = "unreachable"
    EXCLUDED = "excluded"
    INACTIVE = "inactive"
    READ_ONLY = "read-only"
    DRAINING = "draining"
    NO_SPACE = "no-space"
    HARD_REQUIREMENT = "hard-requirement"
    DEGRADED = "degraded"


class PlacementState(StrEnum):
    """Whether the file counts."""

    OPEN = "open"
    ENDED = "ended"


class EndReason(StrEnum):
    """Why a placement ended.

    ``unused``: no file came of it; ``expired``: its lease ran out; ``lost``: its agent was started
    again and finds it open no more; ``silent``: its node did not report any more.
    """

    CLOSED = "closed"
    EXITED = "exited"
    UNUSED = "unused"
    EXPIRED = "expired"
    FAILED = "failed"
    LOST = "lost"
    SILENT = "silent"


MAY_RETURN = frozenset({EndReason.EXPIRED, EndReason.LOST, EndReason.SILENT})


@dataclass(slots=True)
class Prediction:
    """What one kind of requirement would get.  Bytes per second or bytes; ``None``: unknown.

    ``shortfall`` is 0 when the bound is met and 1 when nothing is (known to be) offered.
    """

    kind: Kind
    value: float | None
    bound: float
    shortfall: float


@dataclass(slots=True)
class Candidate:
    """One element that may be chosen.  Rates are bytes per second, ``free`` bytes, ``age`` seconds.

    ``ordered_by`` names what of the order puts it after the one before it (``NAMES`` of :mod:`ordered_by`),
    ``after`` says so in words; empty: nothing does.  ``keys`` are the numbers by which candidates are sorted,
    the smaller first, as ``ses_core_ordered_by()`` gives them; empty: not known.
    """

    rank: int
    element: Element
    distance: float
    available_read: float | None
    available_write: float | None
    free: float | None
    predicted: tuple[Prediction, ...]
    age: float | None
    basis: Basis
    ordered_by: str = ""
    after: str = ""
    keys: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """One element that was not considered, and the sentence that says why."""

    element: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Held:
    """What a place has that a file has not.  Times are seconds since the epoch, sizes bytes.

    ``claimed`` is what was asked for, or what places like it took; ``written`` what lies there, as reported
    last.  ``until`` is when it ends; ``None``: with its process, of which ``started`` (ticks since the node
    did) and ``namespace`` say which of its number it is.
    """

    claimed: float | None = None
    written: float | None = None
    until: float | None = None
    started: int | None = None
    namespace: int | None = None


if TYPE_CHECKING:

    @dataclass(frozen=True)
    class Placement:
        """One entry of the ledger.  Times are seconds since the epoch, sizes bytes.

        ``candidates`` and ``refused`` are the explanation: the first ranks and the refused elements at the
        moment of the decision.  Files chosen from one state of a node's table share those before the first:
        this one was number ``batch_number`` of ``batch_size``, its element had ``rank`` in that order, and
        ``distance`` and ``predicted`` count those before it.  ``notes`` are sentences about the decision.
        ``decided_by`` is ``program`` when it chose from its node's table, ``agent`` when it asked the agent.
        ``lease_until`` is when the entry ends by itself; infinite: as long as its node reports.

        ``stripes`` are all elements the file is spread over, ``element`` first; none means ``element`` alone.
        ``expected_from`` says where the expected size is from: ``request`` or ``history``.
        ``stripe_size`` ``None`` leaves it to the file system.

        ``idle``: nothing moves in the open file for a while, so that it is no stream; ``resumed_at`` is when
        it became one again.  ``achieved`` is what its agent saw of it, ``None`` where it did not follow it,
        and ``file_verdict`` what that means for the requirements, a moment after the end.

        ``held`` is there of a place (:mod:`ses_service.ledger.places`): a directory that was given, ``path``,
        of whose claim ``expected_bytes`` are not written yet.
        """

        placement_id: str
        subject: Subject
        element: Element
        backend: str
        distance: float
        placed_at: float
        lease_until: float
        predicted: tuple[Prediction, ...] = ()
        requirements: tuple[ResolvedRequirement, ...] = ()
        candidates: tuple[Candidate, ...] = ()
        refused: tuple[Refusal, ...] = ()
        rank: int = 1
        batch_number: int = 1
        batch_size: int = 1
        notes: tuple[str, ...] = ()
        stripes: tuple[Element, ...] = ()
        stripe_count: int = 1
        stripe_size: int | None = None
        decided_by: str = "service"
        expected_bytes: float | None = None
        expected_from: str | None = None
        state: PlacementState = PlacementState.OPEN
        path: str | None = None
        device: int | None = None
        inode: str | None = None
        pid: int | None = None
        opened_at: float | None = None
        idle: bool = False
        resumed_at: float | None = None
        ended_at: float | None = None
        end_reason: EndReason | None = None
        bytes_written: float | None = None
        achieved: Achieved | None = None
        file_verdict: FileVerdict | None = None
        held: Held | None = None

        @property
        def elements(self) -> tuple[str, ...]:
            """The ids of all elements the file is spread over."""
            ...

        @property
        def node(self) -> str | None:
            """The node it is on, as ``subject`` says."""
            ...

        @property
        def is_judged(self) -> bool:
            """Whether ``file_verdict`` is there."""
            ...

        def replaced(self, **changes: Any) -> Placement:
            """Return another record of the same, with other values of some members."""
            ...

else:
    Placement = _state.Placement


@dataclass(slots=True)
class PeerPlacement:
    """An open file that another service carries; what the counts need of a placement.

    ``placed_at`` is since when it is a stream, by our clock.
    """

    placement_id: str
    origin: str
    node: str
    elements: tuple[str, ...]
    placed_at: float
    expected_bytes: float | None = None
    resumed_at: float | None = None


def _held_text(held: Held) -> str:
    """Return what a row of the database says of what a place has."""
    return orjson.dumps(_HELD(held)).decode()


_HELD = attrgetter(*(field.name for field in fields(Held)))
_CLASSES = (
    Achieved, Cause, Doubt, EndReason, FileVerdict, KindVerdict, PlacementState, Prediction, Subject, Verdict,
)  # fmt: skip
_state.use_classes({entry.__name__: entry for entry in _CLASSES} | {"held_text": _held_text})
