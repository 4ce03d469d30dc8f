"""Promises about a store that dies amid writes: what was acknowledged is there, and nothing by halves."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ses_service.knowledge.errors import AnswerLostError, RevisionConflictError, StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet

Fuseki = Any
WRITERS = 3
WRITES = 30


@dataclass
class Victim:
    """A store that can be killed, ``times``, and comes back with its data."""

    store: HttpStore
    kill: Callable[[], None]
    times: int = 3


@pytest.fixture(params=["oxigraph", "fuseki", pytest.param("fuseki often", marks=pytest.mark.long)])
def victim(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Fuseki takes seconds to start."""
    if request.param.startswith("fuseki"):
        server = type(request.getfixturevalue("fuseki"))(tmp_path)

        def kill_and_start() -> None:
            server.kill()
            server.start()

        yield Victim(server.client(), kill_and_start, 5 if "often" in request.param else 1)
        server.stop()
        return
    embedded = EmbeddedStore(tmp_path)
    store = embedded.start()

    def kill() -> None:
        assert embedded.pid
        os.kill(embedded.pid, signal.SIGKILL)  # its owner starts it again

    yield Victim(store, kill)
    embedded.stop()


class Writer(threading.Thread):
    """Changes one set again and again, and notes what was acknowledged and what was asked for last."""

    def __init__(self, store: HttpStore, name: str, written: threading.Semaphore) -> None:
        super().__init__(daemon=True)
        self.knowledge = KnowledgeBase(store)
        self.set = name
        self.written = written
        self.enough = threading.Event()
        self.acknowledged: list[RequirementSet] = []
        self.unknown = 0

    def run(self) -> None:
        number = 0
        while not self.enough.is_set():
            number += 1
            pair = [
                Requirement(Kind.CURRENT_WRITE_RATE, float(number)),
                Requirement(Kind.FREE_CAPACITY, float(number)),
            ]
            try:
                changed = self.knowledge.replace_requirements(
                    RequirementSet(Level.USER, self.set, tuple(pair)), author="a", now=1.0
                )
            except (StoreUnavailableError, RevisionConflictError) as error:
                self.unknown += isinstance(error, AnswerLostError)
                time.sleep(0.05)
                continue
            self.acknowledged.append(changed)
            self.written.release()


def test_nothing_acknowledged_is_lost_and_nothing_is_half_applied(victim: Victim) -> None:
    written = threading.Semaphore(0)
    writers = [Writer(victim.store, f"u{number}", written) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(victim.times):
        for _ in range(WRITES // 3):
            assert written.acquire(timeout=600)
        victim.kill()
        while written.acquire(blocking=False):
            pass  # only what is written after this counts for the next time
    assert written.acquire(timeout=600)
    for writer in writers:
        writer.enough.set()
    for writer in writers:
        writer.join(120)
    read = {
        requirement_set.name: requirement_set
        for requirement_set in KnowledgeBase(victim.store).requirement_sets()
    }
    for writer in writers:
        stored, last = read[writer.set], writer.acknowledged[-1]
        revisions = [requirement_set.revision for requirement_set in writer.acknowledged]
        assert revisions == sorted(set(revisions))
        assert last.revision <= stored.revision <= last.revision + writer.unknown
        if stored.revision == last.revision:
            assert set(stored.requirements) == set(last.requirements)
        assert len(stored.requirements) == 2
        assert len({requirement.bound for requirement in stored.requirements}) == 1
    assert sum(len(writer.acknowledged) for writer in writers) > victim.times * WRITES // 3


class Losing(HttpStore):
    """Loses the answer to the next update, after or before the store had it."""

    after = before = 0

    def update(self, update: str, *, patience: float = 1.0) -> None:
        if self.before:
            self.before -= 1
            raise StoreUnavailableError("nobody listens")
        super().update(update, patience=patience)
        if self.after:
            self.after -= 1
            raise AnswerLostError("the connection broke")


@pytest.fixture
def losing(store: HttpStore) -> Losing:
    client = Losing("", "", "")
    client.__dict__ = store.__dict__
    return client


STATED = [Requirement(Kind.FREE_CAPACITY, 1e9)]


def put(knowledge: KnowledgeBase, expected: int | None) -> RequirementSet:
    return knowledge.replace_requirements(
        RequirementSet(Level.USER, "alice", tuple(STATED)),
        author="alice",
        now=1.0,
        expected_revision=expected,
    )


@pytest.mark.parametrize("fault", ["after", "before"])
def test_a_write_whose_answer_was_lost_is_found_out_and_not_doubled(losing: Losing, fault: str) -> None:
    setattr(losing, fault, 2)
    changed = put(KnowledgeBase(losing), 0)
    (read,) = KnowledgeBase(losing).requirement_sets()
    assert changed.revision == read.revision == 1
    assert list(read.requirements) == STATED


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_write_that_may_have_been_stored_says_so_and_can_be_sent_again(losing: Losing) -> None:
    losing.after = 10**6
    knowledge = KnowledgeBase(losing)
    with pytest.raises(AnswerLostError, match="send the same again"):
        put(knowledge, 0)
    losing.after = 0
    assert put(knowledge, 0).revision == 1  # the very same: found, not refused
    with pytest.raises(RevisionConflictError):
        knowledge.replace_requirements(
            RequirementSet(Level.USER, "alice", tuple(STATED)), author="bob", now=1.0, expected_revision=0
        )
    assert KnowledgeBase(losing).requirement_sets()[0].revision == 1


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_write_that_was_not_stored_says_nothing_of_that(losing: Losing) -> None:
    losing.before = 10**6
    with pytest.raises(StoreUnavailableError) as failed:
        put(KnowledgeBase(losing), 0)
    assert not isinstance(failed.value, AnswerLostError)
    assert KnowledgeBase(losing).requirement_sets() == ()
