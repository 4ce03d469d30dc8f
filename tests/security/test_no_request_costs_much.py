"""No request costs much more than others of its size: the costliest of each endpoint are looked for.

The bound is one of processor time, and far above what a request of a megabyte takes that is read once and
answered: a tenth of it here.  What grows faster than its input takes minutes at that size, on any machine.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from costly_requests import Contract, Request, measure
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.http.app import create_app as create_monitor
from smed_monitor.scraping.monitor import Monitor

SECONDS = 3.0
ROOT = Path(__file__).parents[2]
ENVIRON = {"REMOTE_ADDR": "127.0.0.1"}
SERVICE = yaml.load((ROOT / "ses-service" / "openapi.yaml").read_text("utf-8"), yaml.CSafeLoader)
MONITOR = yaml.load((ROOT / "smed-monitor" / "openapi.yaml").read_text("utf-8"), yaml.CSafeLoader)
RIGHT = {
    "kind": "current-read-rate", "unit": "MB/s", "stated_unit": "MB/s", "minimum": 20.0,
    "element": "union/b0", "node": "n1", "placement_id": "0123456789abcdef", "level": "user",
    "name": "alice", "number": 1,
    "part": "site", "user": "alice", "storage_system": "union", "valid_from": "2026-01-01T00:00:00Z",
    "valid_until": "2027-01-01T00:00:00Z",
}  # fmt: skip


@pytest.fixture(scope="module")
def service() -> Any:
    """The service of tests/service, with some hundred elements."""
    folder = ROOT / "tests" / "service"
    spec = importlib.util.spec_from_file_location("service_parts", folder / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    parts = sys.modules["service_parts"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(parts)
    site = parts.Site.equal(300).see_all()
    made = parts.Service(site.environment, parts.Clock()).refresh()
    made.see(site.observed.values())
    return made.app


@pytest.fixture(scope="module")
def monitor() -> Any:
    names = [f"union/b{number}" for number in range(300)]
    elements = tuple(ElementSettings(id=one, target="n1", mount_point=f"/srv/{one}") for one in names)
    target = Target(name="n1", collector="node_exporter", url="http://n1:9100/metrics")
    return create_monitor(Monitor(Settings(target=(target,), element=elements)))


def costliest(app: Any, document: dict[str, Any], *, seed: int, share: float) -> list[Request]:
    """Return the costliest request of each operation, of a share of all that can be made."""
    rng = random.Random(seed)
    contract = Contract(document, RIGHT, rng)
    worst = []
    for path, method, operation in contract.operations():
        first = Request(method, path, "none")
        for what, make in contract.requests(path, method, operation):
            if rng.random() < share or what == "many parameters" or ("x" in what and "65536 of 'n" in what):
                asked = measure(app, make(), ENVIRON)
                assert asked.status != 500, f"{method} {path}: {what}"
                first = max(first, asked, key=lambda one: one.cost)
        worst.append(first)
    return worst


def _check(worst: list[Request]) -> None:
    dear = [(round(one.cost, 2), one.method, one.path, one.what) for one in worst if one.cost > SECONDS]
    assert dear == []
    assert all(one.cost > 0 for one in worst), "each operation was asked"


def test_no_request_to_the_service_costs_much(service: Any) -> None:
    _check(costliest(service, SERVICE, seed=1, share=0.02))


def test_no_request_to_the_monitor_costs_much(monitor: Any) -> None:
    _check(costliest(monitor, MONITOR, seed=1, share=0.2))


@pytest.mark.long
def test_no_request_at_all_to_the_service_costs_much(service: Any) -> None:
    _check(costliest(service, SERVICE, seed=2, share=1.0))


@pytest.mark.parametrize("path", ["/v1/changes/1", "/v1/knowledge/site"])
def test_a_name_no_store_can_keep_is_refused(service: Any, path: str) -> None:
    assert service.test_client().get(f"{path}?after=%00").status_code == 422
