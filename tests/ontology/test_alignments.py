"""Alignments speak of terms that exist, on both sides, one vocabulary per file."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from rdflib import Graph, URIRef, namespace
from rdflib.term import Node
from ses_service.knowledge.vocabulary import vocabulary

DIRECTORY = Path(__file__).resolve().parents[2] / "ontology/alignments"
NAMES = ("dcat", "glue2", "org-foaf", "qudt", "sosa")


def unknown(terms: Iterable[Node]) -> list[str]:
    """Return the terms that the vocabulary they claim to be of does not have (as rdflib knows it)."""
    named = ("DCAT", "FOAF", "ODRL2", "ORG", "PROV", "SKOS", "SOSA")
    closed = [getattr(namespace, name) for name in named]
    checked = [(space, term) for term in terms for space in closed if str(term).startswith(str(space))]
    assert checked
    return [str(term) for space, term in checked if URIRef(str(term)) not in space]


def test_there_is_one_file_per_vocabulary() -> None:
    assert sorted(path.stem for path in DIRECTORY.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_alignment_speaks_of_terms_that_exist(name: str) -> None:
    graph = Graph().parse(DIRECTORY / f"{name}.ttl")
    assert len(graph) >= 4
    assert set(graph.subjects()) <= set(vocabulary().graph.subjects())
    assert unknown([*graph.objects(), *graph.predicates()]) == []


def test_what_the_vocabulary_reuses_exists() -> None:
    graph = vocabulary().graph
    assert unknown([*graph.objects(), *graph.predicates()]) == []


def test_a_term_nobody_has_would_be_noticed() -> None:
    sosa = str(namespace.SOSA)
    assert unknown([URIRef(f"{sosa}Platform"), URIRef(f"{sosa}Plattform")]) == [f"{sosa}Plattform"]
