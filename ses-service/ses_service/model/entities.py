"""What the decision talks about: kinds, requirements, elements, observations.

Pure data: no I/O, no clock, no environment.  Rates are bytes per second and capacities bytes
everywhere in here; units people write (``MB/s``, ``GiB``) are turned into these at the edge, as the
ontology says (:mod:`ses_service.model.kinds`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ses_service.model.kinds import Kind
from ses_service.model.nodes import NodeCalibration, NodeClass

__all__ = [
    "Element",
    "ElementState",
    "Environment",
    "Kind",
    "Level",
    "MeasuredRun",
    "Observation",
    "Profile",
    "Requirement",
    "RequirementSet",
    "ResolvedRequirement",
    "StorageSystem",
    "Strictness",
    "Subject",
]


class Level(StrEnum):
    """Who stated a requirement; earlier members win over later ones, kind by kind.

    A set at ``profile`` applies to nobody by itself: other sets take it up by its name.
    """

    EXPLICIT = "explicit"
    APPLICATION = "application"
    USER = "user"
    VO = "vo"
    SITE = "site"
    PROFILE = "profile"


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
    """One bound.  ``bound`` is bytes per second for rates, bytes for capacity, else the kind's base unit.

    It is a minimum, or a maximum where the kind is ``at_most``.  ``valid_from`` and ``valid_until`` are
    seconds since the epoch; outside that time it is as if it were not stated.  ``unit`` is the symbol of the
    unit it was written in, empty where nobody knows; it means nothing to a decision.
    """

    kind: Kind
    bound: float
    weight: float = 1.0
    strictness: Strictness = Strictness.SOFT
    valid_from: float | None = None
    valid_until: float | None = None
    unit: str = field(default="", compare=False)

    @property
    def applies_ever(self) -> bool:
        """Whether there is a time at which it applies."""
        return self.valid_from is None or self.valid_until is None or self.valid_from < self.valid_until

    def applies(self, now: float) -> bool:
        """Return whether it applies at a time."""
        return (self.valid_from is None or self.valid_from <= now) and (
            self.valid_until is None or now < self.valid_until
        )


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a program moved and computed in the run a profile is from: bytes, seconds, cores used at once."""

    read_bytes: float
    written_bytes: float
    seconds: float
    processor_seconds: float
    cores: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Requirements under the name of what a program does; empty when nobody describes it.

    ``measured``, ``modified_at`` and ``modified_by`` are of profiles that people stored.
    """

    name: str
    requirements: tuple[Requirement, ...] = ()
    label: str = ""
    definition: str = ""
    iri: str = ""
    measured: MeasuredRun | None = None
    modified_at: float | None = None
    modified_by: str | None = None


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """All requirements stated at one level under one name.

    ``name`` is ``user:application`` at application level, the user's or VO's name at those
    levels, ``default`` at site level, and that of the profile at profile level.  ``revision`` counts changes;
    0 means never set.  ``modified_at`` is seconds since the epoch.  The requirements of its ``profile`` apply
    for every kind the set does not state itself.  ``definition`` and ``measured`` are of profiles only.
    """

    level: Level
    name: str
    requirements: tuple[Requirement, ...] = ()
    revision: int = 0
    modified_at: float | None = None
    modified_by: str | None = None
    profile: Profile | None = None
    definition: str = ""
    measured: MeasuredRun | None = None

    @property
    def says_anything(self) -> bool:
        """Whether it requires anything, by itself or by its profile."""
        return bool(self.requirements or self.profile)

    @property
    def with_profile(self) -> tuple[Requirement, ...]:
        """Its own requirements, then those of its profile."""
        return self.requirements + (self.profile.requirements if self.profile else ())


@dataclass(frozen=True, slots=True)
class ResolvedRequirement:
    """A requirement together with the level and name it was taken from, and the profile if it is of one."""

    requirement: Requirement
    level: Level
    level_name: str
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose files they are.  ``vo`` is filled from the knowledge base when the caller does not name one."""

    user: str
    application: str | None = None
    vo: str | None = None
    node: str | None = None
    job: str | None = None


def with_home_vo(subject: Subject, home_vo: Mapping[str, str]) -> Subject:
    """Return the subject with the VO its user belongs to, unless it names one itself."""
    home = home_vo.get(subject.user) if subject.vo is None else None
    return subject if home is None else replace(subject, vo=home)


@dataclass(frozen=True, slots=True)
class StorageSystem:
    """One mounted file system, or a set of directories.

    ``backend`` is ``mergerfs``, ``lustre``, ``cephfs`` or ``directories``; these have no ``mount_point``.
    """

    name: str
    iri: str
    label: str
    backend: str
    mount_point: str

    @property
    def takes_files(self) -> bool:
        """Whether files are placed there, one by one."""
        return self.backend != "directories"


@dataclass(frozen=True, slots=True)
class Element:
    """One place a file can go: a mergerfs branch, a Lustre OST or pool, a CephFS data pool, a directory.

    ``id`` is ``system/element``.  ``target`` is what the back end needs to put a file there (the
    directory, the OST's index, the pool's name).  ``None`` means the site does not say;
    ``file_system`` is that of a branch or directory when it was described, ``device`` what carries the load
    of a directory on its server, where that is not its file system alone.
    ``stated`` are the values of kinds that are not predicted, by name, in their base units.
    ``server_rate`` is what the link of its server carries for all of its elements together.
    ``state`` holds until ``state_until`` (seconds since the epoch), where that is stated; ``state_reason`` is
    the administrator's.
    """

    id: str
    iri: str
    label: str
    storage_system: str
    target: str
    server: str
    state: ElementState = ElementState.ACTIVE
    state_reason: str | None = None
    state_until: float | None = None
    tier: str | None = None
    pool: str | None = None
    file_system: str | None = None
    device: str | None = None
    capacity_bytes: float | None = None
    nominal_read_rate: float | None = None
    nominal_write_rate: float | None = None
    stated: tuple[tuple[str, float], ...] = ()
    server_rate: float | None = None

    def state_at(self, now: float) -> ElementState:
        """Return its state at a time: active once the time it was stated for is over."""
        over = self.state_until is not None and self.state_until <= now
        return ElementState.ACTIVE if over else self.state


@dataclass(slots=True)
class Observation:
    """What the monitor last saw of one element.  Rates are bytes per second over its windows.

    Never changed, but not frozen: there is one of each element each second, and Python takes three times as
    long to make a frozen one.

    ``sampled_at`` is seconds since the epoch by this machine's clock, ``None`` when the monitor
    never saw the element.  ``state`` is the monitor's word: ``ok``, ``stale`` or ``missing``.  A
    capability is what the monitor knows the element can give at best; the site's description goes before.
    ``interval`` is how many seconds its samples are apart.
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
    interval: float | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """The site as the knowledge base describes it.

    ``home_vo`` maps a user's name to the VO whose defaults apply, and ``member_groups`` are pairs of a POSIX
    group and the VO of its members, for users without one; ``node_access`` maps a node's
    name to the storage systems it mounts (a node that is not listed reaches all of them), those of
    ``node_classes`` included.  ``organisations`` are the names of all VOs, and ``calibrations`` what nodes
    were measured to give, by the name of the node.
    """

    systems: Mapping[str, StorageSystem] = field(default_factory=dict)
    elements: tuple[Element, ...] = ()
    home_vo: Mapping[str, str] = field(default_factory=dict)
    node_access: Mapping[str, frozenset[str]] = field(default_factory=dict)
    revision: str = ""
    member_groups: tuple[tuple[str, str], ...] = ()
    organisations: frozenset[str] = frozenset()
    node_classes: tuple[NodeClass, ...] = ()
    calibrations: Mapping[str, NodeCalibration] = field(default_factory=dict)
