"""Sites that were described before the vocabulary had its present names go on as they were."""

from __future__ import annotations

from pathlib import Path

from ses_service.knowledge import HttpStore, KnowledgeBase
from ses_service.knowledge.exchange.backup import back_up, restore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet

PRESENT, FORMER = "https://w3id.org/qstorman/", "https://example.org/qstorman/"


def known(knowledge: KnowledgeBase) -> tuple[object, ...]:
    return knowledge.environment(), set(map(repr, knowledge.requirement_sets()))


def changed(store: HttpStore) -> list[object]:
    exchange = KnowledgeBase(store).exchange
    return [(one, exchange.parts(one.number)) for one in exchange.changes()]


def fill(store: HttpStore, site: str) -> tuple[object, ...]:
    knowledge = KnowledgeBase(store)
    knowledge.load_ontology()
    knowledge.load_site(site, source="site")
    stated = [Requirement(Kind.CURRENT_WRITE_RATE, 100.50e6), Requirement(Kind.FREE_CAPACITY, 0.1)]
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "alice", tuple(stated)), author="alice", now=1.5
    )
    return known(knowledge)


def as_formerly_stored(store: HttpStore) -> bytes:
    return store.dump().replace(PRESENT.encode(), FORMER.encode())


def test_what_is_stored_under_former_names_is_found_under_present_ones(
    store: HttpStore, union_site: str
) -> None:
    before, changes = fill(store, union_site), changed(store)
    assert len(changes) == 2
    store.replace_all(as_formerly_stored(store))
    knowledge = KnowledgeBase(store)
    knowledge.load_ontology()
    assert (known(knowledge), changed(store)) == (before, changes)
    assert FORMER.encode() not in store.dump()


def test_a_backup_under_former_names_is_restored_under_present_ones(
    oxigraph: HttpStore, union_site: str, tmp_path: Path
) -> None:
    before = fill(oxigraph, union_site)
    oxigraph.replace_all(as_formerly_stored(oxigraph))
    back_up(oxigraph, tmp_path / "backup.nq")
    oxigraph.update("DROP ALL")
    restore(oxigraph, tmp_path / "backup.nq")
    assert known(KnowledgeBase(oxigraph)) == before


def test_a_description_under_former_names_is_read(oxigraph: HttpStore, union_site: str) -> None:
    fill(oxigraph, union_site)
    elements = KnowledgeBase(oxigraph).environment().elements
    oxigraph.update("DROP ALL")
    fill(oxigraph, union_site.replace(PRESENT, FORMER))
    assert KnowledgeBase(oxigraph).environment().elements == elements
