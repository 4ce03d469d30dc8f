"""The program of the embedded store: SPARQL over HTTP on a UNIX socket, for one user of the machine.

    python -I embedded_server.py DATA SOCKET SECONDS

Started by ``embedded.py``, by its path: it imports nothing of the service.  The socket has mode 0600, and the
kernel says who connects: only the user this program runs as, and root, are answered.

A query cannot be interrupted, and one that finds nothing may run for days.  So the program looks at what each
request costs, and ends itself when one of them has taken twice the processor time its caller waits for
(header ``Ses-Seconds``, else SECONDS).  Its parent starts it again; what was acknowledged is kept.
Processor time, and of one request alone: neither a busy machine nor many short requests look like such a
query.

A store that could not write (a full disk) refuses every change until it is opened again.  The program answers
queries meanwhile, and ends itself as soon as there is room.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from urllib.parse import parse_qs, urlsplit

from pyoxigraph import (
    DefaultGraph,
    NamedNode,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Store,
    parse,
)
from ses_client.peer import peer_uid

CANNOT_OPEN = 3
RAN_AWAY = 4
COULD_NOT_WRITE = 5
_BACKLOG = 64
_LOOK_SECONDS = 0.25
_LARGE = 2**20  # bytes of a graph that is written as files of its own
_ROOM = 2**20  # bytes; opening the store again writes less


class Costs:
    """What each request that is being answered has cost so far."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: dict[int, tuple[int, float, float]] = {}

    def begin(self, limit: float) -> None:
        """Note that this thread works on a request that may take ``limit`` seconds of a processor."""
        own = threading.get_ident()
        with self._guard:
            self._open[own] = time.pthread_getcpuclockid(own), time.thread_time(), limit

    def end(self) -> None:
        """Note that it is answered."""
        with self._guard:
            self._open.pop(threading.get_ident(), None)

    def beyond(self) -> float | None:
        """Return the seconds spent on a request that is beyond its limit; ``None`` when none is."""
        with self._guard:
            for clock, began, limit in self._open.values():
                spent = time.clock_gettime(clock) - began
                if spent > limit:
                    return spent
        return None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        """Answer a query, or apply an update."""
        path, text = urlsplit(self.path).path, self._body()
        if path == "/query":
            self._answer(lambda: self._query(text.decode()))
        elif path == "/update":
            self._answer(lambda: self._update(text.decode()), changes=True)
        else:
            self._say(404, b"no such path")

    def do_GET(self) -> None:
        """Write everything."""
        if urlsplit(self.path).path == "/store":
            self._answer(lambda: self.server.store.dump(format=RdfFormat.N_QUADS) or b"")
        else:
            self._say(404, b"no such path")

    def do_PUT(self) -> None:
        """Replace a graph, or everything."""
        asked, body = urlsplit(self.path), self._body()
        if asked.path != "/store":
            self._say(404, b"no such path")
            return
        graph = parse_qs(asked.query).get("graph")
        self._answer(
            lambda: self._replace_graph(graph[0], body) if graph else self._replace_all(body), changes=True
        )

    def _query(self, text: str) -> bytes:
        results = self.server.store.query(text, use_default_graph_as_union=True)
        if isinstance(results, QuerySolutions | QueryBoolean):
            return results.serialize(format=QueryResultsFormat.JSON) or b""
        return results.serialize(format=RdfFormat.N_TRIPLES) or b""

    def _replace_graph(self, name: str, turtle: bytes) -> bytes:
        store, graph = self.server.store, NamedNode(name)
        is_empty = next(store.quads_for_pattern(None, None, None, graph), None) is None
        if is_empty and len(turtle) >= _LARGE:
            return self._fill_graph(graph, turtle)
        given = [quad.triple for quad in parse(turtle, format=RdfFormat.TURTLE, rename_blank_nodes=True)]
        if is_empty:
            store.extend([Quad(triple.subject, triple.predicate, triple.object, graph) for triple in given])
        else:
            lines = "".join(f"{triple} .\n" for triple in given)
            store.update(f"DROP SILENT GRAPH {graph} ; INSERT DATA {{ GRAPH {graph} {{\n{lines}}} }}")
        return b""

    def _fill_graph(self, graph: NamedNode, turtle: bytes) -> bytes:
        """Fill an empty graph in a third of the time, but not all at once: the caller says when it counts."""
        try:
            self.server.store.bulk_load(turtle, format=RdfFormat.TURTLE, to_graph=graph)
        except (SyntaxError, ValueError):
            self.server.store.clear_graph(graph)
            raise
        return b""

    def _replace_all(self, quads: bytes) -> bytes:
        graphs: dict[str, list[str]] = {}
        for quad in parse(quads, format=RdfFormat.N_QUADS, rename_blank_nodes=True):
            name = "" if isinstance(quad.graph_name, DefaultGraph) else f"GRAPH {quad.graph_name} "
            graphs.setdefault(name, []).append(f"{quad.triple} .\n")
        statements = "\n".join(
            f"{name}{{\n{''.join(lines)}}}" if name else "".join(lines) for name, lines in graphs.items()
        )
        self.server.store.update(f"DROP ALL ; INSERT DATA {{\n{statements}\n}}")
        return b""

    def _answer(self, act: Callable[[], bytes], *, changes: bool = False) -> None:
        """Say what came of an act; a change is on the disk before it is answered."""
        self.server.costs.begin(2.0 * self._seconds())
        try:
            status, body = 200, act()
            if changes:
                self.server.store.flush()
        except (SyntaxError, ValueError) as error:
            status, body = 400, str(error).encode()
        except Exception as error:
            status, body = 500, str(error).encode()
            self.server.must_be_opened_again |= changes and not self._can_write()
        finally:
            self.server.costs.end()
        self._say(status, body)

    def _can_write(self) -> bool:
        """Return whether a failure was the request's own: one of the disk comes again."""
        try:
            self.server.store.flush()
        except Exception:
            return False
        return True

    def _update(self, text: str) -> bytes:
        self.server.store.update(text)
        return b""

    def _seconds(self) -> float:
        try:
            return float(self.headers["Ses-Seconds"])
        except (TypeError, ValueError):
            return self.server.seconds

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _say(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests."""


class Server(ThreadingMixIn, UnixStreamServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(self, store: Store, address: str, seconds: float) -> None:
        self.store, self.seconds, self.costs = store, seconds, Costs()
        self.must_be_opened_again = False
        Path(address).unlink(missing_ok=True)
        super().__init__(address, Handler)

    def verify_request(self, request: object, client_address: object) -> bool:  # noqa: ARG002
        """Return whether who connects may ask."""
        assert isinstance(request, socket.socket)
        return peer_uid(request) in (0, os.getuid())

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of callers who hang up; faults of the store are answered."""


def watch(server: Server) -> None:
    """End the program when a request costs more than it may, or when there is room for what was refused."""
    while True:
        time.sleep(_LOOK_SECONDS)
        spent = server.costs.beyond()
        if spent is not None:
            _end(RAN_AWAY, f"a request has worked for {spent:.0f} s, longer than anybody waits")
        if server.must_be_opened_again and _has_room():
            _end(COULD_NOT_WRITE, "a change could not be written; the store is opened again")


def _has_room() -> bool:
    try:
        with tempfile.TemporaryFile(dir=".") as file:
            os.posix_fallocate(file.fileno(), 0, _ROOM)
    except OSError:
        return False
    return True


def _end(status: int, reason: str) -> None:
    print(reason, file=sys.stderr, flush=True)
    os._exit(status)


def main() -> int:
    """Serve until a signal ends the program."""
    data, address, seconds = sys.argv[1:]
    os.umask(0o077)
    try:
        store = Store(data)
    except (OSError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return CANNOT_OPEN
    with Server(store, address, float(seconds)) as server:
        threading.Thread(target=watch, args=(server,), daemon=True).start()
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
