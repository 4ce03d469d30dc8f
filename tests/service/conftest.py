"""A small site, built the way a test needs it, and a knowledge base in memory."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from postgresql_server import postgresql
from ses_service.decision.question import Decision, Question, View
from ses_service.decision.rows import Rows
from ses_service.decision.selection import decide
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import Placement
from ses_service.model.columns import element_table, observation_table
from ses_service.model.entities import (
    Element,
    Environment,
    Kind,
    Level,
    Observation,
    Requirement,
    RequirementSet,
    ResolvedRequirement,
    StorageSystem,
    Strictness,
    Subject,
)
from ses_service.model.policies import Policies

sys.path.insert(0, str(Path(__file__).parent))

__all__ = ["postgresql"]

MB, GB = 1e6, 1e9
NOW = 1_000_000.0


class Site:
    """Elements, what was seen of them, and a ledger; rates are MB/s, capacities GB."""

    MB, GB, NOW = MB, GB, NOW

    def __init__(
        self,
        *elements: Element,
        policies: Policies | None = None,
        node_access: dict[str, frozenset[str]] | None = None,
    ) -> None:
        self.policies = policies or Policies()
        names = dict.fromkeys(element.storage_system for element in elements)
        self.environment = Environment(
            systems={
                name: StorageSystem(name, f"urn:{name}", name, "mergerfs", f"/mnt/{name}") for name in names
            },
            elements=elements,
            node_access=node_access or {},
        )
        self.observed: dict[str, Observation] = {}
        self.ledger = Ledger(self.policies)
        self._ids = itertools.count(1)
        self._bind()

    @staticmethod
    def element(name: str, *, read: float | None = 100, write: float | None = 100, **facts: Any) -> Element:
        system, _, short = name.rpartition("/")
        return replace(
            Element(
                id=f"{system or 'union'}/{short}",
                iri=f"urn:{name}",
                label=short,
                storage_system=system or "union",
                target=f"/mnt/{short}",
                server="n1",
                capacity_bytes=1000 * GB,
                nominal_read_rate=None if read is None else read * MB,
                nominal_write_rate=None if write is None else write * MB,
            ),
            **facts,
        )

    @classmethod
    def equal(cls, count: int, **facts: Any) -> Site:
        return cls(*(cls.element(f"b{number}", **facts) for number in range(count)))

    def see(self, name: str, **seen: Any) -> Site:
        self._observe(name, **seen)
        self._bind()
        return self

    def see_all(self, **seen: Any) -> Site:
        for element in self.environment.elements:
            self._observe(element.id, **seen)
        self._bind()
        return self

    def _observe(
        self,
        name: str,
        *,
        read: float | None = 0,
        write: float | None = 0,
        average_read: float | None = None,
        average_write: float | None = None,
        free: float | None = 500,
        age: float = 0.5,
        **facts: Any,
    ) -> None:
        def bytes_of(value: float | None, unit: float) -> float | None:
            return None if value is None else value * unit

        element = name if "/" in name else f"union/{name}"
        self.observed[element] = replace(
            Observation(
                element=element,
                sampled_at=NOW - age,
                current_read_rate=bytes_of(read, MB),
                current_write_rate=bytes_of(write, MB),
                average_read_rate=bytes_of(average_read, MB),
                average_write_rate=bytes_of(average_write, MB),
                free_bytes=bytes_of(free, GB),
            ),
            **facts,
        )

    def carry(self, name: str, count: int = 1, *, at: float = NOW - 60, size: float | None = None) -> Site:
        """Book placements on an element at a time (by default long before its sample)."""
        carrying = next(
            element for element in self.environment.elements if element.id in (name, f"union/{name}")
        )
        for _ in range(count):
            self.ledger.restore(self.placement(carrying, at=at, size=size))
        self._bind()
        return self

    def placement(self, element: Element, *, at: float = NOW, size: float | None = None) -> Placement:
        return Placement(
            placement_id=f"{next(self._ids):016x}",
            subject=Subject("alice"),
            element=element,
            backend="mergerfs",
            distance=0.0,
            placed_at=at,
            lease_until=at + 1000,
            expected_bytes=size,
        )

    @property
    def view(self) -> View:
        table = element_table(self.environment)
        seen, rows = observation_table(table, self.observed.values()), Rows(self.policies)
        rows.bind(table, (), seen, self.ledger.counts, NOW)
        return View(table, seen, rows)

    def decide(self, *wanted: Requirement, now: float = NOW, **asked: Any) -> Decision:
        return decide(self.question(*wanted, **asked), self.view, now, self.policies)

    def place(self, count: int, *wanted: Requirement, now: float = NOW, **asked: Any) -> list[str]:
        """Book placements in order; return the elements."""
        chosen: list[str] = []
        for turn in range(count):
            ranked = self.decide(*wanted, now=now, **asked).candidates
            if not ranked:
                break
            at = now + turn / 1000
            self.ledger.restore(self.placement(ranked[0].element, at=at, size=asked.get("expected_bytes")))
            chosen.append(ranked[0].element.id.partition("/")[2])
        return chosen

    @staticmethod
    def question(*wanted: Requirement, **asked: Any) -> Question:
        resolved = tuple(ResolvedRequirement(requirement, Level.USER, "alice") for requirement in wanted)
        return Question(**{"subject": Subject("alice"), "requirements": resolved, "limit": 0, **asked})

    @staticmethod
    def read(rate: float, *, hard: bool = False, average: bool = False, weight: float = 1.0) -> Requirement:
        kind = Kind.AVERAGE_READ_RATE if average else Kind.CURRENT_READ_RATE
        return Requirement(kind, rate * MB, weight, Strictness.HARD if hard else Strictness.SOFT)

    @staticmethod
    def write(rate: float, *, hard: bool = False, average: bool = False, weight: float = 1.0) -> Requirement:
        kind = Kind.AVERAGE_WRITE_RATE if average else Kind.CURRENT_WRITE_RATE
        return Requirement(kind, rate * MB, weight, Strictness.HARD if hard else Strictness.SOFT)

    @staticmethod
    def free(capacity: float, *, hard: bool = False, weight: float = 1.0) -> Requirement:
        strictness = Strictness.HARD if hard else Strictness.SOFT
        return Requirement(Kind.FREE_CAPACITY, capacity * GB, weight, strictness)

    @staticmethod
    def order(decision: Decision) -> list[str]:
        return [candidate.element.id.partition("/")[2] for candidate in decision.candidates]

    @staticmethod
    def reasons(decision: Decision) -> dict[str, str]:
        return {refusal.element.partition("/")[2]: refusal.reason.value for refusal in decision.refused}

    def _bind(self) -> None:
        table = element_table(self.environment)
        seen = observation_table(table, self.observed.values())
        self.ledger.bind(table, seen.sampled_at, NOW)


@pytest.fixture(autouse=True)
def no_loop_of_a_browser() -> Iterator[None]:
    """Playwright leaves its event loop running in this thread, where asyncio.run starts no other."""
    running = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    yield
    asyncio.events._set_running_loop(running)


@pytest.fixture(scope="session")
def site() -> type[Site]:
    return Site


@dataclass
class FakeKnowledge:
    """A knowledge base in memory with the behaviour of the real one; ``broken`` makes it fail."""

    site: Environment
    sets: dict[tuple[Level, str], RequirementSet] = field(default_factory=dict)
    changes: int = 0
    broken: Exception | None = None
    readings: int = 0

    def revision(self) -> str:
        self._try()
        return str(self.changes)

    def environment(self) -> Environment:
        self._try()
        self.readings += 1
        return replace(self.site, revision=str(self.changes))

    def requirement_sets(self) -> tuple[RequirementSet, ...]:
        self._try()
        return tuple(self.sets.values())

    def keep(self, revision: str, now: float) -> None:
        pass

    def recall(self) -> None:
        return None

    def replace_requirements(
        self, wanted: RequirementSet, *, author: str, now: float, expected_revision: int | None = None
    ) -> RequirementSet:
        from ses_service.knowledge.errors import RevisionConflictError

        self._try()
        known = self.sets.get((wanted.level, wanted.name), wanted).revision
        if expected_revision is not None and expected_revision != known:
            raise RevisionConflictError(wanted.level, wanted.name, expected_revision, known)
        self.changes += 1
        changed = replace(wanted, revision=known + 1, modified_at=now, modified_by=author)
        self.sets[wanted.level, wanted.name] = changed
        return changed

    @property
    def exchange(self) -> Any:
        """What exchanges whole descriptions, with an empty store."""
        from fake_store import FakeStore
        from ses_service.knowledge.exchange.exchange import Exchange

        self._try()
        return Exchange(FakeStore(), threading.Lock())

    def put(self, level: Level, name: str, *requirements: Requirement) -> None:
        self.replace_requirements(RequirementSet(level, name, requirements), author="test", now=NOW)

    def _try(self) -> None:
        if self.broken is not None:
            raise self.broken


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> float:
        return self.time


class Service:
    """An application over a knowledge base in memory, asked through Flask's test client."""

    def __init__(self, environment: Environment, clock: Clock, **config: Any) -> None:
        from ses_service.api.app import create_app
        from ses_service.process.runtime import ServiceConfig, runtime

        self.knowledge = FakeKnowledge(environment)
        self.clock = clock
        given = {"knowledge": self.knowledge, "knowledge_url": "memory:", "trust_loopback": True, **config}
        self.app = create_app(ServiceConfig(clock=clock, **given))
        self.runtime = runtime(self.app)
        self.client = self.app.test_client()

    def refresh(self) -> Service:
        self.runtime.site_manager.refresh()
        return self

    def see(self, observations: Iterable[Observation]) -> Service:
        self.runtime.state.take_observations(observations)
        return self

    def open(self, count: int = 1, *, node: str = "n1", element: str | None = None, **more: Any) -> list[str]:
        """Announce files that programs of a node placed, on all elements in turn; return their ids."""
        from files_opened import announcement, new_ids

        ids = new_ids(count)
        elements = [known.id for known in self.knowledge.site.elements] if element is None else [element]
        answer = self.post(
            f"/v1/nodes/{node}/announcements", announcement(ids, elements, placed_at=self.clock(), **more)
        )
        assert answer.status_code == 200, answer.get_json()
        assert answer.get_json()["refused"] == []
        return ids

    def get(self, path: str, code: int | None = None, **options: Any) -> Any:
        return self._asked("GET", path, code, options)

    def post(self, path: str, body: Any, code: int | None = None, **options: Any) -> Any:
        return self._asked("POST", path, code, {"json": body, **options})

    def put(self, path: str, body: Any, code: int | None = None, **options: Any) -> Any:
        return self._asked("PUT", path, code, {"json": body, **options})

    def patch(self, path: str, body: Any, **options: Any) -> Any:
        return self.client.patch(path, json=body, **options)

    def _asked(self, method: str, path: str, code: int | None, options: dict[str, Any]) -> Any:
        answer = self.client.open(path, method=method, **options)
        assert code in (None, answer.status_code), answer.text
        return answer


@pytest.fixture
def serve(clock: Clock) -> Callable[..., Service]:
    """Make a service of a site, or of so many equal elements, at the time of ``clock``."""

    def made(site: Site | Environment | int, **config: Any) -> Service:
        described = Site.equal(site) if isinstance(site, int) else site
        return Service(described.environment if isinstance(described, Site) else described, clock, **config)

    return made


@pytest.fixture
def service(serve: Callable[..., Service]) -> Service:
    """Three equal elements b0, b1, b2 of union, read and trusted."""
    return serve(3).refresh()


@pytest.fixture
def empty(postgresql: Any) -> Any:
    """A PostgreSQL server with nothing in its database."""
    postgresql.sql("drop schema public cascade", "create schema public")
    return postgresql


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An empty database of each kind the service can use."""
    from ses_service.store.database import Database

    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
        yield made
        made.close()
        return
    made = Database(request.getfixturevalue("postgresql").url)
    yield made
    with made.transaction() as connection:
        connection.exec_driver_sql("drop schema public cascade")
        connection.exec_driver_sql("create schema public")
    made.close()


@pytest.fixture(scope="session")
def make_service() -> type[Service]:
    return Service
