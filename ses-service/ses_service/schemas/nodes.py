"""What the agent of a node says, and what it is told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ses_service.announcement import Announcement, Ended, Opened, Origin
from ses_service.ledger import Opening
from ses_service.placement import EndReason
from ses_service.schemas.answers import Answer, Rates
from ses_service.schemas.requests import Body, Bytes, Device, ElementId, Inode, Text

MOST_FILES = 2000
MOST_USERS = 1000
MOST_SAMPLED = 1024

Id = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Path = Annotated[str, Field(min_length=1, max_length=8192)]
Time = Annotated[float, Field(ge=0, le=1e11)]
Note = Annotated[str, Field(max_length=500)]


class Restore(Body):
    """How a placement came about.  Either `element`, or `elements` in the order of stripes."""

    element: ElementId | None = None
    elements: Annotated[list[ElementId], Field(max_length=2000, default_factory=list)]
    booked_at: Time
    expected_bytes: Bytes | None = None
    distance: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    decided_by: Literal["service", "agent"] = "service"
    notes: Annotated[list[Note], Field(max_length=20, default_factory=list)]

    @model_validator(mode="after")
    def _one_or_many(self) -> Restore:
        if (self.element is None) == (not self.elements):
            raise ValueError("give either element or elements")
        return self

    def to_model(self) -> Origin:
        """Return it as the core knows it."""
        names = tuple(self.elements) if self.element is None else (self.element,)
        return Origin(
            names, self.booked_at, self.distance, self.decided_by, self.expected_bytes, tuple(self.notes)
        )


class FileOpened(Body):
    """A file that was created for a placement.  ``inode`` is decimal text: JSON numbers end at 2^53."""

    placement_id: Id
    user: Text
    path: Path | None = None
    device: Device
    inode: Inode
    pid: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    opened_at: Time | None = None
    application: Text | None = None
    job: Text | None = None
    restore: Restore | None = None

    def to_model(self) -> Opened:
        """Return it as the core knows it."""
        opening = Opening(
            self.placement_id,
            self.path,
            self.device,
            self.inode,
            self.pid,
            self.opened_at,
            self.user,
            self.application,
            self.job,
        )
        return Opened(opening, None if self.restore is None else self.restore.to_model())


class FileEnded(Body):
    """A placement that is over."""

    placement_id: Id
    reason: Literal["closed", "exited", "unused", "expired", "failed", "lost"]
    bytes_written: Bytes | None = None
    path: Path | None = None

    def to_model(self) -> Ended:
        """Return it as the core knows it."""
        return Ended(self.placement_id, EndReason(self.reason), self.bytes_written, self.path)


class AnnouncementIn(Body):
    """Files that were created, placements that are over, and a sign of life.

    At most 2,000 of both.  `complete`: `opened` is all that is open on the node.  `users`: whose
    applications the agent wants to know.  `snapshot`: how many elements it wants to know.
    """

    incarnation: Id
    opened: Annotated[list[FileOpened], Field(max_length=MOST_FILES, default_factory=list)]
    ended: Annotated[list[FileEnded], Field(max_length=MOST_FILES, default_factory=list)]
    complete: bool = False
    users: Annotated[list[Text], Field(max_length=MOST_USERS, default_factory=list)]
    snapshot: Annotated[int, Field(ge=0, le=MOST_SAMPLED)] = 0

    @model_validator(mode="after")
    def _not_too_many(self) -> AnnouncementIn:
        if len(self.opened) + len(self.ended) > MOST_FILES:
            raise ValueError(f"more than {MOST_FILES} opened and ended together")
        return self

    def to_model(self, node: str) -> Announcement:
        """Return it as the core knows it."""
        return Announcement(
            node,
            self.incarnation,
            tuple(one.to_model() for one in self.opened),
            tuple(one.to_model() for one in self.ended),
            self.complete,
        )


class RefusedFile(Answer):
    """A file of the announcement that was not taken, and why."""

    placement_id: str
    detail: str


class HeldFile(Answer):
    """A file the ledger holds open for the node."""

    placement_id: str
    user: str
    device: int | None
    inode: str | None
    path: str | None
    pid: int | None


class SampledElement(Answer):
    """One element of a snapshot; null is unknown."""

    element: str
    storage_system: str
    backend: str
    target: str
    state: str
    capability: Rates
    available: Rates
    free_gb: float | None


class Snapshot(Answer):
    """A random part of the site, for decisions without the service.

    `elements_total` is how many there are; `arrival_rate` is in placements a second, everywhere.
    """

    decided_at: float
    elements_total: int
    arrival_rate: float
    elements: list[SampledElement]


class AnnouncementTaken(Answer):
    """What came of it.

    `instance` is another one with each start of the service.  `unknown`: told without `restore`, and
    the ledger does not know them.  `open`: given when this agent is heard for the first time.
    `generations`: by user, another value when what the user's requirements resolve from has changed;
    tickets dealt before that are out of date.  A user who is missing has not changed.
    """

    instance: str
    next_within_seconds: float
    unknown: list[str]
    refused: list[RefusedFile]
    open: list[HeldFile] | None
    applications: dict[str, list[str]]
    generations: dict[str, str]
    snapshot: Snapshot | None


class NodeOut(Answer):
    """One node whose agent announces its files."""

    node: str
    incarnation: str
    since: float
    heard_at: float
    silent_after: float
    open_placements: int


class NodeList(Answer):
    """The nodes, by name."""

    nodes: list[NodeOut]
