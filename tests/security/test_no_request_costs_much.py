"""No request costs much more than others of its size: the costliest of each endpoint are looked for.

The bound is one of processor time, and far above what a request of a megabyte takes that is read once and
answered: a tenth of it here.  What grows faster than its input takes minutes at that size, on any machine.
"""

import importlib.util
import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml
from costly_requests import OMIT, SMALL, STORE, Contract, Request, measure
from ses_service.feeds.monitor_history import Past, Point
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.nodes import NodeCalibration
from ses_service.security.munge import Credential
from ses_service.security.sessions import Sessions
from ses_service.security.tokens import Principal, Role
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.http.app import create_app as create_monitor
from smed_monitor.scraping.monitor import Monitor

SECONDS = 3.0
ROOT = Path(__file__).parents[2]
ENVIRON = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_ACTING_USER": "alice"}
SERVICE = yaml.load((ROOT / "ses-service" / "openapi.yaml").read_text("utf-8"), yaml.CSafeLoader)
MONITOR = yaml.load((ROOT / "smed-monitor" / "openapi.yaml").read_text("utf-8"), yaml.CSafeLoader)
DESCRIPTION = (ROOT / "ontology" / "examples" / "union-site.ttl").read_text("utf-8")
RIGHT: dict[str, Any] = {
    "kind": "current-read-rate", "unit": "MB/s", "stated_unit": "MB/s", "minimum": 20.0,
    "element": "union/b0", "node": "n1", "placement_id": "0123456789abcdef", "level": "user",
    "name": "alice", "number": 1,
    "part": "site", "user": "alice", "storage_system": "union", "valid_from": "2026-01-01T00:00:00Z",
    "valid_until": "2027-01-01T00:00:00Z", "state_until": "2027-01-01T00:00:00Z",
    "until": "2027-01-01T00:00:00Z", "incarnation": "0123456789abcdef", "inode": "7",
    "maximum": OMIT, "restore": OMIT, "packed": OMIT, "credential": "MUNGE:AAAA:",
    "definition": OMIT, "measured": OMIT, "revision": OMIT, "system": "union", "server": "s0",
    "text": DESCRIPTION, "mode": "merge", "target": "/srv/b900",
}  # fmt: skip
ELEMENT = "/v1/elements/{system}/{name}"
PLACED = "fedcba9876543210"  # opened on another node than the one that announces here
PLACE = "89abcdef01234567"
CHANGED = 2  # what is undone
RIGHT |= {f"{ELEMENT}{what}": {"name": "b1"} for what in ("", "/drain", "/undrain", "/remove", "/history")}
RIGHT |= {
    path: {"placement_id": PLACED} for path in ("/v1/files/{placement_id}", "/v1/placements/{placement_id}")
}
RIGHT |= {
    "/v1/elements": {"name": "b900", "system": "union"},
    "/v1/changes/{number}/undo": {"number": CHANGED},
    "/v1/places": {"storage_system": "scratch", "process": OMIT, "lease_seconds": 3600, "place_id": PLACE},
    "/v1/places/{place_id}/renewals": {"place_id": PLACE},
    "/v1/places/{place_id}": {"place_id": PLACE},
}
ORDER = (  # others need what they make; a change is undone before others are made, an element removed last
    "/v1/changes/{number}/undo",
    "/v1/knowledge/imports",
    "/v1/nodes/{node}/announcements",
    "/v1/tokens",
    "/v1/tokens/{name}/revoke",
    "/v1/runs",
    "/v1/runs/take",
    "/v1/runs/{run_id}/report",
    "/v1/runs/{run_id}/stop",
    "/v1/places",
    "/v1/places/{place_id}/renewals",
    "/v1/places/{place_id}",
    *(f"{ELEMENT}{what}" for what in ("", "/drain", "/undrain", "/history", "/remove")),
)
RUN = "/v1/runs/{run_id}"
RIGHT |= {
    "/v1/runs": {"run_id": "a" * 16, "files": ["/data/log"], "command": ["cat", "{}"]},
    "/v1/runs/take": {"directory": "/home/alice"},
    **{f"{RUN}/{what}": {"run_id": "a" * 16} for what in ("report", "stop")},
}
ROLES = {"/v1/runs": "portal", **dict.fromkeys(("/v1/runs/take", f"{RUN}/report", f"{RUN}/stop"), "user")}
"""Whose token each of these needs; the others are asked as an administrator."""
ANSWERS = {"/readyz": (200, 503)}  # the monitor scrapes nothing here, and says so


class _Munge:
    """Believes every credential."""

    def decode(self, _: str) -> Credential:
        return Credential(os.getuid(), ip_address("127.0.0.1"), b"qstorman-session 1 user localhost")


class _Tokens:
    """Knows a role by its name."""

    def find(self, token: str) -> Principal | None:
        return {
            "portal": Principal("portal", Role.PORTAL),
            "user": Principal("alice", Role.USER, "alice"),
        }.get(token)


class _Monitor:
    """Has the longest history of every element."""

    def of(self, _element: str, since: float, _until: float, step: float) -> Past:
        return Past(step, tuple(Point(since + n * step, 1e6, 1e6, 1.0) for n in range(3600)), "memory")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with made_service(tmp_path_factory.mktemp("store")) as app:
        yield app


@contextmanager
def made_service(folder: Path) -> Iterator[Any]:
    """Have the service of tests/service, with some hundred elements; eight of them can be changed."""
    store = EmbeddedStore(folder)
    try:
        app = _service_on(store.start())
        app.extensions[STORE] = store.pid
        yield app
    finally:
        store.stop()


def _service_on(store: HttpStore) -> Any:
    folder = ROOT / "tests" / "service"
    spec = importlib.util.spec_from_file_location("service_parts", folder / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    parts = sys.modules["service_parts"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(parts)
    names = [*(f"b{number}" for number in range(300)), "scratch/d0"]
    site = parts.Site(*map(parts.Site.element, names)).see_all()
    described = site.environment
    scratch = replace(described.systems["scratch"], backend="directories", mount_point="")
    calibrations = {"n1": NodeCalibration("n1", datetime.now(UTC).timestamp(), "dd", 8, 1e9, 1e9, 1e9)}
    systems = {**described.systems, "scratch": scratch}
    environment = replace(described, systems=systems, calibrations=calibrations)
    clock = parts.Clock()
    exchange = Exchange(store, threading.Lock())
    for text in (DESCRIPTION, f"{DESCRIPTION}\n:b8 rdfs:comment 'slow' .\n"):
        made = exchange.apply(exchange.plan_import(text, "site.ttl", Mode.MERGE, author="alice", now=1.0))
    assert made == CHANGED
    knowledge = type("_Changeable", (parts.FakeKnowledge,), {"exchange": exchange})(environment)
    sessions = Sessions(_Munge(), b"k" * 32, clock)
    known = {"sessions": sessions, "knowledge": knowledge, "tokens": _Tokens()}
    made = parts.Service(environment, clock, **known).refresh()
    made.runtime.past = _Monitor()
    made.see(site.observed.values())
    opened = importlib.import_module("files_opened").announcement([PLACED], ["union/b0"], placed_at=clock())
    assert made.post("/v1/nodes/n2/announcements", opened).get_json()["refused"] == []
    return made.app


@pytest.fixture(scope="module")
def monitor() -> Any:
    names = [f"union/b{number}" for number in range(300)]
    elements = tuple(ElementSettings(id=name, target="n1", mount_point=f"/srv/{name}") for name in names)
    target = Target(name="n1", collector="node_exporter", url="http://n1:9100/metrics")
    return create_monitor(Monitor(Settings(target=(target,), element=elements)))


def costliest(app: Any, document: dict[str, Any], *, seed: int, share: float) -> list[Request]:
    """Return the costliest request of each operation, of a share of all that can be made."""
    rng = random.Random(seed)
    contract = Contract(document, RIGHT, rng)
    worst = []
    operations = contract.operations()
    operations.sort(key=lambda listed: ORDER.index(listed[0]) if listed[0] in ORDER else len(ORDER))
    for path, method, operation in operations:
        environ = {**ENVIRON, "HTTP_AUTHORIZATION": f"Bearer {ROLES[path]}"} if path in ROLES else ENVIRON
        small = dict(contract.requests(path, method, operation))[SMALL]()
        status = measure(app, small, environ).status
        expected = ANSWERS.get(path, (200, 201))
        assert status in expected, f"{method} {path}: the right one is refused with {status}"
        first = Request(method, path, "none")
        for what, make in contract.requests(path, method, operation):
            if rng.random() < share or what == "many parameters" or ("x" in what and "65536 of 'n" in what):
                asked = measure(app, make(), environ)
                assert asked.status != 500, f"{method} {path}: {what}"
                first = max(first, asked, key=lambda request: request.cost)
        worst.append(first)
    return worst


def _check(worst: list[Request]) -> None:
    dear = [
        (round(request.cost, 2), request.method, request.path, request.what)
        for request in worst
        if request.cost > SECONDS
    ]
    assert dear == []
    assert all(request.cost > 0 for request in worst), "each operation was asked"


def test_no_request_to_the_service_costs_much(service: Any) -> None:
    _check(costliest(service, SERVICE, seed=1, share=0.01))


def test_no_request_to_the_monitor_costs_much(monitor: Any) -> None:
    _check(costliest(monitor, MONITOR, seed=1, share=0.2))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_request_at_all_to_the_service_costs_much(tmp_path: Path) -> None:
    with made_service(tmp_path) as app:
        _check(costliest(app, SERVICE, seed=2, share=1.0))


@pytest.mark.parametrize("path", ["/v1/changes/1", "/v1/knowledge/site"])
def test_a_name_no_store_can_keep_is_refused(service: Any, path: str) -> None:
    assert service.test_client().get(f"{path}?after=%00").status_code == 422
