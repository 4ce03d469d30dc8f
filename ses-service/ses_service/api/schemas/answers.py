"""Answers.  These models describe them for the contract; :mod:`ses_service.api.render` makes them.

Rates are MB/s and capacities GB (decimal) unless a name says bytes; times are seconds since the
epoch; ``null`` is unknown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ses_service.api.schemas.kinds import shown_units, without_defaults
from ses_service.api.schemas.requests import KindName, Moment, StrictnessName
from ses_service.ledger.ordered_by import OrderName

ShownUnit = Annotated[str, Field(json_schema_extra=shown_units)]
LevelName = Literal["explicit", "application", "user", "vo", "site", "profile"]
ExpectedFrom = Literal["request", "history"]
StateName = Literal["active", "degraded", "draining", "read-only", "inactive"]
ReasonName = Literal[
    "wrong-system",
    "unreachable",
    "excluded",
    "inactive",
    "read-only",
    "draining",
    "no-space",
    "hard-requirement",
    "degraded",
]


class Answer(BaseModel):
    """An answer says exactly what is written here."""

    model_config = ConfigDict(extra="forbid")


class SubjectOut(Answer):
    """Who asked, with the VO that applied."""

    user: str
    application: str | None
    vo: str | None
    node: str | None
    job: str | None


class RequirementOut(Answer):
    """One bound, in the unit its kind is shown in: `minimum`, or `maximum` where less is better.

    `stated_unit` is the unit people wrote it in, where that is another one.  `valid_from` and `valid_until`
    are there where the requirement has them.
    """

    model_config = ConfigDict(json_schema_extra=without_defaults)

    kind: KindName
    minimum: float = 0.0
    maximum: float = 0.0
    unit: ShownUnit
    stated_unit: str = ""
    weight: float
    strictness: StrictnessName
    valid_from: Moment = ""
    valid_until: Moment = ""


class ResolvedRequirement(RequirementOut):
    """A requirement and where it was stated; `profile` where it is one of a profile named there."""

    level: LevelName
    level_name: str
    profile: str = ""


class PassedOver(ResolvedRequirement):
    """A requirement that is stated and does not count, and why."""

    reason: str


class Prediction(Answer):
    """What one kind would get; ``shortfall`` 0 meets the bound, 1 offers nothing of it."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    kind: KindName
    value: float | None
    unit: ShownUnit
    minimum: float = 0.0
    maximum: float = 0.0
    shortfall: float


class Rates(Answer):
    """A read and a write rate."""

    read_mb_s: float | None
    write_mb_s: float | None


class Candidate(Answer):
    """One rank.  ``basis`` says what the prediction rests on.

    `ordered_by` names what puts it after the one before it, null where nothing does; `after` says so in
    words.  `order` are the numbers that are compared, one after the other, the smaller first; null:
    the smallest there is (room is not tight); instead of all: not known, as a program chose.
    """

    rank: int
    element: str
    storage_system: str
    backend: str
    target: str
    distance: float
    available: Rates
    free_gb: float | None
    predicted: list[Prediction]
    age_seconds: float | None
    basis: Literal["monitor+ledger", "ledger", "static"]
    ordered_by: OrderName | None
    after: str
    order: dict[OrderName, float | None] | None


class Refusal(Answer):
    """One element that was not considered, and why."""

    element: str
    reason: ReasonName
    detail: str


class Selection(Answer):
    """Ranked candidates, refused elements, and what a person should know about the data.

    `stripe_count` is over how many elements a file placed on the first candidate would be spread;
    `notes` say what decided it.  `expected_bytes` is the size the decision counts on, `expected_from` where
    that is from.
    """

    decided_at: float
    requirements: list[ResolvedRequirement]
    stripe_count: int
    expected_bytes: float | None
    expected_from: ExpectedFrom | None
    candidates: list[Candidate]
    refused: list[Refusal]
    notes: list[str]


class Stripe(Answer):
    """One of the elements a file is spread over."""

    element: str
    target: str


class PlacementSummary(Answer):
    """One placement without its explanation.

    ``path``, ``device`` and ``inode`` are the file's when it was created, as its node saw them.
    ``lease_until`` is null for a file that is open as long as its node is heard of.
    """

    placement_id: str
    state: Literal["open", "ended"]
    subject: SubjectOut
    element: str
    storage_system: str
    target: str
    stripe_count: int
    stripe_size_bytes: int | None
    elements: list[Stripe]
    path: str | None
    device: int | None
    inode: str | None
    distance: float
    predicted: list[Prediction]
    requirements: list[ResolvedRequirement]
    placed_at: float
    opened_at: float | None
    ended_at: float | None
    end_reason: Literal["closed", "exited", "unused", "expired", "failed", "lost", "silent"] | None
    bytes_written: float | None
    expected_bytes: float | None
    expected_from: ExpectedFrom | None
    decided_by: Literal["service", "agent", "program"]
    lease_until: float | None


class PlacementRecord(PlacementSummary):
    """One placement with the first ranks and the refused elements at its decision.

    Files that one application chose from one state of the table share those of the first of them: this
    one was number `batch_number` of `batch_size`, its element had `rank` in that order, and `distance` and
    `predicted` count those chosen before it.  `predicted_now` is what it would get from now on, with what
    came and went since; empty for a file that is not open.
    """

    predicted_now: list[Prediction]
    rank: int
    batch_number: int
    batch_size: int
    notes: list[str]
    candidates: list[Candidate]
    refused: list[Refusal]


class PlacementList(Answer):
    """Placements, the latest first."""

    placements: list[PlacementSummary]


class RatePair(Answer):
    """A rate over the monitor's short and its long window, bytes per second."""

    current: float | None
    average: float | None


class ObservationOut(Answer):
    """What the monitor last saw of an element.

    ``degraded``: it works on with less than it has, such as a RAID without a disk.  ``no_create``: it takes
    no new files, though those that are there can be written.
    """

    element: str
    source: str
    target: str
    state: Literal["ok", "stale", "missing"]
    sampled_at: float | None
    age_seconds: float | None
    read_bytes_per_second: RatePair
    write_bytes_per_second: RatePair
    queue_depth: float | None
    free_bytes: float | None
    size_bytes: float | None
    read_only: bool
    degraded: bool
    no_create: bool
    detail: str


class ElementOut(Answer):
    """One element: static facts, the last observation, and what a stream would get now.

    `state_reason` is the administrator's; the state ends by itself at `state_until` (ISO 8601).
    `server_link_mb_s` is what the link of its server carries for all elements there.
    `free_bytes_per_day` is how the free space changes, by a line through the last weeks, null before a day of
    samples; at that pace it is used up in `full_in_days`, null where it is not within ten years.
    `excluded` names the nodes whose files cannot go there.
    """

    id: str
    iri: str
    label: str
    storage_system: str
    backend: str
    mount_point: str
    target: str
    file_system: str | None
    server: str
    tier: str | None
    pool: str | None
    state: StateName
    state_reason: str | None
    state_until: str | None
    capacity_bytes: float | None
    nominal: Rates
    server_link_mb_s: float | None
    observation: ObservationOut | None
    available: Rates
    open_placements: int
    reserved_bytes: float
    excluded: list[ExcludedElement]
    free_bytes_per_day: float | None
    full_in_days: float | None


class HistoryPoint(Answer):
    """Means over one step, which ended `at`."""

    at: float
    read_mb_s: float | None
    write_mb_s: float | None
    queue_depth: float | None


class ElementHistory(Answer):
    """What an element did, the oldest step first; steps of which nothing is known are left out.

    `source` is where the monitor has it from, `detail` why it is not a better one.
    """

    element: str
    since: float
    until: float
    step_seconds: float
    source: str
    detail: str
    points: list[HistoryPoint]


class MonitorSource(Answer):
    """The monitor, as this service sees it.  ``age_seconds`` is since its last answer."""

    url: str | None
    reachable: bool
    age_seconds: float | None


class KnowledgeBaseSource(MonitorSource):
    """The knowledge base, as this service sees it."""

    revision: str | None


class ElementList(Answer):
    """Every element of the site."""

    generated_at: float
    elements: list[ElementOut]
    monitor: MonitorSource
    knowledge_base: KnowledgeBaseSource


class StorageSystemOut(Answer):
    """One mounted file system."""

    name: str
    backend: str
    mount_point: str
    elements: int


class StorageSystemList(Answer):
    """Every storage system of the site."""

    storage_systems: list[StorageSystemOut]


class MeasuredRunOut(Answer):
    """What a program moved and computed in the run a profile is from: `cores` is how many it used at once."""

    read_bytes: float
    written_bytes: float
    seconds: float
    processor_seconds: float
    cores: int


class RequirementSetOut(Answer):
    """One requirement set; ``revision`` 0 means it was never set.

    `definition` and `measured` are there at profile level only.
    """

    model_config = ConfigDict(json_schema_extra=without_defaults)

    level: LevelName
    name: str
    requirements: list[RequirementOut]
    profile: str | None
    revision: int
    modified_at: float | None
    modified_by: str | None
    definition: str = ""
    measured: MeasuredRunOut | None = None


class RequirementSetList(Answer):
    """Requirement sets by level and name."""

    sets: list[RequirementSetOut]


class EffectiveRequirements(Answer):
    """What applies to a subject, kind by kind."""

    subject: SubjectOut
    vo_from: str | None
    requirements: list[ResolvedRequirement]
    passed_over: list[PassedOver]
    notes: list[str]


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]


class Check(Answer):
    """One thing the service needs."""

    name: str
    ok: bool
    detail: str


class Readiness(Answer):
    """Whether decisions are made, and whether with less than there should be, by which version."""

    ready: bool
    degraded: bool
    version: str
    checks: list[Check]


class Located(Answer):
    """Where a request is wrong, and how."""

    location: str
    message: str


class ProblemOut(BaseModel):
    """An error (RFC 9457).  ``type`` is ``urn:qstorman:problem:`` and a name."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Located] = []
    refused: list[Refusal] = []


class ExcludedElement(Answer):
    """An element to which no file of a node can go, of a user there if one is named, and why."""

    node: str
    element: str
    user: str | None
    why: str


class StalledThread(Answer):
    """A thread of a node's agent that does not go on, since when, in seconds since the epoch."""

    node: str
    thread: str
    since: float
