"""The answer to an agent that announced files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message
from ses_client.messages.requirements import LevelName


class RefusedItem(Message):
    """What was not taken of a list of the announcement and is no file with an id; `index` counts from 0."""

    list: str
    index: int
    detail: str


class RefusedFile(Message):
    """A file of the announcement that was not taken, and why."""

    placement_id: str
    detail: str


class HeldPlace(Message):
    """Which process a place lasts as long as; `own_directory`: what is in it was written under the place.

    `seconds` is for how long it was given.
    """

    started: int
    namespace: int
    own_directory: bool
    seconds: float


class HeldFile(Message):
    """A file the ledger holds open for the node, or a place that lasts as long as process `pid`."""

    placement_id: str
    user: str
    device: int | None
    inode: str | None
    path: str | None
    pid: int | None
    place: HeldPlace | None


class UserRequirement(Message):
    """A requirement; `bound` is in base units, of which a `unit` has `size`; `code` is that of ses/core.h."""

    kind: str
    code: int
    bound: float
    weight: float
    hard: bool
    at_most: bool
    unit: str
    size: float
    level: Annotated[str, LevelName]
    level_name: str
    profile: str | None


class UserNeed(Message):
    """What files of a user and an application need; null: of any other application.

    `room_bytes` is the room that a file of unknown size should find, `expected_from` where that is from.
    """

    user: str
    application: str | None
    generation: str
    requirements: Sequence[UserRequirement]
    room_bytes: float | None
    expected_from: Annotated[str, Literal["history"]] | None


class TableElement(Message):
    """An element as it does not change often: bytes per second and bytes; null is unknown.

    `target` is a branch's directory, the number of an OST or the name of a pool, `file_system` the one a
    branch was described on.  `number` is its place among the elements of the system, the same for all nodes.
    `server_rate` is what the link of its server carries for all elements there.  `stated` are values of the
    kinds that the table names.
    """

    element: str
    target: str
    file_system: str | None
    number: int
    server: int
    scarce: bool
    kept_for: float
    read_rate: float | None
    write_rate: float | None
    size: float | None
    server_rate: float | None
    stated: Sequence[float | None]


class Table(Message):
    """The elements of a storage system for programs of a node to choose from, in an order of its own.

    `elements` are sent when the revision is another one, and then all `loads`; else the loads that changed
    since the version.  A load is: place in the table, busy, busy on average, foreign streams, the same on
    average, own streams, own ones that ended since the sample, streams on all elements of the server (0
    where `server_rate` is null), bytes free, bytes reserved, age of the sample in seconds, bits of state,
    when the last placement was made (in milliseconds since the epoch), own streams that ask for a rate of
    writing, the largest of these rates, and of those of hard requirements; see `struct ses_core_element` in
    ses/core.h, as `policy` is `struct ses_core_policy`.  Agents choose without own streams that ended.
    `total` is how many elements there are, `rate` placements by others a second, `sent_at` our time.
    """

    system: str
    revision: str
    version: int
    sent_at: float
    total: int
    rate: float
    max_age_seconds: float
    rate_window_seconds: float
    stated: Sequence[str]
    policy: Mapping[str, float]
    elements: Sequence[TableElement] | None
    loads: Sequence[Sequence[float | None]]


class AnnouncementTaken(Message):
    """What came of it.

    `instance` is another one with each start of the service.  `unknown`: reported without `restore`, and
    the ledger does not know them.  `open`: the files that the agent is to report as opened or ended, unless
    it did: sent when this agent reports for the first time, and of what was taken over from another
    service.  `needs` are those of users of whom the agent has another generation, or none; `tables` those it
    asked for.

    `next_within_seconds`: when to announce again at the latest; `report_within_seconds`: the same where files
    were opened or ended since the last answer, and while files are created; `return_within_seconds`: the
    time over which nodes that lose the service are to come back, each at a moment by chance.

    `stored`: what this instance answered of announcements of this incarnation up to that number is stored,
    or as lasting as it will ever be where the service has no database.  An agent keeps what it announced
    after that, with how it came about, and announces it again to another instance.
    """

    instance: str
    stored: int
    next_within_seconds: float
    report_within_seconds: float
    return_within_seconds: float
    unknown: Sequence[str]
    refused: Sequence[RefusedFile]
    refused_items: Sequence[RefusedItem]
    open: Sequence[HeldFile] | None
    needs: Sequence[UserNeed]
    tables: Sequence[Table]
