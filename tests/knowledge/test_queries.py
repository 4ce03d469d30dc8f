"""Promises of binding: inputs are terms, all of them are given, and none becomes SPARQL."""

import pytest
from rdflib import XSD, BNode, Literal, URIRef
from ses_service.knowledge.queries import bind, serialise
from ses_service.knowledge.store.store import HttpStore

GRAPH = URIRef("https://w3id.org/qstorman/graph/requirements")


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


@pytest.mark.parametrize("term", [Literal("x", datatype=URIRef("a> . <b")), BNode("a b")])
def test_no_part_of_a_term_leaves_it(term: Literal | BNode) -> None:
    with pytest.raises(ValueError, match="not "):
        serialise(term)


def test_a_store_tells_terms_apart(store: HttpStore) -> None:
    words = (
        Literal('sa"y\n', lang="en"),
        Literal("8.0e0", datatype=XSD.double, normalize=False),
        URIRef("a:b"),
    )
    store.update(
        "INSERT DATA { GRAPH <a:g> { " + "".join(f"<a:s> <a:p> {serialise(word)} ." for word in words) + "} }"
    )
    rows = store.select_terms("SELECT ?o WHERE { GRAPH <a:g> { ?s ?p ?o } } ORDER BY ?o")
    read = {row["o"] for row in rows}
    assert {words[0], words[2]} < read
    (number,) = (term for term in read if isinstance(term, Literal) and term.datatype)
    assert (number.datatype, float(number)) == (XSD.double, 8.0)


@pytest.mark.parametrize("stated", ["", "; qsm:weight 2", "; qsm:strictness qsm:Hard"])
def test_a_requirement_is_read_whether_it_states_weight_and_strictness_or_not(
    store: HttpStore, stated: str
) -> None:
    store.update(
        "PREFIX odrl: <http://www.w3.org/ns/odrl/2/> PREFIX qsm: <https://w3id.org/qstorman/ontology#> "
        f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <a:set> a qsm:RequirementSet ; qsm:level 'user' ; "
        "qsm:subject 'eve' ; qsm:requires [ odrl:leftOperand qsm:freeCapacity ; odrl:rightOperand 5 ; "
        f"odrl:unit <a:GB> {stated} ] }} }}"
    )
    rows = [row for row in store.select(bind("requirement-sets.rq", graph=GRAPH)) if row["set"] == "a:set"]
    store.update(f"DELETE WHERE {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")
    (row,) = rows
    assert (row["subject"], row["bound"]) == ("eve", "5")
    assert row.get("weight") == ("2" if "weight" in stated else None)
