"""Promises of the vocabulary, its shapes, its examples and its queries as files."""

import re
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, SKOS, Graph, Namespace, URIRef
from rdflib.plugins.sparql import prepareQuery
from ses_service.knowledge.checks.validation import refused, validate
from ses_service.knowledge.vocabulary import vocabulary

ROOT = Path(__file__).resolve().parents[2]
ONTOLOGY = ROOT / "ontology"
QSM = Namespace("https://w3id.org/qstorman/ontology#")
TURTLE = sorted(ONTOLOGY.rglob("*.ttl"))
QUERIES = sorted((ONTOLOGY / "queries").iterdir())
PREFIX = re.compile(r"^\s*@?PREFIX\s+([a-z0-9]*:)\s+<([^>]+)>", re.MULTILINE | re.IGNORECASE)


def table() -> dict[str, str]:
    """Return the one prefix table."""
    prefixes = dict(PREFIX.findall((ONTOLOGY / "prefixes.ttl").read_text()))
    assert len(prefixes) > 10
    return prefixes


@pytest.mark.parametrize("path", TURTLE, ids=lambda path: path.name)
def test_every_turtle_file_parses_and_uses_the_one_prefix_table(path: Path) -> None:
    Graph().parse(path, format="turtle")
    used = dict(PREFIX.findall(path.read_text()))
    fuseki_only = {"fuseki:", "ja:", "tdb2:"} if path.parent.name == "fuseki" else set()
    for name, iri in used.items():
        if name != ":" and name not in fuseki_only:
            assert table().get(name) == iri, f"{path.name}: {name}"


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.name)
def test_every_query_says_its_question_and_has_a_total_order(path: Path) -> None:
    text = path.read_text()
    said = text.partition("# Inputs:")[0].strip()
    assert said.startswith("# ")
    assert ("?" if path.suffix == ".rq" else ".") in said
    assert "Inputs:" in text
    for name, iri in PREFIX.findall(text):
        assert table().get(name) == iri
    if path.suffix == ".rq":
        assert "ORDER BY" in text
        assert "Columns:" in text
        prepareQuery(text.replace("$subjects", "<a:b>"))  # an input that is a list of terms


def test_every_term_has_label_definition_and_example() -> None:
    graph = vocabulary().graph
    kinds = [OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.NamedIndividual]
    terms = {term for kind in kinds for term in graph.subjects(RDF.type, kind)}
    assert len(terms) > 40
    for term in terms:
        for needed in (RDFS.label, SKOS.definition, SKOS.example):
            assert graph.value(term, needed), f"{term} has no {needed}"


def test_every_term_the_other_files_use_is_in_the_vocabulary() -> None:
    known = set(vocabulary().graph.subjects())
    shapes = {s for s in Graph().parse(ONTOLOGY / "shapes.ttl").subjects() if isinstance(s, URIRef)}
    used = {
        QSM[name]
        for path in [*TURTLE, *QUERIES]
        for name in re.findall(r"\bqsm:([A-Za-z]+(?:-[A-Za-z]+)*)", path.read_text())
    }
    assert len(used) > 30
    assert used - known - shapes == set()


REQUIREMENT = """@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
[] a qsm:Requirement ; odrl:leftOperand qsm:CurrentReadRate ; odrl:operator odrl:gteq ;
   odrl:rightOperand 50.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC ; qsm:weight 1.0e0 ; qsm:strictness qsm:Soft .
"""


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("50.0e0", "-50.0e0", "not negative"),
        ("qsm:CurrentReadRate", "qsm:Speed", "one known kind"),
        ("unit:MegaBYTE-PER-SEC", "unit:GigaBYTE", "takes BYTE-PER-SEC, KiloBYTE-PER-SEC"),
        ("unit:MegaBYTE-PER-SEC", "unit:FURLONG", "it has FURLONG"),
        ("odrl:gteq", "odrl:lteq", "is a minimum"),
        ("odrl:gteq", "odrl:eq", "odrl:gteq (a minimum)"),
        ("50.0e0", "50.0e0, 60.0e0", "one odrl:rightOperand"),
        ("qsm:weight 1.0e0", "qsm:weight 0.0e0", "greater than 0"),
        ("qsm:Soft", "qsm:Maybe", "qsm:Soft or qsm:Hard"),
        ("odrl:unit unit:MegaBYTE-PER-SEC ;", "", "exactly one unit"),
    ],
)
def test_a_requirement_that_breaks_a_rule_is_refused_in_words(good: str, bad: str, message: str) -> None:
    assert validate(REQUIREMENT, "requirement") == []
    broken = REQUIREMENT.replace(good, bad)
    assert broken != REQUIREMENT
    faults = validate(broken, "requirement")
    assert refused(faults)
    assert any(message in fault.message for fault in faults), faults
