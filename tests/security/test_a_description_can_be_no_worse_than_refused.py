"""Promises about texts and names that are made to hold the service up."""

import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from fake_store import FakeStore
from service_process import Running
from ses_listen.deadline import Deadline, RequestEndedError, of_this_thread
from ses_service.knowledge.errors import InvalidDescriptionError, TooManyStatementsError
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.incoming import Incoming, Mode, check
from ses_service.knowledge.statements import bounded, fast_turtle
from ses_service.knowledge.vocabulary import read_vocabulary

HEAD = "@prefix : <urn:a:> .\n"
DEEP = 15_000


def cost(pid: int) -> tuple[float, float]:
    """Return the seconds of processor time and the megabytes a process has needed at most."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    peak = next(
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        if line.startswith("VmHWM:")
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1000


TEXTS = {
    "nested": f":x :p {'[ :p ' * DEEP}1{' ]' * DEEP} .",
    "in a circle": "".join(f"_:n{n} :p _:n{(n + 1) % 5000} .\n" for n in range(5000)),
    "shared": "".join(f":x :p _:n{n} . :y :p _:n{n} .\n" for n in range(3000)),
    "in two small circles": "".join(
        f"_:a{n} :p _:a{(n + 1) % 30} . _:b{n} :p _:b{(n + 1) % 30} .\n" for n in range(30)
    ),
}


def test_blank_nodes_cannot_hold_an_import(start: Callable[..., Running]) -> None:
    service = start().wait_ready()
    for name, text in TEXTS.items():
        seconds, megabytes = cost(service.process.pid)
        body = {"name": "given.ttl", "text": HEAD + text, "mode": "merge"}
        status, said = service.call("POST", "/v1/knowledge/imports", body)
        assert status == 422, f"{name}: {said}"
        after = cost(service.process.pid)
        assert after[0] - seconds < 10, name
        assert after[1] - megabytes < 200, name


def site_of(count: int) -> str:
    """Return a description of so many elements that keeps to the shapes."""
    text = (Path(__file__).parents[2] / "ontology/examples/union-site.ttl").read_text("utf-8")
    start, end = text.index(":b1 a"), text.index(":b2 a")
    element = text[start:end].replace("Branch 1", "Branch")
    return text[:start] + "".join(element.replace("b1", f"b{number}") for number in range(1, count + 1))


@pytest.mark.parametrize("trig", [False, True])
@pytest.mark.parametrize("count", [3, 100])
def test_a_description_of_too_many_statements_is_refused_however_it_is_read(
    monkeypatch: pytest.MonkeyPatch, count: int, trig: bool
) -> None:
    monkeypatch.setattr(bounded, "MAX_STATEMENTS", 40)
    for quick in (False, True):
        with pytest.raises(TooManyStatementsError, match="more than 40 statements: import it in parts"):
            Incoming.read(site_of(count), "site.ttl", trig=trig, quick=quick)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (":x :p " + "[]," * 300, "it has more than 100 blank nodes: import it in parts"),
        ("[] :p 1 ." * 300, "300 blank nodes have no place of their own"),
    ],
)
def test_a_description_of_too_many_blank_nodes_is_refused_at_its_first_reading(
    monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    monkeypatch.setattr(bounded, "MAX_BLANK_NODES", 100)
    with pytest.raises(TooManyStatementsError, match=sentence):
        Incoming.read(f"{HEAD}{text}", "a.ttl")
    monkeypatch.setattr(fast_turtle, "SHORT", 0)
    monkeypatch.delattr("ses_service.knowledge.exchange.incoming.parse_turtle")
    exchange = Exchange(FakeStore(), threading.Lock())
    with pytest.raises(TooManyStatementsError, match=sentence):
        exchange.plan_import(f"{HEAD}{text}", "a.ttl", Mode.MERGE, author="alice", now=1.0)


SITE = site_of(3) + "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
SITE += "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
CHAIN = "".join(f":a{n} rdfs:subClassOf :a{n + 1} .\n" for n in range(1200)) + ":x a :a0 .\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f":x :p {'( ' * 900}{') ' * 900}.", "stand too deep in others|lie deeper than 2 in others"),
        (f":x :p {'[ :p ' * 900}1{' ]' * 900} .", "stand too deep in others|lie deeper than 2 in others"),
        ("(" * 2**18, "it has lists of more than 1000 items: state the values without"),
        (f":x :p ( {'1 ' * 2**17}) .", "it has lists of more than 1000 items: state the values without"),
        (f"{CHAIN}:a1200 rdfs:subClassOf qsm:Server .", "shorten chains of rdfs:subClassOf"),
        (f":x :p {'9' * 2000} .", "a value of 2000 characters that is no text; it can have 1000"),
        (':x :p "<a>"^^rdf:XMLLiteral .', "a value that is markup .*: write it as a plain text"),
        (":x :p " + ":x^" * 2**16, r"line \d+: not (Turtle|TriG): .* is not a valid"),
    ],
)
@pytest.mark.parametrize("way", [{}, {"quick": True}, {"trig": True}])
def test_what_takes_long_to_read_is_refused_in_a_sentence(
    text: str, sentence: str, way: dict[str, bool]
) -> None:
    def read_and_check() -> None:
        incoming = Incoming.read(f"{SITE}{text}\n", "site.ttl", **way)
        check(incoming.site, incoming, "site.ttl")

    with pytest.raises(InvalidDescriptionError, match=sentence):
        read_and_check()


def test_a_vocabulary_may_have_any_depth(tmp_path: Path) -> None:
    path = tmp_path / "own.ttl"
    path.write_text(f'{SITE}{CHAIN}:a1200 rdfs:subClassOf qsm:StorageSystem ; qsm:backend "own" .\n', "utf-8")
    assert len(read_vocabulary([path]).backends) == 1201


@pytest.mark.parametrize("change", [("", ""), ("300.0e0", "-1.0e0")])
def test_reading_and_checking_a_description_end_with_the_request(change: tuple[str, str]) -> None:
    text = site_of(100).replace(*change)
    for quick in (False, True):
        incoming = Incoming.read(text, "site.ttl", quick=quick)
        ended = Deadline(0)
        with of_this_thread(ended), pytest.raises(RequestEndedError):
            Incoming.read(text, "site.ttl", quick=quick)
        with of_this_thread(ended), pytest.raises(RequestEndedError):
            check(incoming.site, incoming, "site.ttl")


def test_node_classes_name_a_bounded_number_of_nodes_together() -> None:
    classes = "".join(
        f':n{n} a qsm:NodeClass ; qsm:name "c{n}" ; qsm:nodes "n{n}x[1-9999]" .\n' for n in range(5000)
    )
    incoming = Incoming.read(site_of(8) + classes, "site.ttl", quick=True)
    began = time.thread_time()
    with pytest.raises(InvalidDescriptionError, match="name more than 100000 nodes together"):
        check({}, incoming, "site.ttl", as_given=True)
    assert time.thread_time() - began < 60, "all of them take minutes"


def test_what_is_wrong_everywhere_is_named_shortly() -> None:
    text = re.sub(r'qsm:name "b\d+"', 'qsm:name "b"', site_of(500))
    incoming = Incoming.read(text, "site.ttl", quick=True)
    with pytest.raises(InvalidDescriptionError) as refused:
        check(incoming.site, incoming, "site.ttl")
    assert "and 300 more faults" in refused.value.messages[-1]
    assert max(map(len, refused.value.messages)) < 300


def test_a_subject_that_is_no_name_is_refused_as_the_callers_fault(start: Callable[..., Running]) -> None:
    service = start().wait_ready()
    for subject in ("urn:\x92", "\ufffe:x", "urn:\ud7ff\uffff", "urn:a b", "urn:%zz", "1:x"):
        status, said = service.call("GET", f"/v1/changes?subject={quote(subject)}")
        assert status == 422, (subject, said)
