"""Promises about the quick check: what it lets pass, the full check does, whatever was done to a text."""

import random
from pathlib import Path

import pyshacl
import pytest
from pyshacl.errors import ReportableRuntimeError
from rdflib import RDF, SH, BNode, Graph, Literal, URIRef
from rdflib.namespace import XSD
from ses_client.turtle import Lines
from ses_service.knowledge.checks import validation
from ses_service.knowledge.checks.quick_check import Screen, UnknownConstraintError
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.triples import Triples

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "ontology/examples").glob("*.ttl"))
NAMES = """@prefix a: <a:> . @prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."""
WORDS = ["", "word", "-x", "/a/b", "b2", "0", "x" * 40, "a b", "vo"]
NUMBERS = [0, -1, 3, 2.5, 1e31, True]
TYPED = [
    ("INF", XSD.double),
    ("NaN", XSD.double),
    ("x", XSD.double),
    ("5", XSD.decimal),
    ("5", XSD.float),
    ("9", XSD.string),
    ("2026-12-01", XSD.dateTime),
    ("2026-12-01T00:00:00", XSD.dateTime),
    ("2026-12-01T00:00:00Z", XSD.dateTime),
    ("2036-12-01T00:00:00+01:00", XSD.dateTime),
    ("never", XSD.dateTime),
]
ODD = [
    URIRef("a:nobody"),
    BNode("blank"),
    Literal("word", lang="en"),
    *map(Literal, WORDS),
    *map(Literal, NUMBERS),
    *(Literal(text, datatype=datatype) for text, datatype in TYPED),
]


def passes(shapes: Graph, description: Graph) -> bool:
    return Screen(shapes).passes(Triples(description))


def conforms(shapes: Graph, description: Graph) -> bool:
    try:
        return bool(pyshacl.validate(description, shacl_graph=shapes)[0])
    except ReportableRuntimeError:  # it will not compare a blank node
        return False


def test_the_shapes_of_the_ontology_are_screened() -> None:
    assert validation._screen() is not None


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_a_description_in_order_passes_without_the_full_check(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the full check was run")

    monkeypatch.setattr(pyshacl, "validate", never)
    description, lines = parse_turtle(path.read_text())
    assert validation.check(description, lines) == []


CONSTRAINTS = [
    "sh:minCount 1", "sh:minCount 2", "sh:maxCount 1", "sh:maxCount 0", "sh:datatype xsd:string",
    "sh:datatype xsd:dateTime", "sh:datatype xsd:double", "sh:datatype xsd:boolean", 'sh:pattern "^[a-z]+$"',
    'sh:pattern "(Z|[+-][0-9:]{5})$"', "sh:minLength 1", "sh:minLength 5", "sh:class a:Upper",
    "sh:class a:Lower",
    'sh:in ( "word" 3 a:nobody )', "sh:minInclusive 0", "sh:minExclusive 0", "sh:maxInclusive 3",
    "sh:maxExclusive 1.0e30", "sh:nodeKind sh:IRI", 'sh:hasValue "word"', "sh:hasValue 3", "sh:lessThan a:q",
    "sh:node a:Other", "sh:or ( a:Other [ sh:in ( 3 ) ] )",
]  # fmt: skip
PATHS = ["a:p", "[ sh:inversePath a:p ]", "( a:p a:q )"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_each_constraint_is_kept_whatever_the_values(constraint: str, path: str) -> None:
    shapes = Graph().parse(
        data=f"""{NAMES} a:Shape a sh:NodeShape ; sh:targetClass a:Upper ; sh:targetSubjectsOf a:aim ;
        sh:property [ sh:path {path} ; {constraint} ] .
        a:Other a sh:NodeShape ; sh:property [ sh:path a:q ; sh:maxCount 1 ; sh:minLength 4 ] ."""
    )
    ours, theirs = [], []
    chance = random.Random(f"{constraint} {path}")
    for _ in range(40):
        description = Graph().parse(data=f"{NAMES} a:Lower rdfs:subClassOf a:Upper . a:kind a a:Lower .")
        nodes = [URIRef("a:one"), URIRef("a:two"), URIRef("a:kind"), BNode("n")]
        description.add((nodes[0], RDF.type, URIRef(chance.choice(["a:Upper", "a:Lower", "a:None"]))))
        description.add((nodes[1], URIRef("a:aim"), Literal(1)))
        for _ in range(chance.randrange(6)):
            property_ = URIRef(chance.choice(["a:p", "a:q"]))
            description.add((chance.choice(nodes), property_, chance.choice(ODD + nodes)))
        ours.append(passes(shapes, description))
        theirs.append(conforms(shapes, description))
    assert [passed for passed, valid in zip(ours, theirs, strict=True) if passed and not valid] == []
    assert sum(ours) >= sum(theirs) * 0.7  # and what is in order mostly passes


def test_a_description_with_one_thing_changed_passes_only_if_the_full_check_lets_it() -> None:
    chance, refused = random.Random(3), 0
    wholes = [parse_turtle(path.read_text())[0] for path in EXAMPLES]
    for _ in range(40):
        description = Graph()
        for triple in chance.choice(wholes):
            description.add(triple)
        subject, property_, value = chance.choice(sorted(description))
        description.remove((subject, property_, value))
        if chance.random() < 0.8:
            description.add((subject, property_, chance.choice([*ODD, *description.objects()])))
        screened = validation._screen()
        assert screened is not None
        if screened.passes(Triples([*description, *validation.vocabulary().graph])):
            with pytest.MonkeyPatch.context() as without:
                without.setattr(validation, "_screen", lambda: None)
                assert validation._broken_shapes(description, Lines()) == []
        else:
            refused += 1
    assert 5 < refused < 40


@pytest.mark.parametrize(
    "shape",
    [
        "sh:targetClass a:C ; sh:property [ sh:path a:p ; sh:uniqueLang true ]",
        "sh:targetClass a:C ; sh:closed true",
        "sh:targetClass a:C ; sh:property [ sh:path [ sh:zeroOrMorePath a:p ] ; sh:minCount 1 ]",
        'sh:targetClass a:C ; sh:property [ sh:path a:p ; sh:pattern "a" ; sh:flags "i" ]',
        "sh:targetClass a:C ; sh:deactivated true",
        "sh:targetNode a:n ; sh:nodeKind sh:IRI",
        "sh:targetClass a:C ; sh:node a:Shape",
        "sh:nodeKind sh:IRI",
    ],
)
def test_shapes_it_does_not_know_are_not_screened(shape: str) -> None:
    shapes = Graph().parse(data=f"{NAMES} a:Shape a sh:NodeShape ; {shape} .")
    with pytest.raises(UnknownConstraintError):
        Screen(shapes)


def test_shapes_that_are_not_screened_are_checked_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_screen", lambda: None)
    description, lines = parse_turtle(EXAMPLES[-1].read_text() + "\n<x> <http://www.w3.org/ns/shacl#x> 1 .")
    assert validation.check(description, lines) == []
    assert (None, SH.path, None) not in description
