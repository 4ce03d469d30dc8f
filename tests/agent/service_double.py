"""A stand-in for ses-service: the routes the agent uses, real HTTP, as broken as a test wants.

It decides nothing (elements are named in turn) and checks no body; it keeps what it was asked.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from patience import wait_until


@dataclass(frozen=True)
class Request:
    """One request the agent made, and when (monotonic seconds)."""

    method: str
    path: str
    body: dict[str, Any]
    token: str | None
    at: float


@dataclass(frozen=True)
class Answer:
    """What goes back: `body` is JSON, or bytes sent as they are."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


def problem(status: int, slug: str, detail: str, **headers: str) -> Answer:
    """A problem document as the service writes it."""
    body = {"type": f"urn:qstorman:problem:{slug}", "title": slug, "status": status, "detail": detail}
    return Answer(status, body, headers)


def as_usual(request: Request) -> Answer | None:
    """Leave the answer to the double."""
    return None


class ServiceDouble:
    """Serves until `close`; `kill` and `revive` take it away and back on the same port."""

    def __init__(self, mount_point: Path, targets: dict[str, Path], backend: str = "mergerfs") -> None:
        self.mount_point = mount_point
        self.targets = targets
        self.backend = backend
        self.requests: list[Request] = []
        self.placements: dict[str, str] = {}  # id -> element
        self.booked_as: dict[str, dict[str, Any]] = {}  # id -> the question
        #: What announcements said of each placement, in order.
        self.opened_as: dict[str, list[dict[str, Any]]] = {}
        self.ended_as: dict[str, list[dict[str, Any]]] = {}
        #: Seconds until the next sign of life is asked for; applications by user; elements to describe.
        self.pace = 5.0
        self.applications: dict[str, list[str]] = {}
        self.snapshot: dict[str, Any] | None = None
        self.generations: dict[str, str] | None = None  # by user; None: it does not say
        self.resolved: list[dict[str, Any]] = []  # requirements
        self.instance = ""
        #: Called with each request first; what it returns is sent instead of the usual answer.
        self.instead: Callable[[Request], Answer | None] = as_usual
        self.released = threading.Event()  # ends the delay of every answer under way
        self._lock = threading.Lock()
        self._ids = itertools.count(0x5E50000000000001)
        self._turns = itertools.count()
        self._connections: set[socket.socket] = set()
        self._incarnations: set[str] = set()
        self._port = 0
        self.revive()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def revive(self) -> None:
        """Serve (again), as another instance that has kept its ledger."""
        self.released.clear()
        self.instance = secrets.token_hex(8)
        self._incarnations.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), _handler_of(self))
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def forget(self) -> None:
        """Lose the ledger, as a service without a disk does when it is killed."""
        with self._lock:
            self.placements.clear()
            self.opened_as.clear()
            self.ended_as.clear()

    def kill(self) -> None:
        """Refuse connections and cut the kept ones, as a process that dies does."""
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # its client hung up first
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()
        self.released.set()

    close = kill

    def seen(self, method: str, end_of_path: str) -> list[Request]:
        with self._lock:
            return [r for r in self.requests if r.method == method and r.path.endswith(end_of_path)]

    def bookings(self) -> list[Request]:
        return self.seen("POST", "/v1/placements")

    def announcements(self) -> list[Request]:
        return self.seen("POST", "/announcements")

    def opened(self, placement: str) -> list[dict[str, Any]]:
        """What the service was told of the file created for `placement`; the same once only."""
        told: list[dict[str, Any]] = []
        with self._lock:
            for file in self.opened_as.get(placement, []):
                facts = {name: value for name, value in file.items() if name != "restore"}
                told += [] if facts in told else [facts]
        return told

    def restored(self, placement: str) -> list[dict[str, Any]]:
        """How the agent said the placement came about, each time it did."""
        with self._lock:
            told = self.opened_as.get(placement, [])
            return [file["restore"] for file in told if file["restore"] is not None]

    def ended(self, placement: str) -> list[dict[str, Any]]:
        """Reason and size of its end, each time it was told."""
        with self._lock:
            told = self.ended_as.get(placement, [])
            return [{name: end[name] for name in ("reason", "bytes_written")} for end in told]

    def open_now(self) -> set[str]:
        with self._lock:
            return self.opened_as.keys() - self.ended_as.keys()

    def wait_for_end(self, placement: str) -> None:
        wait_until(lambda: self.ended(placement), f"the end of placement {placement} is told")

    def unended(self) -> set[str]:
        return {placement for placement in dict(self.placements) if not self.ended(placement)}

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
        special = self.instead(request)
        if special is not None:
            return special
        if request.method == "GET" and request.path == "/v1/storage-systems":
            system = {
                "name": "union",
                "backend": self.backend,
                "mount_point": str(self.mount_point),
                "elements": len(self.targets),
            }
            return Answer(200, {"storage_systems": [system]})
        if request.method == "POST" and request.path == "/v1/placements":
            return self._book(request.body)
        if request.method == "POST" and request.path.endswith("/announcements"):
            return self._announced(request.body)
        return problem(404, "not-found", "there is no such thing")

    def _announced(self, body: dict[str, Any]) -> Answer:
        assert len(body["opened"]) + len(body["ended"]) <= 2000
        unknown = []
        with self._lock:
            first = body["incarnation"] not in self._incarnations
            self._incarnations.add(body["incarnation"])
            for file in body["opened"]:
                placement = file["placement_id"]
                if placement not in self.placements:
                    if file["restore"] is None:
                        unknown.append(placement)
                        continue
                    self.placements[placement] = file["restore"]["element"]
                self.opened_as.setdefault(placement, []).append(file)
            for end in body["ended"]:
                if end["placement_id"] in self.placements:
                    self.ended_as.setdefault(end["placement_id"], []).append(end)
                else:
                    unknown.append(end["placement_id"])
            still = {id: told[-1] for id, told in self.opened_as.items() if id not in self.ended_as}
            if body["complete"]:
                for placement in still.keys() - {file["placement_id"] for file in body["opened"]}:
                    self.ended_as[placement] = [{"reason": "lost", "bytes_written": None, "path": None}]
        names = ("placement_id", "user", "device", "inode", "path", "pid")
        held = [{name: told[name] for name in names} for told in still.values()]
        answer = {
            "instance": self.instance,
            "next_within_seconds": self.pace,
            "unknown": unknown,
            "refused": [],
            "open": held if first else None,
            "applications": {u: self.applications[u] for u in body["users"] if u in self.applications},
            "snapshot": self.snapshot if body["snapshot"] else None,
        }
        if self.generations is not None:
            answer["generations"] = {u: self.generations[u] for u in body["users"] if u in self.generations}
        return Answer(200, answer)

    def _book(self, body: dict[str, Any]) -> Answer:
        allowed = [element for element in self.targets if element not in body["exclude"]]
        if not allowed:
            return problem(409, "no-element", "no element is left")
        placements = []
        with self._lock:
            for _ in range(body["count"]):
                element = allowed[next(self._turns) % len(allowed)]
                placement = f"{next(self._ids):016x}"
                self.placements[placement] = element
                self.booked_as[placement] = body
                placements.append(
                    {
                        "placement_id": placement,
                        "element": element,
                        "storage_system": "union",
                        "backend": self.backend,
                        "target": str(self.targets[element]),
                        "stripe_count": 1,
                        "stripe_size_bytes": None,
                        "distance": 0.25,
                        "predicted": [],
                        "lease_until": time.time() + body["lease_seconds"],
                    }
                )
        return Answer(201, {"placements": placements, "selection": {"requirements": self.resolved}})


def _handler_of(double: ServiceDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with double._lock:
                double._connections.add(self.connection)

        def finish(self) -> None:
            with double._lock:
                double._connections.discard(self.connection)
            super().finish()

        def _serve(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text) if text else {}
            token = self.headers.get("Authorization")
            answer = double._answer(Request(self.command, self.path, body, token, time.monotonic()))
            if answer.delay:
                double.released.wait(answer.delay)
            raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PATCH = _serve

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # the connection was cut on purpose
                super().handle()

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
