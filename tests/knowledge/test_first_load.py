"""Promises about the first description of a large site: stored whole, and again when it was cut short."""

import pytest
from rdflib import Graph
from ses_service.knowledge.errors import StaleReadingError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.statements.statements import describe
from ses_service.knowledge.store.store import HttpStore
from ses_service.knowledge.terms import SITE_GRAPH

COUNT = 300
HEAD = """@prefix : <https://example.org/site/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
:fs a qsm:LustreFileSystem ; qsm:name "fs" ; qsm:mountPoint "/mnt/fs" .
:oss a qsm:Server ; qsm:name "oss" .
"""
TEXT = HEAD + "".join(
    f':ost{n} a qsm:ObjectStorageTarget ; qsm:name "OST{n:04x}" ; qsm:elementOf :fs ; qsm:target "{n}" ;'
    " qsm:servedBy :oss ;"
    " qsm:capacity [ qudt:numericValue 8.0e0 ; qudt:hasUnit unit:TeraBYTE ] ;"
    " qsm:nominalReadRate [ qudt:numericValue 500.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ] ;"
    " qsm:nominalWriteRate [ qudt:numericValue 400.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ] .\n"
    for n in range(COUNT)
)


def test_it_is_stored_whole_and_the_history_names_its_systems(store: HttpStore) -> None:
    knowledge = KnowledgeBase(store)
    knowledge.load_site(TEXT, source="site.ttl")
    elements = knowledge.environment().elements
    assert len({element.id for element in elements}) == COUNT
    assert {element.nominal_write_rate for element in elements} == {400e6}
    (change,) = knowledge.exchange.changes()
    assert (change.subjects, str(change.subject)) == (1, "https://example.org/site/fs")
    assert knowledge.exchange._described(SITE_GRAPH) == describe(Graph().parse(data=TEXT))


def test_a_load_that_was_cut_short_is_made_again(store: HttpStore) -> None:
    store.put_graph(SITE_GRAPH, TEXT)  # all that a service did that was killed then
    knowledge = KnowledgeBase(store)
    knowledge.load_site(TEXT, source="site.ttl")
    assert len(knowledge.environment().elements) == COUNT
    assert knowledge.exchange.stamps().site == 1


def test_it_takes_nothing_away_that_came_meanwhile(store: HttpStore, union_site: str) -> None:
    knowledge = KnowledgeBase(store)
    plan = knowledge.exchange.plan_site(
        Graph().parse(data=TEXT), "site.ttl", "0" * 64, author="ses-service", now=1.0
    )
    KnowledgeBase(store).load_site(union_site, source="another")
    with pytest.raises(StaleReadingError):
        knowledge.exchange.apply(plan)
    assert len(KnowledgeBase(store).environment().elements) == 8
