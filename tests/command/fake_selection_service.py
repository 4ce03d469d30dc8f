"""A selection service in this process that answers as its contract says, and misbehaves on demand.

Holds two elements, requirement sets and placement records.  Decides nothing: what ``select``
answers is what the test put into ``selection``.
"""

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from http_server import Asked, HttpServer

TOKEN = "a-token-that-is-known"
JSON = dict[str, Any]


def observation(element: str, *, exporter: str, state: str = "ok", age: float = 0.4) -> JSON:
    return {
        "element": element, "source": "node_exporter", "target": exporter, "state": state,
        "sampled_at": 1_700_000_000.0, "age_seconds": age,
        "read_bytes_per_second": {"current": 0.0, "average": 0.0},
        "write_bytes_per_second": {"current": 45e6, "average": 40e6},
        "queue_depth": 0.0, "free_bytes": 2.5e8, "size_bytes": 3e8, "read_only": False, "degraded": False,
        "no_create": False, "detail": "",
    }  # fmt: skip


def element(name: str, mount: str, target: str, seen: JSON | None) -> JSON:
    return {
        "id": f"union/{name}", "iri": f"https://example.org/{name}", "label": name,
        "storage_system": "union",
        "backend": "mergerfs", "mount_point": mount, "target": target, "server": "server",
        "tier": None, "pool": None,
        "state": "active", "capacity_bytes": 3e8,
        "nominal": {"read_mb_s": 120.0, "write_mb_s": 90.0}, "observation": seen,
        "available": {"read_mb_s": 120.0, "write_mb_s": 45.0}, "open_placements": 1, "reserved_bytes": 0,
    }  # fmt: skip


def storage_system(mount: str) -> JSON:
    return {"name": "union", "backend": "mergerfs", "mount_point": mount, "elements": 2}


def requirement(kind: str, minimum: float, unit: str, **more: Any) -> JSON:
    return {"kind": kind, "minimum": minimum, "unit": unit, "weight": 1.0, "strictness": "soft", **more}


def candidate(rank: int, name: str, distance: float, write: float, minimum: float) -> JSON:
    return {
        "rank": rank, "element": f"union/{name}", "storage_system": "union", "backend": "mergerfs",
        "target": f"/srv/{name}", "distance": distance,
        "available": {"read_mb_s": 100.0, "write_mb_s": write},
        "free_gb": 0.25, "age_seconds": 0.4, "basis": "monitor+ledger",
        "predicted": [{"kind": "current-write-rate", "value": write, "unit": "MB/s", "minimum": minimum,
                       "shortfall": max(0.0, 1 - write / minimum)}],
    }  # fmt: skip


class SelectionServiceDouble:
    """State a test may change between requests.  ``requests`` keeps what was asked."""

    def __init__(self) -> None:
        self.token: str | None = TOKEN
        self.delay_seconds = 0.0
        self.rubbish: bytes | None = None
        self.ready = True
        self.checks: list[JSON] = [{"name": "knowledge-base", "ok": True, "detail": ""}]
        self.elements: list[JSON] = []
        self.storage_systems: list[JSON] = []
        self.quotas: JSON = {"total": 0, "quotas": [], "sources": [], "problem": ""}
        self.monitor: JSON = {"url": "http://127.0.0.1:1", "reachable": True, "age_seconds": 0.3}
        self.knowledge_base: JSON = {"url": None, "reachable": True, "age_seconds": 0.1, "revision": "7"}
        self.selection: JSON = {
            "decided_at": 1.0,
            "requirements": [],
            "candidates": [],
            "refused": [],
            "notes": [],
        }
        self.node_selection: JSON = {"requirements": [], "candidates": [], "refused": [], "notes": []}
        self.node_classes: list[JSON] = []
        self.calibration: JSON | None = None
        self.passed_over: list[JSON] = []
        self.placements: list[JSON] = []
        self.files: list[JSON] = []
        self.filters: tuple[str, ...] = ()  # parameters of a question for files that leave files out
        self.report: JSON = {}
        self.asked: dict[str, str] = {}
        self.sets: dict[tuple[str, str], JSON] = {}
        self.takes_units: tuple[str, ...] = ("MB/s", "GB")
        self.vocabulary: JSON = {"kinds": [], "profiles": []}
        self.steal_next_revision = False
        self.requests: list[tuple[str, str, Any]] = []
        self.url = ""

    def set_of(self, level: str, name: str) -> JSON:
        empty = {"level": level, "name": name, "requirements": [], "revision": 0, "modified_at": None,
                 "modified_by": None, "profile": None}  # fmt: skip
        return self.sets.get((level, name), empty)

    def answer(
        self, method: str, path: str, query: dict[str, list[str]], body: Any, headers: Any
    ) -> tuple[int, Any]:
        if path == "/readyz":
            return (200 if self.ready else 503), {"ready": self.ready, "checks": self.checks}
        if self.token is not None and headers.get("Authorization") != f"Bearer {self.token}":
            return problem(401, "unauthorized", "This request needs a known token.")
        if path == "/v1/elements":
            return 200, {"generated_at": 1.0, "elements": self.elements, "monitor": self.monitor,
                         "knowledge_base": self.knowledge_base}  # fmt: skip
        if path == "/v1/quotas":
            self.asked = {name: values[0] for name, values in query.items()}
            return 200, self.quotas
        if path == "/v1/storage-systems":
            return 200, {"storage_systems": self.storage_systems}
        if path == "/v1/selections":
            return 200, self.selection
        if path == "/v1/nodes/selections":
            return 200, self.node_selection
        if path == "/v1/node-classes":
            return 200, {"node_classes": self.node_classes}
        if path.startswith("/v1/nodes/") and path.endswith("/calibration"):
            rates = self.calibration
            return (200, rates) if rates else problem(404, "not-found", "the node was not calibrated")
        if path == "/v1/placements":
            wanted = query.get("path", [None])[0]
            file = tuple(query.get(name, [None])[0] for name in ("device", "inode"))
            short = [
                {k: v for k, v in placement.items() if k not in ("candidates", "refused")}
                for placement in self.placements
            ]
            return 200, {"placements": [
                row for row in short
                if wanted in (None, row["path"])
                and file in ((None, None), (str(row["device"]), row["inode"]))
            ]}  # fmt: skip
        if path == "/v1/places":
            return 200, {"places": []}
        if path in ("/v1/files", "/v1/report"):
            self.asked = {name: values[0] for name, values in query.items()}
        if path == "/v1/files":
            after, limit = int(query.get("after", ["0"])[0]), int(query["limit"][0])
            wanted = {name: query[name][0] for name in self.filters if name in query}
            matches = [row for row in self.files if all(row[name] == wanted[name] for name in wanted)]
            further = after + limit < len(matches)
            page = matches[after : after + limit]
            return 200, {"files": page, "next": str(after + limit) if further else None}
        if path.startswith("/v1/files/"):
            for record in self.files:
                if path.endswith(record["placement_id"]):
                    return 200, record
            return problem(404, "not-found", "no placement is known")
        if path == "/v1/report":
            return 200, self.report
        if path.startswith("/v1/placements/"):
            for placement in self.placements:
                if placement["placement_id"] == path.rpartition("/")[2]:
                    return 200, placement
            return problem(404, "no-placement", "There is no such placement.")
        if path == "/v1/requirements":
            user = query.get("user", [None])[0]
            return 200, {"sets": [row for row in self.sets.values() if user is None or user in row["name"]]}
        if path == "/v1/vocabulary":
            return 200, self.vocabulary
        if path == "/v1/requirements/effective":
            return 200, {
                "subject": {"user": query["user"][0]},
                "requirements": self.selection["requirements"],
                "passed_over": self.passed_over,
                "notes": self.selection["notes"],
            }
        level, name = path.split("/")[3:5]
        return self._requirements(method, level, unquote(name), body, headers)

    def _requirements(self, method: str, level: str, name: str, body: Any, headers: Any) -> tuple[int, Any]:
        current = self.set_of(level, name)
        if method == "GET":
            return 200, current
        if self.steal_next_revision or headers.get("If-Match") != f'"{current["revision"]}"':
            return problem(412, "revision-conflict", "The set has changed.")
        for index, sent in enumerate(body["requirements"]):
            if sent["unit"] not in self.takes_units:
                message = f"unknown unit {sent['unit']!r}"
                fault = {"location": f"requirements.{index}.unit", "message": message}
                return problem(422, "invalid", "The request is not valid.", errors=[fault, fault])
        stated = [{"weight": 1.0, **requested} for requested in body["requirements"]]
        self.sets[level, name] = {**current, "requirements": stated, "profile": body.get("profile"),
                                  "modified_at": 1_700_000_000.0,
                                  "revision": current["revision"] + 1, "modified_by": "alice"}  # fmt: skip
        return 200, self.sets[level, name]


def problem(status: int, slug: str, detail: str, **more: Any) -> tuple[int, JSON]:
    return status, {
        "type": f"urn:qstorman:problem:{slug}",
        "title": slug,
        "status": status,
        "detail": detail,
        **more,
    }


@contextmanager
def serving(double: SelectionServiceDouble) -> Iterator[SelectionServiceDouble]:
    def answer(asked: Asked) -> None:
        body = json.loads(asked.sent) if asked.sent else None
        parts = urlsplit(asked.path)
        double.requests.append((asked.command, parts.path, body))
        time.sleep(double.delay_seconds)
        status, said = double.answer(asked.command, parts.path, parse_qs(parts.query), body, asked.headers)
        kind = "application/json" if status < 400 else "application/problem+json"
        with suppress(BrokenPipeError):  # whoever asked did not wait
            asked.say(status, said if double.rubbish is None else double.rubbish, Content_Type=kind)

    with closing(HttpServer(answer)) as server:
        double.url = server.url
        yield double
