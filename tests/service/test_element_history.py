"""The past of an element: asked of the monitor, and told as its contract says."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from http_server import Asked, HttpServer
from ses_service.feeds import monitor_history
from ses_service.feeds.monitor_history import MonitorHistory
from ses_service.security.trust import Trust

POINT = {"at": 990.0, "read_bytes_per_second": None, "write_bytes_per_second": 5e6, "queue_depth": 1.5}
ANSWER = {"element": "union/b0", "step_seconds": 30.0, "source": "memory", "detail": "why", "points": [POINT]}


class Monitor:
    """Answers every question with ``status`` and ``body``, and keeps what was asked."""

    def __init__(self) -> None:
        self.status, self.body = 200, json.dumps(ANSWER).encode()
        self.asked: list[str] = []
        self.pause = 0.0  # seconds before each byte
        self.server = HttpServer(self._answer)
        self.url = self.server.url

    def _answer(self, asked: Asked) -> None:
        self.asked.append(asked.path)
        asked.send_response(self.status)
        asked.send_header("Content-Length", str(len(self.body)))
        asked.end_headers()
        with suppress(OSError):  # who asks may hang up
            for each in [self.body] if self.pause == 0 else map(bytes, zip(self.body)):
                time.sleep(self.pause)
                asked.wfile.write(each)


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    made = Monitor()
    yield made
    made.server.close()


def test_what_an_element_did_is_reported_in_mb_per_second(service: Any, monitor: Monitor, clock: Any) -> None:
    service.runtime.past = MonitorHistory(monitor.url, Trust())
    answer = service.get("/v1/elements/union/b0/history?seconds=3600&points=120")
    history = answer.get_json()
    assert (answer.status_code, history["step_seconds"], history["detail"]) == (200, 30.0, "why")
    assert history["until"] - history["since"] == 3600
    assert history["points"] == [{"at": 990.0, "read_mb_s": None, "write_mb_s": 5.0, "queue_depth": 1.5}]
    (asked,) = monitor.asked
    query = parse_qs(urlsplit(asked).query)
    assert (query["element"], query["step"]) == (["union/b0"], ["30"])
    assert float(query["until"][0]) == pytest.approx(clock())


@pytest.mark.parametrize(
    ("status", "body", "expected", "says"),
    [
        (404, b"{}", 404, "watches no element"),
        (503, b"{}", 503, "status 503"),
        (200, b"<html>", 503, "cannot be read"),
        (200, b"[" + b" " * 2**20 + b"]", 503, "too large"),
    ],
)
def test_a_monitor_that_does_not_say_is_no_error_of_ours(
    service: Any, monitor: Monitor, status: int, body: bytes, expected: int, says: str
) -> None:
    service.runtime.past = MonitorHistory(monitor.url, Trust())
    monitor.status, monitor.body = status, body
    answer = service.get("/v1/elements/union/b0/history", code=expected)
    assert says in answer.get_json()["detail"]


def test_an_answer_that_trickles_keeps_nobody_waiting(
    service: Any, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor_history, "_SECONDS", 0.2)
    service.runtime.past = MonitorHistory(monitor.url, Trust())
    monitor.pause = 0.01
    assert service.get("/v1/elements/union/b0/history").status_code == 503


def test_without_a_monitor_and_for_no_element_it_says_so(service: Any) -> None:
    answer = service.get("/v1/elements/union/b0/history")
    assert (answer.status_code, answer.get_json()["type"]) == (
        503,
        "urn:qstorman:problem:monitor-unavailable",
    )
    assert "no monitor is configured" in answer.get_json()["detail"]
    assert service.get("/v1/elements/union/none/history").status_code == 404
    assert service.get("/v1/elements/union/b0/history?seconds=1").status_code == 422
