"""Promises about large texts read quickly: they say what they say when they are read with their lines."""

from itertools import product
from pathlib import Path

import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.compare import isomorphic
from ses_service.knowledge import site
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Incoming
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.statements import fast_turtle
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.fast_turtle import read_quickly
from ses_service.knowledge.statements.statements import describe

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [path.read_text() for path in sorted((ROOT / "ontology").glob("**/*.ttl"))]
ODD = [
    r"""@prefix a: <a:> . a:s a:p "a\"b\\c\nd\te\u00e9\U0001F600", 'x\'y', """
    + '"""three\nlines "quoted" """ .',
    '@prefix a: <a:> . <s> a:p "deutsch"@de-AT, "x"^^a:type, 1, 1.50, -2e3, true, "\u2028 \u0085 \x1f" .',
    "@prefix a: <a:> . _:one a:p _:two . _:two a:q _:one, [ a:r ( 1 [] <x> ) ] .",
    "@base <http://example.org/deep/> . @prefix : <#> . :s <p> <>, <?q>, <#f>, <//host/x> .",
    "<s> <http://example.org/\u00e9> <\\u00e9> .",
]
FAULTY = [
    "<s> <p> .",
    "<s> <p> <a b> .",
    '<s> <p> "open .',
    "a:s a:p 1 .",
    '<s> <p> "\ud800" .',
    "<s> <p> <<( <a> <b> <c> )>> .",
    "<../s> <p> <a/./b> .",
]


@pytest.fixture(autouse=True)
def _whatever_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_turtle, "SHORT", 0)


@pytest.mark.parametrize("text", TEXTS + ODD)
def test_it_says_the_same(text: str) -> None:
    quickly, slowly = read_quickly(text), parse_turtle(text)[0]
    assert quickly is not None
    assert set(quickly) == set(slowly) or isomorphic(quickly, slowly)
    assert describe(quickly) == describe(slowly)


@pytest.mark.parametrize("text", FAULTY)
def test_what_is_faulty_or_read_differently_is_left_to_the_other(text: str) -> None:
    assert read_quickly(text) is None


def test_faults_have_their_lines_all_the_same(store: object, union_site: str) -> None:
    faulty = union_site.replace("numericValue 90.0e0", "numericValue -90.0e0", 1)
    line = faulty[: faulty.index("-90.0e0")].count("\n") + 1
    knowledge = KnowledgeBase(store)  # type: ignore[arg-type]
    for load in (
        lambda: knowledge.load_site(faulty, source="site.ttl"),
        lambda: knowledge.exchange.plan_import(faulty, "site.ttl", "replace", author="a", now=1.0),
    ):
        with pytest.raises(InvalidDescriptionError, match=rf"line {line}: .*qsm:nominalWriteRate"):
            load()


def test_a_site_read_quickly_is_in_order(union_site: str) -> None:
    quick = read_quickly(union_site)
    assert quick is not None
    assert site.violations(quick) == []
    assert Incoming.read(union_site, "site.ttl", quick=True).site == describe(quick)


def test_a_text_read_quickly_can_be_asked_in_every_way(union_site: str) -> None:
    quickly = read_quickly(union_site)
    assert quickly is not None
    slowly = Graph()
    for triple in quickly:
        slowly.add(triple)
    assert len(quickly) == len(slowly) > 0
    for triple in (*slowly, (URIRef("a:s"), URIRef("a:p"), Literal(1))):
        for given in product((True, False), repeat=3):
            pattern = tuple(term if is_given else None for term, is_given in zip(triple, given, strict=True))
            assert set(quickly.triples(pattern)) == set(slowly.triples(pattern))
