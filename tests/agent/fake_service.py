"""A fake ses-service: the routes the agent uses, real HTTP, as broken as a test wants.

It decides nothing and checks no body; it keeps what is reported to it.
"""

import contextlib
import itertools
import json
import secrets
import socket
import threading
import time
from collections import Counter
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
    version: str | None = None


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
    """Leave the answer to the fake."""
    return None


class FakeService:
    """Serves until `close`; `kill` and `revive` take it away and back on the same port."""

    def __init__(self, mount_point: Path, targets: dict[str, Path], backend: str = "mergerfs") -> None:
        self.mount_point = mount_point
        self.targets = targets
        self.backend = backend
        #: Further storage systems by name: where one is mounted, and its elements.
        self.beside: dict[str, tuple[Path, dict[str, Path]]] = {}
        #: Storage systems on which no files are placed, as they are listed.
        self.unplaced: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.placements: dict[str, str] = {}  # id -> its first element
        #: What announcements said of each placement, in order.
        self.opened_as: dict[str, list[dict[str, Any]]] = {}
        self.ended_as: dict[str, list[dict[str, Any]]] = {}
        #: Seconds until the next sign of life is asked for.
        self.pace = 0.1
        #: What files need, by user: a digest, and entries without user and generation.
        self.needs: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        #: Facts and loads of elements that differ from those of the others, by name of the member.
        self.facts: dict[str, dict[str, Any]] = {}
        self.loads: dict[str, dict[str, Any]] = {}
        self.revision = "r1"
        self.rate = 0.0  # placements a second by others
        self.max_age = 60.0
        self.version: str | None = None  # what it says it is
        self.later: dict[str, Any] = {}  # members of answers that agents do not know
        #: Decisions as announcements said them, by placement.
        self.decided: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.instance = ""
        #: False: what is taken is not stored, and lost when the service is killed.
        self.stores = True
        self.stored = 0
        #: Why it does not take a file or a decision; empty: it does.
        self.refuses: Callable[[dict[str, Any]], str] = lambda _: ""
        #: Called with each request first; what it returns is sent instead of the usual answer.
        self.instead: Callable[[Request], Answer | None] = as_usual
        self.released = threading.Event()  # ends the delay of every answer under way
        self._lock = threading.Lock()
        self._versions = itertools.count(1)
        self._rows_at: dict[int, list[list[Any]]] = {}  # what was reported, by version
        self._last_placed: dict[str, int] = {}  # by element
        self._placements_made = itertools.count(1)
        self._connections: set[socket.socket] = set()
        self._incarnations: set[str] = set()
        # Keeps the port while the fake is away: the kernel would give it to another program.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self._port: int = self._reserved.getsockname()[1]
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

    def close(self) -> None:
        self.kill()
        self._reserved.close()

    def seen(self, method: str, end_of_path: str) -> list[Request]:
        with self._lock:
            return [r for r in self.requests if r.method == method and r.path.endswith(end_of_path)]

    def announcements(self) -> list[Request]:
        return self.seen("POST", "/announcements")

    def opened(self, placement: str) -> list[dict[str, Any]]:
        """What was reported of the file created for `placement`; the same once only."""
        reported: list[dict[str, Any]] = []
        with self._lock:
            for file in self.opened_as.get(placement, []):
                left_out = ("restore", "decision", "idle", "bytes")
                facts = {name: value for name, value in file.items() if name not in left_out}
                reported += [] if facts in reported else [facts]
        return reported

    def restored(self, placement: str) -> list[dict[str, Any]]:
        """How the agent said the placement came about, each time it did."""
        with self._lock:
            reported = self.opened_as.get(placement, [])
            return [file["restore"] for file in reported if file["restore"] is not None]

    def ended(self, placement: str) -> list[dict[str, Any]]:
        """Reason and size of its end; the same once only, as it is said again by an agent that had to wait
        for the answer for a second."""
        reported: list[dict[str, Any]] = []
        with self._lock:
            for end in self.ended_as.get(placement, []):
                facts = {name: end[name] for name in ("reason", "bytes_written")}
                reported += [] if facts in reported else [facts]
        return reported

    def is_idle(self, placement: str) -> bool:
        """What was reported of it last."""
        with self._lock:
            return bool(self.opened_as[placement][-1]["idle"])

    def bytes_of(self, placement: str) -> int:
        """How large an open file was reported to be."""
        with self._lock:
            return max((file.get("bytes", 0) for file in self.opened_as.get(placement, [])), default=0)

    def is_closed(self, placement: str) -> bool:
        """Whether the last report of an open file is that nobody writes it any more."""
        with self._lock:
            reports = self.opened_as.get(placement, [])
            return bool(reports and reports[-1].get("closed"))

    def open_now(self) -> set[str]:
        with self._lock:
            return self.opened_as.keys() - self.ended_as.keys()

    def wait_for_end(self, placement: str) -> None:
        wait_until(lambda: self.ended(placement), f"the end of placement {placement} is reported")

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
        special = self.instead(request)
        if special is not None:
            return special
        if request.method == "GET" and request.path == "/v1/storage-systems":
            systems = [
                {"name": name, "backend": self.backend, "mount_point": str(at), "elements": len(targets)}
                | self.later
                for name, (at, targets) in self._systems().items()
            ]
            return Answer(200, {"storage_systems": [*self.unplaced, *systems], **self.later})
        if request.method == "POST" and request.path.endswith("/announcements"):
            return self._announced(request.body)
        return problem(404, "not-found", "there is no such thing")

    def _announced(self, body: dict[str, Any]) -> Answer:
        assert len(body["opened"]) + len(body["ended"]) <= 2000
        unknown = []
        files = [*body["opened"], *body["ended"]]
        refused = {announced["placement_id"]: why for announced in files if (why := self.refuses(announced))}
        items = [
            {"list": "decisions", "index": number, "detail": why}
            for number, decision in enumerate(body["decisions"])
            if (why := self.refuses(decision))
        ]
        with self._lock:
            first = body["incarnation"] not in self._incarnations
            self.stored = body["number"] if self.stores else 0 if first else self.stored
            self._incarnations.add(body["incarnation"])
            for file in body["opened"]:
                placement = file["placement_id"]
                if self.refuses(file):
                    continue
                if placement not in self.placements:
                    if file["restore"] is None:
                        unknown.append(placement)
                        continue
                    restore = file["restore"]
                    elements = [restore["element"]] if "element" in restore else restore["elements"]
                    self.placements[placement] = elements[0]
                    self._last_placed[elements[0]] = next(self._placements_made)
                if file["decision"] is not None:
                    self.decided[placement] = (file["decision"], body["decisions"][file["decision"]["id"]])
                self.opened_as.setdefault(placement, []).append(file)
            for end in body["ended"]:
                if self.refuses(end):
                    continue
                if end["placement_id"] in self.placements:
                    self.ended_as.setdefault(end["placement_id"], []).append(end)
                else:
                    unknown.append(end["placement_id"])
            still = {id: reported[-1] for id, reported in self.opened_as.items() if id not in self.ended_as}
            if body["complete"]:
                for placement in still.keys() - {file["placement_id"] for file in body["opened"]}:
                    self.ended_as[placement] = [{"reason": "lost", "bytes_written": None, "path": None}]
        names = ("placement_id", "user", "device", "inode", "path", "pid")
        held = [{name: reported[name] for name in names} for reported in still.values()]
        answer = {
            "instance": self.instance,
            "stored": self.stored,
            "next_within_seconds": self.pace,
            "unknown": unknown,
            "refused": [
                {"placement_id": placement_id, "detail": why} for placement_id, why in refused.items()
            ],
            "refused_items": items,
            "open": held if first else None,
            "tables": [self._table(table) for table in body["tables"] if table["system"] in self._systems()],
            "needs": [
                {"user": user, "generation": self.needs[user][0], **entry}
                for user in body["users"]
                if user in self.needs and self.needs[user][0] != body["generations"].get(user)
                for entry in self.needs[user][1]
            ],
        }
        return Answer(200, answer | self.later)

    def row(self, number: int, element: str) -> list[Any]:
        """A row of loads, with what the ledger holds."""
        with self._lock:
            streams = Counter(
                placed
                for id, placed in self.placements.items()
                if id in self.opened_as and id not in self.ended_as and not self.opened_as[id][-1]["idle"]
            )
        own, server = streams[element], self._server_of(element)
        on_server = sum(count for other, count in streams.items() if self._server_of(other) == server)
        load: dict[str, Any] = {
            **{"busy": 0.0, "busy_average": 0.0, "foreign": 0.0, "foreign_average": 0.0, "own": own},
            **{"server_streams": on_server, "free": 50e9, "reserved": 0.0, "age": 0.5, "state": 0},
            **{"last_placed": self._last_placed.get(element, 0)},
            **{"promises": 0, "promised": 0.0, "promised_hard": 0.0, **self.loads.get(element, {})},
        }
        return [number, *load.values()]

    def _server_of(self, element: str) -> object:
        """Return the number of its server: one of its own where the facts say nothing."""
        return self.facts.get(element, {}).get("server", element)

    def _systems(self) -> dict[str, tuple[Path, dict[str, Path]]]:
        return {"union": (self.mount_point, self.targets), **self.beside}

    def _table(self, known: dict[str, Any]) -> dict[str, Any]:
        targets = self._systems()[known["system"]][1]
        rows = [self.row(number, element) for number, element in enumerate(targets)]
        version = next(self._versions)
        self._rows_at[version] = rows
        same = known["revision"] == self.revision and known["version"] in self._rows_at
        before = self._rows_at[known["version"]] if same else None
        facts = {"read_rate": 200e6, "write_rate": 200e6, "size": 100e9, "server_rate": None, "stated": []}
        elements = [
            {"element": element, "target": str(target), "number": sorted(targets).index(element)}
            | {"server": number, "scarce": False, **facts}
            | self.facts.get(element, {})
            | self.later
            for number, (element, target) in enumerate(targets.items())
        ]
        return {
            "system": known["system"],
            "revision": self.revision,
            "version": version,
            "sent_at": time.time(),
            "total": len(targets),
            "rate": self.rate,
            "max_age_seconds": self.max_age,
            "rate_window_seconds": 2.0,
            "stated": [],
            "policy": {"saturation": 0.97},
            "elements": None if same else elements,
            "loads": [row for row in rows if before is None or row != before[row[0]]],
            **self.later,
        }


def _handler_of(fake: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with fake._lock:
                fake._connections.add(self.connection)

        def finish(self) -> None:
            with fake._lock:
                fake._connections.discard(self.connection)
            super().finish()

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length)
            if len(text) < length:  # the sender was killed while it sent
                self.close_connection = True
                return
            body = json.loads(text) if text else {}
            token = self.headers.get("Authorization")
            version = self.headers.get("Ses-Version")
            answer = fake._answer(Request(self.command, self.path, body, token, time.monotonic(), version))
            if answer.delay:
                fake.released.wait(answer.delay)
            raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            said = {} if fake.version is None else {"Ses-Version": fake.version}
            for name, value in {"Content-Type": "application/json", **said, **answer.headers}.items():
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
