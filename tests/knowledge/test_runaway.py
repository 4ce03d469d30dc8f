"""Promises about queries that run on: the embedded store gets rid of them, and of nothing else."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from embedded_stores import running
from patience import wait_until
from ses_service.knowledge.errors import KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.store.embedded import EmbeddedStore

NUMBERS = f"INSERT DATA {{ GRAPH <a:g> {{ {' . '.join(f'<a:{n}> <a:p> {n}' for n in range(1000))} }} }}"
PATTERN = """{ GRAPH <a:g> { ?a <a:p> ?w . ?b <a:p> ?x . ?c <a:p> ?y . ?d <a:p> ?z
    FILTER(?w + ?x + ?y + ?z < 0) } }"""
COUNT = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }"

HEADS = {"query": "SELECT (COUNT(*) AS ?n) WHERE ", "update": "INSERT { GRAPH <a:h> { ?a <a:q> 1 } } WHERE "}


def processor_time(pid: int) -> float:
    """Return the seconds of processor time a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", list(HEADS))
def test_the_embedded_store_gets_rid_of_what_runs_on(tmp_path: Path, kind: str) -> None:
    with running(tmp_path) as (embedded, store):
        store.update(NUMBERS, patience=100.0)
        first = embedded.pid
        assert first
        ask = store.select if kind == "query" else store.update
        with pytest.raises(StoreUnavailableError):
            ask(HEADS[kind] + PATTERN, patience=0.1)
        wait_until(
            lambda: embedded.pid != first and not Path(f"/proc/{first}").exists(),
            "the server still works on it",
        )

        def counted() -> list[dict[str, str]]:
            with suppress(KnowledgeBaseError):
                return store.select(COUNT)
            return []

        assert wait_until(counted, "a server comes after it") == [{"n": "1000"}]


def test_a_store_that_answers_is_left_alone_however_much_it_works(tmp_path: Path) -> None:
    embedded = EmbeddedStore(tmp_path, patience=1.0, query_limit=1)
    embedded.start()
    store = embedded.client(timeout=0.5)
    try:
        first, number = embedded.pid, 0
        assert first
        limit = processor_time(first) + 5.0  # of one request: 1.0

        def has_worked_enough() -> bool:
            nonlocal number
            number += 1
            store.update(NUMBERS.replace("<a:p>", f"<a:p{number % 3}>"), patience=100.0)
            return embedded.pid != first or processor_time(first) >= limit

        wait_until(has_worked_enough, every=0)
        assert embedded.pid == first
    finally:
        embedded.stop()


def test_a_store_that_was_stopped_for_a_while_is_not_taken_for_one_that_runs_on(tmp_path: Path) -> None:
    embedded = EmbeddedStore(tmp_path)
    embedded.start()
    store = embedded.client(timeout=0.2)
    try:
        first = embedded.pid
        assert first
        os.kill(first, signal.SIGSTOP)
        with pytest.raises(StoreUnavailableError):
            store.update(NUMBERS)
        time.sleep(1.0)  # longer than the request may work
        os.kill(first, signal.SIGCONT)
        wait_until(lambda: store.select(COUNT, patience=100.0) == [{"n": "1000"}], "it goes on")
        assert embedded.pid == first
    finally:
        embedded.stop()
