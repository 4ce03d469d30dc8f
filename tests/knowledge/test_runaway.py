"""Promises about queries that run on: the embedded store gets rid of them, and of nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from ses_service.knowledge import EmbeddedStore, KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.runaway import Runaway, processor_time

NUMBERS = f"INSERT DATA {{ GRAPH <a:g> {{ {' . '.join(f'<a:{n}> <a:p> {n}' for n in range(1000))} }} }}"
PATTERN = """{ GRAPH <a:g> { ?a <a:p> ?w . ?b <a:p> ?x . ?c <a:p> ?y . ?d <a:p> ?z
    FILTER(?w + ?x + ?y + ?z < 0) } }"""

HEADS = {
    "query": "SELECT (COUNT(*) AS ?n) WHERE ",
    "update": "INSERT { GRAPH <a:h> { ?a <a:q> 1 } } WHERE ",
}


@pytest.mark.parametrize("kind", list(HEADS))
def test_the_embedded_store_gets_rid_of_what_runs_on(tmp_path: Path, kind: str) -> None:
    embedded = EmbeddedStore(tmp_path, query_limit=1)
    store = embedded.start()
    try:
        store.update(NUMBERS, patience=10.0)
        first = embedded.pid
        assert first
        ask = store.select if kind == "query" else store.update
        with pytest.raises(StoreUnavailableError):
            ask(HEADS[kind] + PATTERN, patience=0.1)
        deadline = time.monotonic() + 120
        while embedded.pid == first or Path(f"/proc/{first}").exists():
            assert time.monotonic() < deadline, "the server still works on it"
            time.sleep(0.1)
        found = None
        while found is None:
            assert time.monotonic() < deadline, "no server came after it"
            try:
                found = store.select("SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }")
            except KnowledgeBaseError:
                time.sleep(0.1)
        assert found == [{"n": "1000"}]
    finally:
        embedded.stop()


class Server:
    """A server looked at every 5 seconds, which may work 20 for nobody, or 60 after one was given up."""

    def __init__(self) -> None:
        self.watch = Runaway(20.0, 60.0)
        self.now = self.spent = 0.0

    def looks(self, times: int, *, share: float) -> list[bool]:
        """Return what each look says while it works with a share of a processor."""
        found = []
        for _ in range(times):
            self.now += 5.0
            self.spent += 5.0 * share
            found.append(self.watch.look(self.spent, self.now))
        return found


def give_up(server: Server) -> None:
    server.watch.ended(server.watch.asked(server.now), server.now, in_time=False)


def test_a_server_is_ended_that_goes_on_with_what_was_given_up() -> None:
    server = Server()
    give_up(server)
    assert server.looks(4, share=0.3) == [False, False, False, True]


def test_a_server_that_only_tells_whether_anything_changed_is_left_alone() -> None:
    server = Server()
    give_up(server)
    for _ in range(100):
        number = server.watch.asked(server.now)
        server.watch.ended(number, server.now + 0.01, in_time=True)
        assert server.looks(1, share=0.01) == [False]


def test_a_server_somebody_waits_for_is_left_alone() -> None:
    server = Server()
    server.watch.asked(0.0)
    assert not any(server.looks(100, share=1.0))


def test_short_questions_do_not_hide_what_was_given_up() -> None:
    server, found = Server(), []
    give_up(server)
    for _ in range(4):
        server.watch.ended(server.watch.asked(server.now), server.now + 0.1, in_time=True)
        last = server.watch.asked(server.now + 4.9)
        found += server.looks(1, share=1.0)
        server.watch.ended(last, server.now, in_time=True)
    assert found == [False, False, False, True]


def test_after_a_request_given_up_it_is_ended_whoever_else_asks() -> None:
    server, found = Server(), []
    give_up(server)
    for _ in range(12):
        number = server.watch.asked(server.now)
        found += server.looks(1, share=1.0)
        server.watch.ended(number, server.now, in_time=True)
    assert found == [False] * 11 + [True]


def test_what_nobody_here_asked_for_ends_too_but_later() -> None:
    assert Server().looks(60, share=1.0) == [False] * 59 + [True]


def test_a_server_that_came_to_rest_begins_anew() -> None:
    server = Server()
    give_up(server)
    assert not any(server.looks(3, share=1.0) + server.looks(1, share=0.0) + server.looks(3, share=1.0))


def test_processor_time_grows_with_work_and_is_0_for_nobody() -> None:
    before = processor_time(os.getpid())
    deadline = time.monotonic() + 60
    while processor_time(os.getpid()) - before < 0.05:
        assert time.monotonic() < deadline
    assert processor_time(2**22 + 1) == 0.0
