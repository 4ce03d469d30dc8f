"""The observer against a small HTTP server that plays the monitor, well and badly."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from http_server import Asked, HttpServer
from patience import wait_until
from ses_service.feeds import monitor_reader as observer_module
from ses_service.feeds.monitor_answer import MonitorError
from ses_service.feeds.monitor_reader import MonitorClient, Observer
from ses_service.model.entities import Observation

NOW = 5000.0


def observation(element: str = "union/b1", **facts: Any) -> dict[str, Any]:
    return {
        "element": element,
        "source": "node_exporter",
        "target": "http://n1",
        "state": "ok",
        "sampled_at": 123.0,
        "age_seconds": 0.5,
        "read_bytes_per_second": {"current": 1.0, "average": 2.0},
        "write_bytes_per_second": {"current": 3.0, "average": None},
        "queue_depth": 0.25,
        "free_bytes": 7.0,
        "size_bytes": 9.0,
        "read_only": False,
        "detail": "",
        **facts,
    }


class Monitor:
    """Answers with ``body`` and ``status``, or does what ``act`` does with the request."""

    def __init__(self) -> None:
        self.body: Any = {"sequence": 1, "observations": [observation()]}
        self.status = 200
        self.act: Callable[[Asked], object] | None = None
        self.queries: list[dict[str, list[str]]] = []
        self.release = threading.Event()
        self.server = HttpServer(self._answer)
        self.url = self.server.url

    def _answer(self, asked: Asked) -> None:
        self.queries.append(parse_qs(urlsplit(asked.path).query))
        if self.act is not None:
            self.act(asked)
        else:
            asked.say(self.status, self.body)

    def stop(self) -> None:
        self.release.set()
        self.server.close()


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    made = Monitor()
    yield made
    made.stop()


class Seen:
    """An observer that is stepped by hand, and what it handed on."""

    def __init__(self, url: str, patience: float = 30.0) -> None:
        self.taken: list[tuple[Observation, ...]] = []
        self.time = NOW
        client = MonitorClient(url, wait=0.2, patience=patience)
        self.observer = Observer(
            url, lambda seen: self.taken.append(seen.observations), lambda: self.time, client
        )


@pytest.fixture
def seen(monitor: Monitor) -> Seen:
    return Seen(monitor.url)


def test_an_answer_is_read_once_at_the_edge(monitor: Monitor, seen: Seen) -> None:
    assert seen.observer.step() == 0
    assert seen.taken == [
        (
            Observation(
                element="union/b1",
                sampled_at=NOW - 0.5,
                current_read_rate=1.0,
                average_read_rate=2.0,
                current_write_rate=3.0,
                average_write_rate=None,
                queue_depth=0.25,
                free_bytes=7.0,
                size_bytes=9.0,
                source="node_exporter",
                target="http://n1",
            ),
        )
    ]
    assert seen.observer.status.reachable
    assert seen.observer.notes(NOW) == []


def test_flags_and_capabilities_of_the_monitor_are_read(monitor: Monitor, seen: Seen) -> None:
    rates = {"read_capability_bytes_per_second": 2e9, "write_capability_bytes_per_second": None}
    monitor.body = {"sequence": 1, "observations": [observation(degraded=True, no_create=True, **rates)]}
    seen.observer.step()
    taken = seen.taken[0][0]
    assert (taken.degraded, taken.no_create, taken.read_capability, taken.write_capability) == (
        True,
        True,
        2e9,
        None,
    )


def test_an_element_the_monitor_never_saw_has_no_sample(monitor: Monitor, seen: Seen) -> None:
    monitor.body = {
        "sequence": 1,
        "observations": [observation(state="missing", sampled_at=None, age_seconds=None)],
    }
    seen.observer.step()
    assert (seen.taken[0][0].sampled_at, seen.taken[0][0].state) == (None, "missing")


def test_after_the_first_answer_it_waits_for_a_later_one(monitor: Monitor, seen: Seen) -> None:
    seen.observer.step()
    monitor.body = {"sequence": 8, "observations": []}
    seen.observer.step()
    seen.observer.step()
    asked = {"wait": ["0.2"], "changes": ["true"]}
    assert monitor.queries == [{}, asked | {"after": ["1"]}, asked | {"after": ["8"]}]


def test_an_answer_with_changes_alone_keeps_the_rest_until_a_whole_one(monitor: Monitor, seen: Seen) -> None:
    monitor.body = {"sequence": 1, "observations": [observation("u/a"), observation("u/b")]}
    seen.observer.step()
    monitor.body = {"sequence": 2, "complete": False, "observations": [observation("u/b", free_bytes=3.0)]}
    seen.observer.step()
    assert [(taken.element, taken.free_bytes) for taken in seen.taken[-1]] == [("u/a", 7.0), ("u/b", 3.0)]
    monitor.body = {"sequence": 3, "complete": True, "observations": [observation("u/b")]}
    seen.observer.step()
    assert [taken.element for taken in seen.taken[-1]] == ["u/b"]


def test_the_same_sequence_again_is_not_asked_for_in_a_hot_loop(monitor: Monitor, seen: Seen) -> None:
    seen.observer.step()
    assert seen.observer.step() > 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"not json", "cannot be read"),
        (b"", "cannot be read"),
        ([], "cannot be read"),
        ({"observations": []}, "sequence"),
        ({"sequence": 1, "observations": [{"element": 5}]}, "observations.0.element"),
        ({"sequence": 1, "observations": [observation(state="fine")]}, "observations.0.state"),
        ({"sequence": 1, "observations": [observation(free_bytes="much")]}, "observations.0.free_bytes"),
    ],
)
def test_an_answer_that_cannot_be_read_keeps_the_last_good_one(
    monitor: Monitor, seen: Seen, body: Any, says: str
) -> None:
    seen.observer.step()
    monitor.body = body
    seen.time += 12
    assert seen.observer.step() > 0
    assert len(seen.taken) == 1
    status = seen.observer.status
    assert (status.reachable, status.age(seen.time)) == (False, 12)
    assert says in status.detail
    assert seen.observer.notes(seen.time)[0].startswith("The monitor has been silent for 12 s: ")


def test_a_refusing_monitor_is_named_by_its_status(monitor: Monitor, seen: Seen) -> None:
    monitor.status = 500
    seen.observer.step()
    assert seen.observer.status.detail == "the monitor answered with status 500"
    assert seen.observer.notes(NOW) == ["No observations: the monitor answered with status 500."]


def test_a_hanging_monitor_is_given_up_in_time(monitor: Monitor) -> None:
    seen = Seen(monitor.url, patience=0.3)
    monitor.act = lambda _: monitor.release.wait() and None
    seen.observer.step()
    assert seen.observer.status.detail == "the monitor does not answer: no answer in time"


def test_a_monitor_that_trickles_is_given_up_in_time(monitor: Monitor) -> None:
    seen = Seen(monitor.url, patience=2.0)

    def trickle(request: Asked) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000000")
        request.end_headers()
        while not monitor.release.wait(0.05):
            request.wfile.write(b" ")

    monitor.act = trickle
    seen.observer.step()
    assert "took more than" in seen.observer.status.detail
    monitor.release.set()


def test_an_answer_cut_short_is_not_used(monitor: Monitor, seen: Seen) -> None:
    def cut(request: Asked) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b'{"sequence":1,"observations":[]}')

    monitor.act = cut
    seen.observer.step()
    assert seen.taken == []
    assert not seen.observer.status.reachable


def test_an_endless_answer_is_given_up(monitor: Monitor, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ses_service.feeds.monitor_reader.MAX_ANSWER", 1000)
    monitor.body = b" " * 2000
    seen.observer.step()
    assert "too large" in seen.observer.status.detail


def test_a_redirect_is_not_followed(monitor: Monitor, seen: Seen) -> None:
    monitor.status = 302
    seen.observer.step()
    assert seen.observer.status.detail == "the monitor answered with status 302"


def test_a_monitor_that_dies_and_comes_back_is_read_again(monitor: Monitor) -> None:
    seen = Seen(monitor.url)
    seen.observer.step()
    monitor.stop()
    seen.observer.step()
    seen.observer.step()
    assert not seen.observer.status.reachable
    assert len(seen.taken) == 1
    revived = Monitor()
    try:
        revived.body = {"sequence": 0, "observations": [observation("union/b9")]}
        seen.observer._client = MonitorClient(revived.url, wait=0.2, patience=30.0)
        assert seen.observer.step() == 0
        assert seen.taken[-1][0].element == "union/b9"
        assert revived.queries == [{}]
    finally:
        revived.stop()


def test_retries_slow_down(seen: Seen, monitor: Monitor) -> None:
    monitor.status = 500
    delays = [seen.observer.step() for _ in range(6)]
    assert delays == sorted(delays)
    assert delays[0] < delays[-1] <= 5


def test_an_address_nobody_serves_is_an_error_with_words(monitor: Monitor) -> None:
    monitor.stop()
    with pytest.raises(MonitorError, match=r"does not answer: connection refused$"):
        MonitorClient(monitor.url, wait=0.2, patience=0.3).observations(None, lambda: NOW)


def test_a_monitor_that_ends_while_it_is_asked_is_said_to_have_hung_up(monitor: Monitor, seen: Seen) -> None:
    monitor.act = lambda request: request.connection.close()
    seen.observer.step()
    assert seen.observer.status.detail == "the monitor does not answer: the connection was closed"


def test_the_thread_reads_by_itself_and_stops_promptly(monitor: Monitor) -> None:
    def numbered(request: Asked) -> None:
        answer = {"sequence": len(monitor.queries), "observations": []}
        monitor.release.wait(0.02)
        request.say(200, answer)

    monitor.act = numbered
    seen = Seen(monitor.url)
    seen.observer.start()
    wait_until(lambda: len(seen.taken) >= 3, "it reads again and again")
    seen.observer.stop()


def test_without_a_monitor_nothing_is_asked_and_the_notes_say_so() -> None:
    observer = Observer(None, lambda _: None, lambda: NOW)
    observer.start()
    observer.stop()
    assert observer.notes(NOW) == ["No observations: no monitor is configured."]


def observations(count: int, **facts: Any) -> list[dict[str, Any]]:
    """What a monitor says of so many elements, in an answer of several pieces."""
    return [observation(f"union/b{number}", **facts) for number in range(count)]


@pytest.mark.parametrize("detail", ["", '},{"element', "}, {", '\\"},{\\', "]}", '"observations": ['])
@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
@pytest.mark.parametrize("last", [False, True])
def test_an_answer_is_the_same_in_pieces_and_as_a_whole(
    detail: str, layout: dict[str, Any], last: bool
) -> None:
    listed = observations(700, detail=detail)
    answer = {"sequence": 7, "complete": False, "observations": listed}
    if last:
        answer = {"observations": listed, "sequence": 7, "complete": False}
    turns: list[None] = []
    answer, taken = observer_module._read(
        json.dumps(answer, **layout).encode(), NOW, lambda: turns.append(None)
    )
    assert (answer["sequence"], answer["complete"]) == (7, False)
    assert [observed.element for observed in taken] == [sent["element"] for sent in listed]
    assert {(observed.detail, observed.current_read_rate, observed.sampled_at) for observed in taken} == {
        (detail, 1.0, NOW - 0.5)
    }
    assert len(turns) >= 6, "others may go first"


def test_one_element_that_cannot_be_read_hides_no_other() -> None:
    listed = observations(700)
    listed[431]["queue_depth"] = "deep"
    listed[433]["element"] = None
    body = json.dumps({"sequence": 7, "observations": listed}).encode()
    answer, taken = observer_module._read(body, NOW, lambda: None)
    assert [observed.element for observed in taken] == [
        sent["element"] for number, sent in enumerate(listed) if number not in (431, 433)
    ]
    assert "observations.431.queue_depth" in answer["odd"]
    with pytest.raises(MonitorError, match="cannot be read"):
        observer_module._read(body[: len(body) // 2], NOW, lambda: None)
