"""The HTTP client of an RDF store: SPARQL 1.1 Query, Update and Graph Store protocols."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Protocol, Self, TypeVar
from urllib.parse import quote

import urllib3
from rdflib import BNode, Literal, URIRef
from ses_listen import deadline as request

from ses_service.knowledge.errors import AnswerLostError, StoreRefusedError, StoreUnavailableError
from ses_service.knowledge.store.local_socket import SocketPool
from ses_service.security.trust import Trust

_CHUNK = 2**18
_CONNECTIONS = 8
_SYSTEMS = Trust()
Cell = TypeVar("Cell")

Row = Mapping[str, str]
"""One row of results: the text of each bound column (IRIs and literals alike)."""

TermRow = Mapping[str, URIRef | BNode | Literal]
"""One row of results: the term in each bound column, as the store has it."""


class SparqlReader(Protocol):
    """What reading needs: a store, or a graph in memory.

    Raises ``StoreUnavailableError`` when there is no answer in time and ``StoreRefusedError`` when the store
    says no.
    """

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:
        """Return the rows a SELECT query gives; may take ``patience`` times as long as usual."""
        ...


class SparqlStore(SparqlReader, Protocol):
    """What the knowledge base needs of a store; faults are those of reading."""

    def select_terms(self, query: str, *, patience: float = 1.0) -> list[TermRow]:
        """Return the rows a SELECT query gives, with IRIs, literals and blank nodes distinguished."""
        ...

    def update(self, update: str, *, patience: float = 1.0) -> None:
        """Apply an update request, as a whole or not at all."""
        ...

    def put_graph(self, graph: str, turtle: str) -> None:
        """Replace a named graph."""
        ...


class _NotReachedError(StoreUnavailableError):
    """Nobody listens: nothing was sent."""


class _HungUpError(StoreUnavailableError):
    """The connection ended before any answer, as one does that was kept for long, or after a refusal."""


class HttpStore:
    """A store behind three addresses. Safe to use from several threads.

    ``timeout`` is in seconds and bounds each request; loading a graph may take ten times as long.
    ``auth`` is user and password (HTTP basic).  By ``trust`` an address with https is verified.
    """

    def __init__(
        self,
        query_url: str,
        update_url: str,
        graph_url: str,
        auth: tuple[str, str] | None = None,
        timeout: float = 5.0,
        trust: Trust = _SYSTEMS,
    ) -> None:
        self._query_url = query_url
        self._update_url = update_url
        self._graph_url = graph_url
        self._timeout = timeout
        self._headers = urllib3.make_headers(basic_auth=f"{auth[0]}:{auth[1]}") if auth else {}
        self._pool: urllib3.PoolManager | SocketPool = trust.pool(_CONNECTIONS)

    @classmethod
    def for_oxigraph(cls, base_url: str, timeout: float = 5.0, trust: Trust = _SYSTEMS) -> Self:
        """Return the client of ``oxigraph serve`` at this address."""
        base = base_url.rstrip("/")
        return cls(f"{base}/query", f"{base}/update", f"{base}/store", timeout=timeout, trust=trust)

    @classmethod
    def on_socket(cls, pool: SocketPool, timeout: float = 5.0) -> Self:
        """Return the client of a server on a UNIX socket, which has the three addresses of oxigraph."""
        client = cls.for_oxigraph(pool.address, timeout)
        client._pool = pool
        return client

    @classmethod
    def for_fuseki(
        cls,
        dataset_url: str,
        auth: tuple[str, str] | None = None,
        timeout: float = 5.0,
        trust: Trust = _SYSTEMS,
    ) -> Self:
        """Return the client of one dataset of Fuseki, such as ``http://127.0.0.1:3030/kb``."""
        base = dataset_url.rstrip("/")
        return cls(f"{base}/sparql", f"{base}/update", f"{base}/data", auth, timeout, trust)

    @property
    def url(self) -> str:
        """Where queries go."""
        return self._query_url

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:
        """Return the rows a SELECT query gives; may take ``patience`` times as long as usual."""
        return self._rows(query, patience, lambda cell: str(cell["value"]))

    def select_terms(self, query: str, *, patience: float = 1.0) -> list[TermRow]:
        """Return the rows a SELECT query gives, with IRIs, literals and blank nodes distinguished."""
        return self._rows(query, patience, _term)

    def update(self, update: str, *, patience: float = 1.0) -> None:
        """Apply an update request, as a whole or not at all."""
        headers = {"Content-Type": "application/sparql-update"}
        self._change("POST", self._update_url, update.encode(), headers, patience)

    def put_graph(self, graph: str, turtle: str) -> None:
        """Replace a named graph."""
        address = f"{self._graph_url}?graph={quote(graph, safe='')}"
        self._change("PUT", address, turtle.encode(), {"Content-Type": "text/turtle"}, patience=10.0)

    def dump(self) -> bytes:
        """Return everything the store holds as N-Quads, as it was at one moment."""
        return self._request("GET", self._graph_url, b"", {"Accept": "application/n-quads"}, patience=10.0)

    def replace_all(self, quads: bytes) -> None:
        """Replace everything the store holds by N-Quads; wholly, or not at all when they are malformed."""
        self._change("PUT", self._graph_url, quads, {"Content-Type": "application/n-quads"}, patience=10.0)

    def _change(self, method: str, url: str, body: bytes, headers: dict[str, str], patience: float) -> None:
        try:
            self._request(method, url, body, headers, patience)
        except _NotReachedError:
            raise
        except StoreUnavailableError as error:
            raise AnswerLostError(str(error)) from None

    def _rows(
        self, query: str, patience: float, read: Callable[[dict[str, str]], Cell]
    ) -> list[Mapping[str, Cell]]:
        body = self._request(
            "POST",
            self._query_url,
            query.encode(),
            {"Content-Type": "application/sparql-query", "Accept": "application/sparql-results+json"},
            patience,
        )
        try:
            bindings = json.loads(body)["results"]["bindings"]
            return [{name: read(cell) for name, cell in row.items()} for row in bindings]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreUnavailableError(
                f"{self._query_url} does not answer as a SPARQL store: {error!r}"
            ) from None

    def _request(
        self, method: str, url: str, body: bytes, headers: dict[str, str], patience: float = 1.0
    ) -> bytes:
        request.check()
        deadline = time.monotonic() + self._timeout * patience
        try:
            return self._once(method, url, body, headers, patience, deadline)
        except _HungUpError:
            if url == self._update_url:  # twice is not once
                raise
        try:
            return self._once(method, url, body, headers, patience, deadline)
        except StoreUnavailableError as error:
            raise StoreUnavailableError(str(error)) from None  # the first time something was sent

    def _once(
        self, method: str, url: str, body: bytes, headers: dict[str, str], patience: float, deadline: float
    ) -> bytes:
        limit = max(0.001, deadline - time.monotonic())
        # urllib3 sends the body, too, under the time-out for connecting.
        connect = limit if patience > 1 else min(2.0, limit)
        try:
            answer = self._pool.request(
                method,
                url,
                body=body,
                headers={**self._headers, **headers},
                timeout=urllib3.Timeout(connect=connect, read=limit),
                redirect=False,
                preload_content=False,
            )
            data = self._read(answer, url, deadline)
        except urllib3.exceptions.NewConnectionError as error:
            why = str(error).partition("): ")[2] or error  # after what connection it was
            raise _NotReachedError(f"the knowledge base at {url} does not answer: {why}") from None
        except urllib3.exceptions.TimeoutError:
            raise StoreUnavailableError(f"the knowledge base at {url} does not answer in time") from None
        except urllib3.exceptions.HTTPError as error:
            hung_up = any(isinstance(why, ConnectionResetError) for why in error.args)
            kind = _HungUpError if hung_up else StoreUnavailableError
            raise kind(f"the knowledge base at {url} does not answer: {error}") from None
        if answer.status < 300:
            return data
        detail = data[:300].decode("utf-8", "replace").strip().splitlines()
        message = f"{url} answered {answer.status}{': ' + detail[0] if detail else ''}"
        if answer.status >= 500:
            raise StoreUnavailableError(message)
        raise StoreRefusedError(message)

    def _read(self, answer: urllib3.BaseHTTPResponse, url: str, deadline: float) -> bytes:
        # The read time-out starts again with every byte; only a deadline ends an answer that trickles.
        data = bytearray()
        try:
            while chunk := answer.read1(_CHUNK):
                data += chunk
                if time.monotonic() > deadline:
                    raise StoreUnavailableError(f"the knowledge base at {url} does not answer in time")
        except BaseException:
            answer.close()
            raise
        answer.release_conn()
        return bytes(data)


def _term(cell: dict[str, str]) -> URIRef | BNode | Literal:
    if cell["type"] == "uri":
        return URIRef(cell["value"])
    if cell["type"] == "bnode":
        return BNode(cell["value"])
    datatype = cell.get("datatype")
    return Literal(
        cell["value"], cell.get("xml:lang"), None if datatype is None else URIRef(datatype), normalize=False
    )
