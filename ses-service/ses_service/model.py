"""What the decision talks about: kinds, requirements, elements, observations.

Pure data: no I/O, no clock, no environment.  Rates are bytes per second and capacities bytes
everywhere in here; units people write (``MB/s``, ``GiB``) are turned into these at the edge by
:mod:`ses_service.units`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of requirement, from the QStorMan paper (section 4.1)."""

    CURRENT_READ_RATE = "current-read-rate"
    AVERAGE_READ_RATE = "average-read-rate"
    CURRENT_WRITE_RATE = "current-write-rate"
    AVERAGE_WRITE_RATE = "average-write-rate"
    FREE_CAPACITY = "free-capacity"


class Level(StrEnum):
    """Who stated a requirement; earlier members win over later ones, kind by kind."""

    EXPLICIT = "explicit"
    APPLICATION = "application"
    USER = "user"
    VO = "vo"
    SITE = "site"


class Strictness(StrEnum):
    """``hard`` refuses an element that misses the minimum; ``soft`` only adds to its distance."""

    SOFT = "soft"
    HARD = "hard"


class ElementState(StrEnum):
    """What an administrator (or the file system) says about an element."""

    ACTIVE = "active"
    DEGRADED = "degraded"
    DRAINING = "draining"
    READ_ONLY = "read-only"
    INACTIVE = "inactive"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One minimum.  ``minimum`` is bytes per second for rates and bytes for capacity."""

    kind: Kind
    minimum: float
    weight: float = 1.0
    strictness: Strictness = Strictness.SOFT


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """All requirements stated at one level under one name.

    ``name`` is ``user:application`` at application level, the user's or VO's name at those
    levels, and ``default`` at site level.  ``revision`` counts changes; 0 means never set.
    ``modified_at`` is seconds since the epoch.
    """

    level: Level
    name: str
    requirements: tuple[Requirement, ...] = ()
    revision: int = 0
    modified_at: float | None = None
    modified_by: str | None = None


@dataclass(frozen=True, slots=True)
class ResolvedRequirement:
    """A requirement together with the level and name it was taken from."""

    requirement: Requirement
    level: Level
    level_name: str


@dataclass(frozen=True, slots=True)
class Subject:
    """Who asks.  ``vo`` is filled from the knowledge base when the caller does not name one."""

    user: str
    application: str | None = None
    vo: str | None = None
    node: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class StorageSystem:
    """One mounted file system.  ``backend`` is ``mergerfs``, ``lustre`` or ``cephfs``."""

    name: str
    iri: str
    label: str
    backend: str
    mount_point: str


@dataclass(frozen=True, slots=True)
class Element:
    """One place a file can go: a mergerfs branch, a Lustre OST or pool, a CephFS data pool.

    ``id`` is ``system/element``.  ``target`` is what the back end needs to put a file there (the
    branch's directory, the OST's index, the pool's name).  ``None`` means the site does not say.
    """

    id: str
    iri: str
    label: str
    storage_system: str
    target: str
    server: str
    state: ElementState = ElementState.ACTIVE
    tier: str | None = None
    pool: str | None = None
    capacity_bytes: float | None = None
    nominal_read_rate: float | None = None
    nominal_write_rate: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What the monitor last saw of one element.  Rates are bytes per second over its windows.

    ``sampled_at`` is seconds since the epoch by this machine's clock, ``None`` when the monitor
    never saw the element.  ``state`` is the monitor's word: ``ok``, ``stale`` or ``missing``.  A
    capability is what the monitor knows the element can give at best; the site's description goes before.
    """

    element: str
    sampled_at: float | None
    current_read_rate: float | None = None
    current_write_rate: float | None = None
    average_read_rate: float | None = None
    average_write_rate: float | None = None
    queue_depth: float | None = None
    free_bytes: float | None = None
    size_bytes: float | None = None
    read_only: bool = False
    source: str = ""
    target: str = ""
    state: str = "ok"
    detail: str = ""
    degraded: bool = False
    no_create: bool = False
    read_capability: float | None = None
    write_capability: float | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """The site as the knowledge base describes it.

    ``home_vo`` maps a user's name to the VO whose defaults apply; ``node_access`` maps a node's
    name to the storage systems it mounts (a node that is not listed reaches all of them).
    """

    systems: Mapping[str, StorageSystem] = field(default_factory=dict)
    elements: tuple[Element, ...] = ()
    home_vo: Mapping[str, str] = field(default_factory=dict)
    node_access: Mapping[str, frozenset[str]] = field(default_factory=dict)
    revision: str = ""
