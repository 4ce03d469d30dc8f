"""Elements, storage systems, health, readiness and metrics."""

from dataclasses import replace
from typing import Any

import pytest
from ses_service.model.entities import Observation

Service = Any


def test_elements_show_facts_observation_and_what_is_available(service: Service, clock: Any) -> None:
    seen = Observation(
        "union/b0",
        clock() - 2,
        10e6,
        40e6,
        11e6,
        41e6,
        0.5,
        5e9,
        9e9,
        False,
        "node_exporter",
        "http://x",
        "ok",
        "d",
        degraded=True,
    )
    body = service.see([seen]).get("/v1/elements").get_json()
    assert body["generated_at"] == clock()
    assert body["monitor"] == {"url": None, "reachable": False, "age_seconds": None}
    assert body["knowledge_base"] == {"url": "memory:", "reachable": True, "age_seconds": 0, "revision": "0"}
    first, second, _ = body["elements"]
    assert first["observation"] == {
        "element": "union/b0",
        "source": "node_exporter",
        "target": "http://x",
        "state": "ok",
        "sampled_at": clock() - 2,
        "age_seconds": 2,
        "read_bytes_per_second": {"current": 10e6, "average": 11e6},
        "write_bytes_per_second": {"current": 40e6, "average": 41e6},
        "queue_depth": 0.5,
        "free_bytes": 5e9,
        "size_bytes": 9e9,
        "read_only": False,
        "degraded": True,
        "no_create": False,
        "detail": "d",
    }
    assert (first["mount_point"], first["backend"], first["state"]) == ("/mnt/union", "mergerfs", "active")
    assert first["nominal"] == {"read_mb_s": 100, "write_mb_s": 100}
    assert first["server_link_mb_s"] is None
    assert second["observation"] is None
    assert second["available"]["write_mb_s"] == 50


def test_storage_systems_count_their_elements(service: Service) -> None:
    assert service.get("/v1/storage-systems").get_json() == {
        "storage_systems": [
            {"name": "union", "backend": "mergerfs", "mount_point": "/mnt/union", "elements": 3}
        ]
    }


@pytest.mark.parametrize("path", ["/v1/elements", "/v1/storage-systems", "/v1/requirements"])
def test_before_the_site_is_read_lists_say_so(serve: Any, path: str) -> None:
    answer = serve(1).get(path)
    assert (answer.status_code, answer.content_type) == (503, "application/problem+json")


def test_health_says_the_process_answers_whatever_is_missing(serve: Any) -> None:
    assert serve(1).get("/healthz").get_json() == {"status": "ok"}


def test_readiness_names_what_is_missing(serve: Any) -> None:
    from ses_service.knowledge.errors import StoreUnavailableError

    service = serve(2)
    before = service.get("/readyz")
    assert (before.status_code, before.get_json()["ready"]) == (503, False)
    ready = service.refresh().get("/readyz")
    checks = {check["name"]: check["ok"] for check in ready.get_json()["checks"]}
    sound = ("knowledge-base", "site", "decision", "files-of-nodes")
    expected = {**dict.fromkeys(sound, True), "monitor": False}
    assert (ready.status_code, checks) == (200, expected)
    service.knowledge.broken = StoreUnavailableError("gone away")
    service.runtime.site_manager.step()
    lost = service.get("/readyz", code=200)
    assert (lost.get_json()["ready"], lost.get_json()["degraded"]) == (True, True)
    assert {check["name"]: check["detail"] for check in lost.get_json()["checks"]}[
        "knowledge-base"
    ] == "gone away"
    assert service.post("/v1/selections", {"subject": {"user": "a"}}).status_code == 200


def test_readiness_is_degraded_without_a_monitor_only(serve: Any) -> None:
    service = serve(2)
    assert service.get("/readyz").get_json()["degraded"] is False, "not ready is not degraded"
    service.refresh()
    assert service.get("/readyz").get_json()["degraded"] is True
    service.runtime.observer.status = replace(service.runtime.observer.status, reachable=True)
    assert service.get("/readyz").get_json()["degraded"] is False


def test_metrics_count_requests_placements_elements_and_sources(service: Service, clock: Any) -> None:
    service.see([Observation("union/b0", clock(), 0, 0)])
    first, _ = service.open(2, user="a")
    ended = [{"placement_id": first, "reason": "closed"}]
    service.post("/v1/nodes/n1/announcements", {"incarnation": "a" * 16, "ended": ended})
    clock.time += 3
    answer = service.get("/metrics")
    assert answer.content_type.startswith("text/plain")
    lines = answer.text.splitlines()
    for line in (
        'ses_requests_total{method="POST",route="/v1/nodes/<node>/announcements",status="200"} 2.0',
        'ses_placements_ended_total{reason="closed"} 1.0',
        "ses_ledger_open_placements 1.0",
        'ses_elements{seen="fresh",state="active"} 1.0',
        'ses_elements{seen="unseen",state="active"} 2.0',
        'ses_source_up{source="knowledge-base"} 1.0',
        'ses_source_up{source="monitor"} 0.0',
        'ses_source_age_seconds{source="knowledge-base"} 3.0',
        'ses_request_seconds_count{method="POST",route="/v1/nodes/<node>/announcements"} 2.0',
    ):
        assert line in lines
    assert not any('"a"' in line for line in lines)


def test_metrics_work_before_the_site_is_read(serve: Any) -> None:
    answer = serve(1).get("/metrics")
    assert answer.status_code == 200
    assert "ses_ledger_open_placements 0.0" in answer.text
