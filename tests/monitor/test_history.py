"""History: bounded, averaged honestly, kept over a restart, and refused when its file is not whole."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import wait_until
from smed_monitor.config.settings import ElementSettings, HistorySettings, Settings, Target
from smed_monitor.core.capability import Best, better
from smed_monitor.core.model import Outcome, RatePair, Record, now
from smed_monitor.http.app import create_app
from smed_monitor.scraping import monitor as monitor_module
from smed_monitor.scraping.monitor import Monitor
from smed_monitor.state import recorder as recorder_module
from smed_monitor.state.element_history import element_history
from smed_monitor.state.history import Contents, Ring, mean_of, stepped
from smed_monitor.state.recorder import Recorder, look
from smed_monitor.state.statefile import NAME, State, StateError, load, save
from smed_monitor.state.table import Table

UNKNOWN = float("nan")


def figures(*rows: tuple[float, float, float]) -> Any:
    return np.array(rows, np.float32)


def test_the_ring_keeps_the_latest_points_in_memory_of_a_fixed_size() -> None:
    ring = Ring(3)
    for at in range(1, 8):
        ring.add(float(at), ["u/a"], figures((at, 10 * at, 1)))
    found = ring.points("u/a", 0, 100, 1)
    assert [p[:3] for p in found] == [(5, 5, 50), (6, 6, 60), (7, 7, 70)]
    assert len(ring.contents().times) == 3
    assert ring.contents().values.nbytes == 3 * 12


def test_an_element_that_comes_later_has_only_its_own_past() -> None:
    ring = Ring(8)
    ring.add(1.0, ["u/a"], figures((1, 1, 1)))
    ring.add(2.0, ["u/a", "u/b"], figures((2, 2, 2), (7, 8, 9)))
    assert [(p.at, p.read_bytes_per_second) for p in ring.points("u/b", 0, 9, 1)] == [(2, 7)]
    assert ring.points("u/c", 0, 9, 1) == []


def test_a_point_that_is_overwritten_leaves_nothing_behind_of_elements_not_seen_again() -> None:
    ring = Ring(2)
    ring.add(1.0, ["u/a", "u/b"], figures((1, 1, 1), (1, 1, 1)))
    ring.add(2.0, ["u/a"], figures((2, 2, 2)))
    ring.add(3.0, ["u/a"], figures((3, 3, 3)))
    assert ring.points("u/b", 0, 9, 1) == []
    assert ring.contents().names == ("u/a",)


def test_steps_are_means_of_what_is_known_and_end_on_multiples() -> None:
    times = np.array([11.0, 20.0, 21.0, 41.0])
    values = figures((10, 1, UNKNOWN), (20, UNKNOWN, UNKNOWN), (5, 5, 5), (UNKNOWN, UNKNOWN, UNKNOWN))
    assert [tuple(point) for point in stepped(times, values, 10)] == [(20, 15, 1, None), (30, 5, 5, 5)]


def test_since_is_left_out_and_until_is_taken_in() -> None:
    ring = Ring(4)
    for at in (10.0, 20.0, 30.0):
        ring.add(at, ["u/a"], figures((at, 0, 0)))
    assert [point.at for point in ring.points("u/a", 10, 20, 10)] == [20]


def test_a_clock_set_back_puts_points_where_they_say() -> None:
    ring = Ring(8)
    for at in (100.0, 110.0, 60.0, 70.0):
        ring.add(at, ["u/a"], figures((at, 0, 0)))
    assert [point.at for point in ring.points("u/a", 0, 75, 10)] == [60, 70]
    assert [point.at for point in ring.points("u/a", 0, 200, 10)] == [60, 70, 100, 110]


def test_a_point_is_the_mean_of_the_looks_that_saw_the_element() -> None:
    names, means = mean_of(
        [
            (["u/a"], figures((10, 0, UNKNOWN))),
            (["u/a", "u/b"], figures((UNKNOWN, 4, UNKNOWN), (6, 6, 6))),
            (["u/a"], figures((20, 8, UNKNOWN))),
        ]
    )
    assert names == ("u/a", "u/b")
    assert np.array_equal(means, figures((15, 4, UNKNOWN), (6, 6, 6)), equal_nan=True)


def a_state() -> State:
    ring = Ring(5)
    for at in (1.0, 2.0, 3.0):
        ring.add(at, ["u/a", "u/b"], figures((at, UNKNOWN, 1), (UNKNOWN, 2 * at, 0)))
    return State(ring.contents(), {"u/a": Best(1e9, None)})


def test_what_is_saved_is_taken_up_again(tmp_path: Path) -> None:
    save(tmp_path / NAME, a_state())
    state = load(tmp_path / NAME)
    assert state is not None
    assert state.learned == {"u/a": Best(1e9, None)}
    ring = Ring(2)  # settings may have changed: the latest points win
    ring.fill(state.history)
    assert [(p.at, p.write_bytes_per_second) for p in ring.points("u/b", 0, 9, 1)] == [(2, 4), (3, 6)]
    ring.add(4.0, ["u/b"], figures((0, 9, 0)))
    assert [(p.at, p.write_bytes_per_second) for p in ring.points("u/b", 0, 9, 1)] == [(3, 6), (4, 9)]
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("kept", [2, 3, 4])
def test_what_was_taken_up_makes_room_oldest_first(kept: int) -> None:
    times = np.arange(1.0, kept + 1)
    ring = Ring(3)
    ring.fill(Contents(("u/a",), times, np.ones((1, kept, 3), np.float32)))
    ring.add(10.0, ["u/a"], figures((1, 1, 1)))
    assert ring.contents().times[-3:].tolist() == [*times[-2:], 10.0]
    assert [point.at for point in ring.points("u/a", 0, 100, 1)] == [*times[-2:], 10.0]


def test_no_file_is_no_fault_and_an_empty_state_is_a_state(tmp_path: Path) -> None:
    assert load(tmp_path / NAME) is None
    save(tmp_path / NAME, State(Ring(4).contents()))
    state = load(tmp_path / NAME)
    assert state is not None
    assert state.history.names == ()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda content: content[:-30], "is torn"),
        (lambda content: content[:25], "is torn"),
        (lambda content: content[:100] + b"\xff" + content[101:], "is torn"),
        (lambda content: b"SQLite format 3\x00" + content, "is not a file of smed-monitor"),
        (lambda _content: b"", "is not a file of smed-monitor"),
        (lambda content: content.replace(b"state 1", b"state 0", 1), "has version 0, not 1"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_with_the_reason(tmp_path: Path, spoil: Any, reason: str) -> None:
    path = tmp_path / NAME
    save(path, a_state())
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(StateError, match=reason):
        load(path)


def test_a_failed_save_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    save(path, a_state())
    before = path.read_bytes()

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("smed_monitor.state.statefile.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(path, State(Ring(2).contents()))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


def table_of(record: Record) -> Table:
    table = Table(["n1"], [("n1", record)], stale_after_seconds=60)
    table.publish(Outcome(target="n1", duration_seconds=0.0, records=(record,)))
    return table


def seen(element: str = "u/a", *, missing: bool = False) -> Record:
    return Record(
        element=element,
        source="node_exporter",
        target="http://n1",
        at=now(),
        read=RatePair(1e6, 2e6),
        write=RatePair(None, None),
        queue_depth=2.0,
        missing=missing,
    )


def test_a_look_sees_nothing_of_an_element_that_is_not_ok() -> None:
    names, values = look(table_of(seen()))
    assert (names, values[0][0], values[0][2]) == (["u/a"], 1e6, 2.0)
    assert np.isnan(values[0][1])
    assert np.isnan(look(table_of(seen(missing=True)))[1]).all()


def test_the_recorder_fills_the_ring_and_saves_it(tmp_path: Path) -> None:
    ring = Ring(100)
    recorder = Recorder(
        table_of(seen()),
        ring,
        period_seconds=0.05,
        look_seconds=0.02,
        learned=lambda: {"u/a": Best(3.0, 4.0)},
        path=tmp_path / NAME,
        save_seconds=0.1,
    )
    recorder.start()
    wait_until(lambda: len(ring.points("u/a", 0, 1e10, 0.1)) >= 1, "a point is recorded")
    wait_until((tmp_path / NAME).exists, "it is saved while running")
    recorder.stop()
    state = load(tmp_path / NAME)
    assert state is not None
    assert state.learned == {"u/a": Best(3.0, 4.0)}
    assert np.array_equal(state.history.times, ring.contents().times)
    assert state.history.values[0][-1][0] == 1e6


def test_a_fault_nobody_foresaw_leaves_a_gap_and_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer: list[str] = []
    monkeypatch.setattr(
        recorder_module.log, "error", lambda event, **_facts: answer.append(event), raising=False
    )
    ring, faults = Ring(100), iter(range(3))

    class Failing(Ring):
        def add(self, at: float, names: list[str], values: Any) -> None:
            if next(faults, None) is not None:
                raise RuntimeError("out of its mind")
            ring.add(at, names, values)

    recorder = Recorder(table_of(seen()), Failing(100), period_seconds=0.02, look_seconds=0.02, learned=dict)
    recorder.start()
    wait_until(lambda: len(ring.points("u/a", 0, 1e10, 0.1)) >= 1, "it goes on after three faults")
    recorder.stop()
    assert answer == ["history-not-recorded"]


def test_a_directory_that_takes_no_file_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer: list[str] = []
    monkeypatch.setattr(
        recorder_module.log, "warning", lambda event, **_facts: answer.append(event), raising=False
    )
    recorder = Recorder(
        table_of(seen()),
        Ring(2),
        period_seconds=1,
        look_seconds=1,
        learned=dict,
        path=tmp_path / "absent" / NAME,
    )
    recorder.save()
    recorder.save()
    assert answer == ["state-not-saved"]


def test_the_better_of_two_is_taken_by_direction() -> None:
    assert better(Best(3.0, None), Best(2.0, 5.0)) == Best(3.0, 5.0)
    assert better(Best(), Best()) == Best()


def settings_of(**history: Any) -> Settings:
    return Settings(
        target=(Target(name="n1", collector="node_exporter", url="http://127.0.0.1:1/metrics"),),
        element=(ElementSettings(id="u/a", target="n1", mount_point="/a"),),
        history=HistorySettings(**history),
        learn_capability=True,
    )


def test_a_monitor_starts_with_what_the_last_one_kept(tmp_path: Path) -> None:
    at = now().wall
    contents = Contents(("u/a",), np.array([at]), figures((5, 6, 7)).reshape(1, 1, 3))
    save(tmp_path / NAME, State(contents, {"u/a": Best(1e8, 2e8)}))
    monitor = Monitor(settings_of(), state_dir=tmp_path)
    assert monitor.learned() == {"u/a": Best(1e8, 2e8)}
    answer = create_app(monitor).test_client().get("/v1/history?element=u/a").json
    assert answer is not None
    assert (answer["source"], answer["detail"], answer["step_seconds"]) == ("memory", "", 10.0)
    assert answer["points"][0]["write_bytes_per_second"] == 6.0


def test_a_refused_file_is_told_and_the_monitor_starts_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer: list[str] = []
    monkeypatch.setattr(
        monitor_module.log,
        "warning",
        lambda *event, **facts: answer.extend((*event, facts["detail"])),
        raising=False,
    )
    (tmp_path / NAME).write_bytes(b"rubbish")
    monitor = Monitor(settings_of(), state_dir=tmp_path)
    assert answer == ["state-refused", "is not a file of smed-monitor; starting with no history"]
    assert monitor.learned() == {}
    assert monitor.ring.contents().names == ()


def test_an_unknown_element_is_said_to_be_unknown() -> None:
    answer = create_app(Monitor(settings_of())).test_client().get("/v1/history?element=u/z")
    assert answer.status_code == 404
    assert answer.json is not None
    assert "u/z" in answer.json["detail"]


def test_a_long_time_is_answered_in_longer_steps() -> None:
    client = create_app(Monitor(settings_of())).test_client()
    answer = client.get("/v1/history?element=u/a&since=0&until=36000000&step=1").json
    assert answer is not None
    assert answer["step_seconds"] == 10000.0


@pytest.fixture
def ring() -> Ring:
    filled = Ring(4)
    filled.add(20.0, ["u/a"], figures((1, 2, 3)))
    return filled


def matrix_of(*points: tuple[float, str]) -> bytes:
    values = [[at, value] for at, value in points]
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}}
    ).encode()


def ask(ring: Ring, url: str, seconds: float = 20.0) -> Any:
    base = url.removesuffix("/metrics")
    settings = HistorySettings(prometheus=base, timeout_seconds=seconds)
    return element_history(seen(), ring, settings, 0, 30, 10)


def test_prometheus_is_asked_first_and_what_is_no_number_is_unknown(
    ring: Ring, exporter: Any, answer_whole: Any
) -> None:
    exporter.answer = answer_whole(matrix_of((10, "5"), (20, "NaN")))
    found = ask(ring, exporter.url)
    assert (found.source, found.detail) == ("prometheus", "")
    assert [tuple(point) for point in found.points] == [(10, 5, 5, 5)]
    assert exporter.requests == 3


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"<html>", "200 OK", "is not Prometheus's answer"),
        (b'{"status": "error", "error": "too many"}', "200 OK", "refused a query: too many"),
        (b"[" * 100_000, "200 OK", "is not Prometheus's answer"),
        (b"", "500 Internal Server Error", "HTTP status 500"),
        (b'{"status": "success", "data": {"result": []}}', "200 OK", "has nothing about u/a"),
        (
            b'{"status": "success", "data": {"result": [{"values": []}, {"values": []}]}}',
            "200 OK",
            "has several series of u/a",
        ),
        (b"x" * (5 * 2**20), "200 OK", "sent more than"),
    ],
)
def test_whatever_prometheus_does_the_ring_answers_and_says_why(
    ring: Ring, exporter: Any, answer_whole: Any, body: bytes, status: str, why: str
) -> None:
    exporter.answer = answer_whole(body, status)
    found = ask(ring, exporter.url)
    assert found.source == "memory"
    assert why in found.detail
    assert [point.read_bytes_per_second for point in found.points] == [1]


@pytest.fixture
def silence(exporter: Any) -> Iterator[threading.Event]:
    held = threading.Event()
    exporter.answer = lambda _connection: held.wait(60)
    yield held
    held.set()


def test_a_prometheus_that_hangs_is_left_after_its_time(
    ring: Ring, exporter: Any, silence: threading.Event
) -> None:
    found = ask(ring, exporter.url, seconds=0.2)
    assert found.source == "memory"
    assert "within" in found.detail


def test_an_element_that_comes_out_of_prometheus_has_its_past_there(
    ring: Ring, exporter: Any, answer_whole: Any
) -> None:
    exporter.answer = answer_whole(matrix_of((10, "5")))
    record = replace(
        seen(), source="prometheus", target=exporter.url.removesuffix("/metrics"), device="fs-OST0000"
    )
    found = element_history(record, ring, HistorySettings(timeout_seconds=20), 0, 30, 10)
    assert found.source == "prometheus"
    assert [tuple(point) for point in found.points] == [(10, 5, 5, None)]
    assert exporter.requests == 2
