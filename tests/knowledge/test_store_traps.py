"""Promises about what stores are known to do wrong: nobody gets in, runs on for ever, or reads our files."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import urllib3
from ses_service.knowledge.errors import StoreRefusedError, StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore

Fuseki = Any
ROOT = Path(__file__).resolve().parents[2]
QUERIES = sorted((ROOT / "ontology/queries").iterdir())

NUMBERS = f"INSERT DATA {{ GRAPH <a:g> {{ {' . '.join(f'<a:{n}> <a:p> {n}' for n in range(1000))} }} }}"
RUNAWAY = """SELECT ?a WHERE { GRAPH <a:g> { ?a <a:p> ?w . ?b <a:p> ?x . ?c <a:p> ?y . ?d <a:p> ?z
    FILTER(?w + ?x + ?y + ?z < 0) } }"""


def test_fuseki_is_read_and_written_by_its_accounts_only(fuseki: Fuseki) -> None:
    fuseki.client("reader").select("SELECT * WHERE {}")
    for refused, status in (
        (fuseki.client("reader"), "403"),
        (HttpStore.for_fuseki(fuseki.address, timeout=60.0), "401"),
        (HttpStore.for_fuseki(fuseki.address, ("writer", "wrong"), timeout=60.0), "401"),
    ):
        with pytest.raises(StoreRefusedError, match=status):
            refused.update("DROP ALL")
        with pytest.raises(StoreRefusedError, match=status):
            refused.put_graph("https://example.org/g", "")
    with pytest.raises(StoreRefusedError, match="401"):
        HttpStore.for_fuseki(fuseki.address, timeout=60.0).select("SELECT * WHERE {}")


@pytest.mark.parametrize("path", ["/$/backup/kb", "/$/compact/kb", "/$/datasets", "/$/server"])
def test_fuseki_has_no_pages_for_administration(fuseki: Fuseki, path: str) -> None:
    http = urllib3.PoolManager(retries=False, timeout=60.0)
    for method in ("GET", "POST"):
        assert http.request(method, f"http://127.0.0.1:{fuseki.port}{path}").status in (401, 403, 404, 405)
    assert http.request("GET", f"http://127.0.0.1:{fuseki.port}/$/ping").status == 200


def test_the_passwords_are_for_their_owner_only(fuseki: Fuseki) -> None:
    for name in ("passwd.txt", "writer.txt"):
        assert (fuseki.directory / name).stat().st_mode & 0o077 == 0
    user, password = (fuseki.directory / "writer.txt").read_text().strip().split(":")
    assert (user, password) == fuseki.account("writer")


def test_a_runaway_query_is_cut_off_by_fuseki(fuseki: Fuseki) -> None:
    # The oxigraph server does not keep its limit: see test_runaway.py.
    store = fuseki.client()
    store.update("DROP ALL")
    store.update(NUMBERS)
    with pytest.raises(StoreUnavailableError, match="answered 503"):
        store.select(RUNAWAY)
    assert store.select("SELECT (COUNT(*) AS ?n) WHERE { GRAPH <a:g> { ?s ?p ?o } }") == [{"n": "1000"}]


def test_a_runaway_query_is_cut_off_by_the_client(fuseki: Fuseki, tmp_path: Path) -> None:
    fuseki.client().update(NUMBERS)
    embedded = EmbeddedStore(tmp_path)
    try:
        embedded.start().update(NUMBERS)
        for store in (fuseki.client(timeout=0.5), embedded.client(timeout=0.5)):
            # At its limit a server would say so, or hang up.
            with pytest.raises(StoreUnavailableError, match="does not answer in time"):
                store.select(RUNAWAY.replace("?a WHERE", "(COUNT(*) AS ?n) WHERE"))
    finally:
        embedded.stop()


@pytest.mark.long
def test_fuseki_cuts_off_a_runaway_update_and_changes_nothing(fuseki: Fuseki) -> None:
    store = fuseki.client()
    store.update("DROP ALL")
    store.update(NUMBERS)
    either = f"{{ {RUNAWAY} }} UNION {{ GRAPH <a:g> {{ ?a <a:p> 1 }} }}"
    with pytest.raises(StoreUnavailableError):
        store.update(f"INSERT {{ GRAPH <a:h> {{ ?a <a:q> 1 }} }} WHERE {{ {either} }}")
    assert store.select("SELECT ?a WHERE { GRAPH <a:h> { ?a <a:q> ?o } }") == []


def test_fuseki_takes_many_requests_of_several_operations(fuseki: Fuseki) -> None:
    # With a time limit written in another form it cancels them.
    store = fuseki.client()
    store.update("DROP ALL")
    step = "DELETE { GRAPH <a:g> { <a:s> <a:n> ?o } } INSERT { GRAPH <a:g> { <a:s> <a:n> ?n } } WHERE { %s }"
    count = "OPTIONAL { GRAPH <a:g> { <a:s> <a:n> ?o } } BIND (COALESCE(?o, 0) + 1 AS ?n)"
    for _ in range(50):
        store.update(";\n".join([step.replace("%s", count)] * 3))
    assert store.select("SELECT ?n WHERE { GRAPH <a:g> { <a:s> <a:n> ?n } }") == [{"n": "150"}]


def test_a_decimal_of_any_form_is_replaced_and_leaves_nothing(store: HttpStore, union_site: str) -> None:
    # Fuseki 5.6.0 shows 100.50 as 100.5 and cannot delete what it shows.
    knowledge = KnowledgeBase(store)
    for rate in ("100.50", "+0100.500", "100.5", "100.50e0", "90"):
        changed = union_site.replace("numericValue 90.0e0", f"numericValue {rate}")
        assert f"numericValue {rate}" in changed
        knowledge.load_site(changed, source=f"site with {rate}")
        elements = knowledge.environment().elements
        assert elements[0].nominal_write_rate == pytest.approx(float(rate) * 1e6)
    values = "SELECT ?v WHERE { GRAPH ?g { ?e qsm:nominalWriteRate ?q . ?q qudt:numericValue ?v } }"
    prefixes = (
        "PREFIX qsm: <https://w3id.org/qstorman/ontology#> PREFIX qudt: <http://qudt.org/schema/qudt/> "
    )
    assert len(store.select(prefixes + values)) == 8


def test_a_new_kind_of_element_is_seen_without_a_reasoner(store: HttpStore) -> None:
    # An inference view over TDB2 answers from what was there when it was made.
    kinds = """PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        SELECT ?e WHERE { GRAPH ?g { ?e a/rdfs:subClassOf* <a:Element> } } ORDER BY ?e"""
    store.put_graph(
        "https://example.org/g", "<a:Tape> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <a:Element> ."
    )
    assert store.select(kinds) == []
    store.update("INSERT DATA { GRAPH <https://example.org/g> { <a:t1> a <a:Tape> } }")
    assert store.select(kinds) == [{"e": "a:t1"}]
    store.put_graph("https://example.org/g", "<a:d1> a <a:Element> .")
    assert store.select(kinds) == [{"e": "a:d1"}]


@pytest.fixture
def listener() -> Any:
    """A server that notes whether anybody came."""
    came: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                came.append(client.recv(65536))
                client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1], came
    server.close()


def test_fuseki_asks_nobody_else(fuseki: Fuseki, listener: tuple[int, list[bytes]]) -> None:
    port, came = listener
    with pytest.raises(StoreRefusedError, match="SERVICE"):
        fuseki.client("reader").select(
            f"SELECT * WHERE {{ SERVICE <http://127.0.0.1:{port}/sparql> {{ ?s ?p ?o }} }}"
        )
    assert came == []


def test_a_failing_service_of_oxigraph_is_not_taken_for_an_answer(
    oxigraph: HttpStore, listener: tuple[int, list[bytes]]
) -> None:
    # It says 200 before it finds out.
    port, _came = listener
    with pytest.raises(StoreUnavailableError):
        oxigraph.select(f"SELECT * WHERE {{ SERVICE <http://127.0.0.1:{port}/sparql> {{ ?s ?p ?o }} }}")


def test_files_are_read_by_no_store_but_for_its_writer(
    fuseki: Fuseki, oxigraph: HttpStore, tmp_path: Path
) -> None:
    (tmp_path / "secret.ttl").write_text("<a:secret> <a:is> 42 .")
    load = f"LOAD <{(tmp_path / 'secret.ttl').as_uri()}> INTO GRAPH <a:loaded>"
    for refusing in (fuseki.client("reader"), HttpStore.for_fuseki(fuseki.address, timeout=60.0)):
        with pytest.raises(StoreRefusedError):
            refusing.update(load)
    with pytest.raises(StoreUnavailableError):
        oxigraph.update(load)
    for store in (fuseki.client(), oxigraph):
        assert store.select("SELECT * WHERE { GRAPH <a:loaded> { ?s ?p ?o } }") == []


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.name)
def test_no_query_of_ours_reaches_out(path: Path) -> None:
    words = path.read_text().upper().split()
    assert not {"SERVICE", "LOAD", "CLEAR", "DROP", "CREATE"} & set(words)
