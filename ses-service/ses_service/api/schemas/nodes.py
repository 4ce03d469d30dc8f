"""What the agent of a node announces."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from ses_state import _state

from ses_service.api.schemas.followed import AchievedIn, AnnouncedPart, Number, ReadingIn, StalledIn
from ses_service.api.schemas.items import PLACEMENT_ID, Itemised
from ses_service.api.schemas.requests import Bound, Bytes, Device, ElementId, Inode, SetName, Text, Weight
from ses_service.decision.node_tables import TableAsked
from ses_service.ledger import node_decisions
from ses_service.ledger.announcement import Announcement
from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.node_decisions import NodeDecisions
from ses_service.ledger.pace import Use
from ses_service.model import limits
from ses_service.model.entities import Level, Requirement, ResolvedRequirement, Strictness
from ses_service.model.kinds import PREDICTED, Kind

MAX_TABLES = 16

Id = Annotated[str, Field(pattern=PLACEMENT_ID)]
Path = Annotated[str, Field(min_length=1, max_length=limits.MAX_PATH)]
Time = Annotated[float, Field(ge=0, le=1e11)]
Digest = Annotated[str, Field(max_length=64)]
Note = Annotated[str, Field(max_length=500)]


def _listed(most: int, kind: type = list) -> Any:
    return Field(max_length=most, default_factory=kind)


class Restore(AnnouncedPart):
    """How a placement came about.  Either `element`, or `elements` in the order of stripes."""

    element: ElementId | None = None
    elements: Annotated[list[ElementId], _listed(limits.MAX_STRIPE_COUNT)]
    placed_at: Time
    expected_bytes: Bytes | None = None
    distance: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    decided_by: Literal["service", "agent", "program"] = "service"
    notes: Annotated[list[Note], _listed(20)]

    @model_validator(mode="after")
    def _one_or_many(self) -> Restore:
        if (self.element is None) == (not self.elements):
            raise ValueError("give either element or elements")
        return self


class Offered(AnnouncedPart):
    """What an element offers, bytes per second and bytes; null is unknown."""

    read: Number | None = None
    write: Number | None = None
    average_read: Number | None = None
    average_write: Number | None = None
    free: Number | None = None

    def to_model(self) -> node_decisions.Offered:
        """Return it as the core knows it."""
        return node_decisions.Offered(self.read, self.write, self.average_read, self.average_write, self.free)


class Considered(Offered):
    """An element that could be chosen; `streams` are those there, `age` that of its sample in seconds.

    `server_limit` is what the link of its server leaves a stream, null where that is not less than what the
    element would give, or not known.  `own` are those of the streams that QStorMan placed, `order` is the
    number of what puts it after the one before it (`enum ses_core_order`).
    """

    element: ElementId
    distance: Annotated[float, Field(ge=0, le=1e9)]
    streams: Number = 0.0
    age: Number | None = None
    server_limit: Number | None = None
    own: Number | None = None
    order: Annotated[int, Field(ge=0, lt=2**31)] = 0


class RefusedHere(AnnouncedPart):
    """An element that could not, and which of the requirements it misses if that is why."""

    element: ElementId
    reason: Literal[
        "excluded",
        "inactive",
        "read-only",
        "draining",
        "no-space",
        "hard-requirement",
        "degraded",
        "not-usable-here",
    ]
    requirement: Annotated[int, Field(ge=0, lt=64)] | None = None


class NeedRequirement(AnnouncedPart):
    """A requirement as it is among needs; `bound` is in base units, of which a `unit` has `size`."""

    kind: Annotated[str, Field(min_length=1, max_length=limits.MAX_KIND)]
    code: int = 0
    bound: Bound
    weight: Weight = 1.0
    hard: bool = False
    at_most: bool = False
    unit: Annotated[str, Field(max_length=16)]
    size: Annotated[float, Field(gt=0, le=limits.MAX_BOUND)]
    level: Literal["explicit", "application", "user", "vo", "site"]
    level_name: SetName
    profile: SetName | None = None

    def to_model(self) -> ResolvedRequirement:
        """Return it as the core knows it."""
        kind = Kind(self.kind, self.unit, self.size, at_most=self.at_most)
        strictness = Strictness.HARD if self.hard else Strictness.SOFT
        stated = Requirement(
            next((predicted for predicted in PREDICTED if predicted == kind), kind),
            self.bound,
            self.weight,
            strictness,
        )
        return ResolvedRequirement(stated, Level(self.level), self.level_name, self.profile)


class JobRankIn(AnnouncedPart):
    """The program's rank in its job, `of` all ranks where their number is known, and its first element."""

    number: Annotated[int, Field(ge=0, lt=2**32)]
    of: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    begins_at: ElementId

    def to_model(self) -> node_decisions.JobRank:
        """Return it as the core knows it."""
        return node_decisions.JobRank(self.number, self.of, self.begins_at)


class DecisionMade(AnnouncedPart):
    """What files were chosen by that one user and application chose from one state of the node's table.

    `age_seconds` is that of the service's last answer then, `offline` that none came.  `job_rank` is null
    where the program has none.  `compared` is how many of the nearest candidates were compared, the first in
    the order of the node; null: all were.
    """

    id: Annotated[int, Field(ge=0, lt=2**31)]
    decided_at: Time
    system: Text
    version: Annotated[int, Field(ge=0, lt=2**53)] = 0
    age_seconds: Number | None = None
    offline: bool = False
    job_rank: JobRankIn | None = None
    compared: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    user_needs: Annotated[str, Field(max_length=64)] = ""
    requirements: Annotated[list[NeedRequirement], _listed(limits.MAX_REQUIREMENTS)]
    expected_bytes: Bytes | None = None
    expected_from: Literal["request", "history"] | None = None
    candidates: Annotated[list[Considered], _listed(limits.MAX_ANNOUNCED_ELEMENTS)]
    refused: Annotated[list[RefusedHere], _listed(limits.MAX_ANNOUNCED_ELEMENTS)]
    refused_total: Annotated[int, Field(ge=0, lt=2**31)] = 0

    def to_model(self) -> node_decisions.NodeDecision:
        """Return it as the core knows it."""
        return node_decisions.NodeDecision(
            self.decided_at,
            self.age_seconds,
            self.offline,
            tuple(requirement.to_model() for requirement in self.requirements),
            self.expected_bytes,
            self.expected_from,
            tuple(
                node_decisions.Considered(
                    candidate.element,
                    candidate.distance,
                    candidate.to_model(),
                    candidate.streams,
                    candidate.age,
                    candidate.server_limit,
                    candidate.own,
                    candidate.order,
                )
                for candidate in self.candidates
            ),
            tuple(
                node_decisions.Refused(refused.element, refused.reason, refused.requirement)
                for refused in self.refused
            ),
            self.refused_total,
            None if self.job_rank is None else self.job_rank.to_model(),
            self.compared,
        )


class InBatchMade(AnnouncedPart):
    """Which of the decisions a file is of, the how manieth of it, and what was predicted for it then."""

    id: Annotated[int, Field(ge=0, lt=2**31)]
    batch_number: Annotated[int, Field(ge=1, lt=2**31)] = 1
    batch_size: Annotated[int, Field(ge=1, lt=2**31)] = 1
    predicted: Offered = Offered()


class ExcludedHere(AnnouncedPart):
    """An element to which no file of the node, or of one user there, can go, and why."""

    element: ElementId
    why: Annotated[str, Field(max_length=1000)]
    user: Text | None = None


class TableWanted(AnnouncedPart):
    """A storage system that is mounted on the node, and what it has of its table: nothing, by default.

    `excluded` are all its elements to which no file of the node, or of some users, can go; without it they
    are as announced before.
    """

    system: Text
    revision: Annotated[str, Field(max_length=128)] = ""
    version: Annotated[int, Field(ge=0, lt=2**53)] = 0
    excluded: Annotated[list[ExcludedHere], Field(max_length=limits.MAX_ANNOUNCED_EXCLUDED)] | None = None

    def to_model(self) -> TableAsked:
        """Return it as the core knows it."""
        return TableAsked(self.system, self.revision, self.version)


class FileOpened(AnnouncedPart):
    """A file that was created for a placement.  ``inode`` is decimal text: JSON numbers end at 2^53.

    ``idle``: nothing was written or read for seconds; it is reported again when that changes.
    ``bytes``: its size, or how many were allocated to it, absent while few; reported again when many more,
    and when it is ``closed``, though it may still be read or written out of a cache.
    """

    placement_id: Id
    user: Text
    path: Path | None = None
    device: Device
    inode: Inode
    pid: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    opened_at: Time | None = None
    application: Text | None = None
    job: Text | None = None
    idle: bool = False
    bytes: Bytes | None = None
    closed: bool = False
    restore: Restore | None = None
    decision: InBatchMade | None = None


class FileEnded(AnnouncedPart):
    """A placement that is over."""

    placement_id: Id
    reason: Literal["closed", "exited", "unused", "expired", "failed", "lost"]
    bytes_written: Bytes | None = None
    path: Path | None = None
    achieved: AchievedIn | None = None


class AnnouncementIn(Itemised, AnnouncedPart):
    """Files that were created, placements that are over, and a sign of life.

    At most 2,000 of both.  `complete`: `opened` is all that is open on the node.  `decisions`: what files
    were chosen by.  `users`: whose needs the agent wants to know, `generations` what it has of them, and
    `tables` the storage systems whose elements it wants to know.  `busy`: programs run that can choose from
    them; `in_use`: some began, or files were created, within ten minutes.
    `number`: each announcement of an incarnation has a higher one than those before.
    `reading`: all existing files that are read there now; absent: as announced before.
    `stalled`: the agent's threads that have stalled, and no others have.

    An item that is refused is named in the answer, and all others are taken.  Files of a refused decision are
    taken without an explanation.
    """

    ITEMS = frozenset(
        {"opened", "ended", "users", "decisions", "generations", "tables", "reading", "stalled"}
    )

    incarnation: Id
    number: Annotated[int, Field(ge=0, lt=2**53)] = 0
    opened: Annotated[list[FileOpened], _listed(limits.MAX_ANNOUNCED_FILES)]
    ended: Annotated[list[FileEnded], _listed(limits.MAX_ANNOUNCED_FILES)]
    complete: bool = False
    users: Annotated[list[Text], _listed(limits.MAX_ANNOUNCED_USERS)]
    decisions: Annotated[list[DecisionMade], _listed(limits.MAX_ANNOUNCED_DECISIONS)]
    generations: Annotated[dict[Text, Digest], _listed(limits.MAX_ANNOUNCED_USERS, dict)]
    tables: Annotated[list[TableWanted], _listed(MAX_TABLES)]
    busy: bool = False
    in_use: bool = False
    reading: Annotated[list[ReadingIn], Field(max_length=limits.MAX_ANNOUNCED_READERS)] | None = None
    stalled: Annotated[list[StalledIn], _listed(64)]

    _files: ClassVar[_state.Files | None] = None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Return what can be taken of this; files that are right in every respect are read in native code."""
        decoded = _state.decode(json_data) if isinstance(json_data, bytes) else None
        if decoded is None:
            return super().model_validate_json(json_data, **options)
        files, rest = decoded
        message = super().model_validate_json(rest, **options)
        object.__setattr__(message, "_files", files)
        return message

    @property
    def files(self) -> _state.Files:
        """The files it is about, but for those that are refused."""
        if self._files is not None:
            return self._files
        decoded = _state.decode(self.model_dump_json(include={"opened", "ended"}).encode())
        assert decoded is not None, "the native code takes less than the contract says"
        return decoded[0]

    @model_validator(mode="after")
    def _not_too_many(self) -> AnnouncementIn:
        if len(self.opened) + len(self.ended) > limits.MAX_ANNOUNCED_FILES:
            raise ValueError(f"more than {limits.MAX_ANNOUNCED_FILES} opened and ended together")
        return self

    def to_model(self, node: str, version: str) -> Announcement:
        """Return it as the core knows it; ``version`` is the agent's."""
        return Announcement(
            node,
            self.incarnation,
            self.files,
            self.complete,
            Use.NOW if self.in_use else Use.PERHAPS if self.busy else Use.NONE,
            NodeDecisions({decision.id: decision.to_model() for decision in self.decisions}),
            None if self.reading is None else tuple(reading.to_model() for reading in self.reading),
            version,
            self.number,
            refused=tuple((item.placement_id, item.detail) for item in self.refused if item.placement_id),
            stalled={stalled.thread: stalled.seconds for stalled in self.stalled},
            excluded={
                table.system: tuple(
                    Exclusion(excluded.element, excluded.why, excluded.user) for excluded in table.excluded
                )
                for table in self.tables
                if table.excluded is not None
            },
        )
