"""Promises about inputs made to break out of their place: they stay terms, or are refused unasked."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef
from ses_service.api.app import create_app
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.queries import _INPUT, bind, serialise
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet
from ses_service.process.runtime import ServiceConfig

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "ontology/queries").iterdir())
QUOTES = ['"', "'", '"""', "\\", "\\u0022", "\\U00000022", "<", ">", "{", "}", "#", ";", ".", "&#34;", "%00"]
SPACES = ["\n", "\r", "\t", "\b", "\f", "\x0b", "\x1f", "\x7f", "\x85", "\u2028", "\ufeff", " "]
WORDS = [
    "?x",
    "$set",
    "$graph",
    "^^<a:b>",
    "@en",
    "} ; DROP ALL ; INSERT DATA {",
    "> } } ; CLEAR ALL #",
    "😀",
]
PIECES = [*QUOTES, *SPACES, *WORDS, "SERVICE <http://127.0.0.1:9/>", "a"]
BAD = ["\x00", "\ud800", "\udfff", "\ufffe", "\uffff"]

anything = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=12).map("".join)
texts = anything.filter(lambda text: not any(bad in text for bad in BAD))
broken = st.tuples(texts, st.sampled_from(BAD), texts).map("".join)
REQUIREMENT = Requirement(Kind.FREE_CAPACITY, 1e9)
few = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


@pytest.fixture(autouse=True, scope="module")
def rdflib_says_nothing() -> Iterator[None]:
    """It warns of IRIs by their text, which no report can hold where it is not text."""
    logger = logging.getLogger("rdflib.term")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


@given(texts)
@few
def test_a_literal_is_one_term_whatever_it_holds(store: HttpStore, text: str) -> None:
    query = f"SELECT ?v WHERE {{ VALUES ?v {{ {serialise(Literal(text))} }} }}"
    assert "\n" not in query
    assert store.select(query) == [{"v": text}]


@given(texts)
@few
def test_a_name_is_stored_and_found_and_changes_nothing_else(store: HttpStore, name: str) -> None:
    knowledge = KnowledgeBase(store)
    store.update("DROP ALL")
    knowledge.replace_requirements(RequirementSet(Level.USER, "other", (REQUIREMENT,)), author="a", now=1.0)
    knowledge.replace_requirements(
        RequirementSet(Level.APPLICATION, name, (REQUIREMENT,)), author=name, now=1.0
    )
    read = {(stored.level, stored.name): stored for stored in knowledge.requirement_sets()}
    assert set(read) == {(Level.USER, "other"), (Level.APPLICATION, name)}
    assert read[Level.APPLICATION, name].modified_by == name


@given(broken)
@settings(max_examples=50, deadline=None, database=None)
def test_what_is_not_text_is_refused_before_a_store_is_asked(text: str) -> None:
    nobody = KnowledgeBase(HttpStore.for_oxigraph("http://127.0.0.1:9"))
    for name, author in ((text, "a"), ("a", text)):
        with pytest.raises(InvalidDescriptionError, match="characters no store keeps"):
            nobody.replace_requirements(
                RequirementSet(Level.USER, name, (REQUIREMENT,)), author=author, now=1.0
            )
    for term in (Literal(text), URIRef(text)):
        with pytest.raises(ValueError, match="not text"):
            serialise(term)


@given(texts)
@settings(deadline=None, database=None)
def test_an_iri_is_one_term_or_refused(text: str) -> None:
    try:
        serialised = serialise(URIRef(f"https://example.org/{text}"))
    except ValueError:
        return
    assert serialised == f"<https://example.org/{text}>"
    assert not set(serialised[1:-1]) & set('<>"{}|^`\\ \n\r\t')


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@given(text=texts)
@settings(max_examples=30, deadline=None, database=None)
def test_a_value_changes_a_request_nowhere_else(path: Path, text: str) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    names = set(_INPUT.findall("\n".join(lines)))
    plain = bind(path.name, **dict.fromkeys(names, Literal("the value")))
    filled = bind(path.name, **dict.fromkeys(names, Literal(text)))
    assert filled == plain.replace('"the value"', serialise(Literal(text)))
    assert filled.count("\n") == plain.count("\n")


def test_a_very_long_name_is_kept_whole(store: HttpStore) -> None:
    name = 'x"\\' * 20_000
    knowledge = KnowledgeBase(store)
    knowledge.replace_requirements(RequirementSet(Level.USER, name, (REQUIREMENT,)), author="a", now=1.0)
    assert [stored.name for stored in knowledge.requirement_sets()] == [name]


@pytest.mark.parametrize("name", ["a%00b", "%ED%A0%80", "%EF%BF%BF", "a%22%20%7D%20DROP%20ALL", "x" * 5000])
def test_no_name_is_an_error_of_the_service(store: HttpStore, name: str) -> None:
    app = create_app(ServiceConfig(knowledge=KnowledgeBase(store), trust_loopback=True))
    answer = app.test_client().put(
        f"/v1/requirements/user/{name}",
        json={"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]},
    )
    assert answer.status_code in (200, 404, 414, 422), answer.text
