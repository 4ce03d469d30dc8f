"""Promises of binding: inputs are terms, all of them are given, and none becomes SPARQL."""

from __future__ import annotations

import pytest
from rdflib import Literal, URIRef
from ses_service.knowledge import HttpStore
from ses_service.knowledge.queries import bind, serialise

GRAPH = URIRef("https://example.org/qstorman/graph/requirements")


@pytest.mark.parametrize(
    "text",
    ['"', "\\", '\\"', "line\nbreak", "\r\n", "\t", '"""', "' } DROP ALL #", "?x $set", "<a:b>", "ä\u2028😀"],
)
def test_a_literal_comes_back_from_a_store_as_it_went_in(store: HttpStore, text: str) -> None:
    serialised = serialise(Literal(text))
    assert "\n" not in serialised
    assert store.select(f"SELECT ?v WHERE {{ VALUES ?v {{ {serialised} }} }} ORDER BY ?v") == [{"v": text}]


@pytest.mark.parametrize("text", ["a:b> <c:d", "a:b\nc", 'a:"b"', "a:{b}", "a:b c", "a:b\\u003E"])
def test_what_is_not_an_iri_is_not_written(text: str) -> None:
    with pytest.raises(ValueError, match="not an IRI"):
        serialise(URIRef(text))


def test_a_missing_input_is_an_error() -> None:
    with pytest.raises(KeyError):
        bind("requirement-change.rq", graph=GRAPH)


def test_an_input_the_query_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="no input other"):
        bind("requirement-sets.rq", graph=GRAPH, other=GRAPH)


def test_a_value_that_looks_like_an_input_is_not_filled_in() -> None:
    text = bind("requirement-change.rq", graph=GRAPH, set=URIRef("https://example.org/$graph"))
    assert "<https://example.org/$graph>" in text
