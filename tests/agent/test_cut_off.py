"""Placing without a service: from the last snapshot, never all on the best, and told afterwards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import program_side as side
import pytest
from patience import wait_until
from program_side import Wish
from running_agent import Agent
from service_double import Answer, Request, ServiceDouble, problem
from snapshots import snapshot_of

BEST = "union/b0"


@pytest.fixture
def branches(tmp_path: Path) -> dict[str, Path]:
    paths = {f"union/b{number}": tmp_path / f"b{number}" for number in range(8)}
    for path in paths.values():
        path.mkdir()
    return paths


@pytest.fixture
def cut_off(start: Callable[..., Agent], service: ServiceDouble) -> Callable[[dict[str, Any]], Agent]:
    """An agent that was given a snapshot and then lost its service."""

    def begin(snapshot: dict[str, Any], *options: str) -> Agent:
        service.snapshot = snapshot
        agent = start(service.url, *options)
        agent.wait_for("snapshot of 8 elements")
        service.kill()
        return agent

    return begin


def chosen(agent: Agent, device: int, times: int, **details: Any) -> Counter[str]:
    elements: Counter[str] = Counter()
    for _ in range(times):
        with agent.ask(device, **details) as conversation:
            assert conversation.answer.status == side.PLACE
            elements[conversation.answer.element] += 1
    return elements


def test_best_is_taken_while_the_snapshot_is_true(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    agent = cut_off(snapshot_of(service, best=BEST))
    assert chosen(agent, device, 40) == {BEST: 40}


def test_best_is_left_to_chance_when_others_have_placed_much_since(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    agent = cut_off(snapshot_of(service, best=BEST, age=60.0, arrivals=1000.0))
    elements = chosen(agent, device, 80)
    assert len(elements) >= 5, "two candidates are drawn: most elements win some time"
    assert elements[BEST] < 60, "drawn in a quarter of the decisions, it cannot win more than those"


def test_own_placements_count_as_streams(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    snapshot = snapshot_of(service, best=BEST)
    for element in snapshot["elements"]:
        element["available"] = {"read_mb_s": 100.0, "write_mb_s": 100.0}
    agent = cut_off(snapshot)
    elements: Counter[str] = Counter()
    for number in range(80):
        conversation = agent.ask(device)
        os.close(conversation.create(tmp_path / f"file{number}"))
        elements[conversation.answer.element] += 1
    assert len(elements) == 8
    assert max(elements.values()) <= 2 * min(elements.values()), "spread, all being alike"


@pytest.mark.parametrize(
    ("change", "details"),
    [
        ({"state": "draining"}, {}),
        ({"state": "degraded"}, {}),
        ({"free_gb": 0.001}, {}),
        ({"free_gb": 2.0}, {"expected_bytes": 3 * 10**9}),
        ({"storage_system": "other"}, {}),
        (
            {"available": {"read_mb_s": 1.0, "write_mb_s": 1e6}},
            {"wishes": (Wish(side.CURRENT_READ, 10.0, hard=True),)},
        ),
    ],
    ids=["draining", "degraded", "full", "too-small", "other-system", "hard-requirement"],
)
def test_element_that_may_not_be_chosen_is_not(
    cut_off: Callable[..., Agent],
    service: ServiceDouble,
    device: int,
    change: dict[str, Any],
    details: dict[str, Any],
) -> None:
    snapshot = snapshot_of(service, best=BEST)
    snapshot["elements"][0].update(change)
    assert BEST not in chosen(cut_off(snapshot), device, 24, **details)


def test_requirements_the_service_resolved_last_still_hold(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    resolved = [
        {"kind": "current-read-rate", "minimum": 50.0, "unit": "MB/s", "weight": 1.0, "strictness": "hard"}
    ]
    service.resolved = resolved
    service.snapshot = snapshot_of(service, best=BEST)
    service.snapshot["elements"][0]["available"]["read_mb_s"] = 1.0
    agent = start(service.url)
    agent.wait_for("snapshot of 8 elements")
    chosen(agent, device, 1)
    service.kill()
    agent.wait_for("lost (")
    assert BEST not in chosen(agent, device, 24)
    assert BEST in chosen(agent, device, 24, application="another")


def test_old_snapshot_says_only_what_does_not_change(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    agent = cut_off(snapshot_of(service, best=BEST, age=3600.0))
    assert len(chosen(agent, device, 80)) >= 5
    conversation = agent.ask(device, "kept")
    conversation.create(tmp_path / "file")
    service.revive()
    placement = conversation.answer.placement
    wait_until(lambda: service.restored(placement), "the service is told")
    (note,) = service.restored(placement)[0]["notes"][1:]
    assert note.startswith("drawn at random by capability: the last snapshot is 36")


def test_record_of_a_choice_without_service_says_so(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    agent = cut_off(snapshot_of(service, best=BEST, age=20.0, arrivals=1000.0))
    conversation = agent.ask(device, expected_bytes=77)
    conversation.create(tmp_path / "file")
    answer = conversation.answer
    assert answer.stage == service.targets[answer.element] / ".ses" / str((tmp_path / "file").stat().st_uid)
    service.revive()
    wait_until(lambda: service.restored(answer.placement), "the service is told")
    restore = service.restored(answer.placement)[0]
    assert (restore["decided_by"], restore["element"]) == ("agent", answer.element)
    assert restore["expected_bytes"] == 77
    assert restore["notes"][0] == "chosen by the node's agent: no service answered"
    assert restore["notes"][1].startswith("best of 2 elements drawn at random from a snapshot 2")


def test_unused_choices_without_service_are_nobodys_business(
    cut_off: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    agent = cut_off(snapshot_of(service, best=BEST))
    chosen(agent, device, 20)
    used = agent.ask(device)
    used.create(tmp_path / "file")
    service.revive()
    wait_until(lambda: service.restored(used.answer.placement), "the service is told")
    assert {end["placement_id"] for one in service.announcements() for end in one.body["ended"]} <= {
        used.answer.placement
    }


def test_agent_that_starts_without_a_service_places_from_what_it_kept(
    cut_off: Callable[..., Agent], start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    first = cut_off(snapshot_of(service, best=BEST))
    assert first.stop() == 0
    state = ("--state-dir", str(first.socket.parent / "state"))
    second = start(service.url, *state)
    assert chosen(second, device, 8) == {BEST: 8}


@pytest.mark.parametrize(
    "kept",
    ["", "{", '{"snapshot": 5}', '{"systems": "x", "snapshot": "{}"}', "\0" * 99],
    ids=["empty", "half", "numbers", "nothing-in-it", "zeros"],
)
def test_rubbish_that_was_kept_is_as_good_as_nothing(
    start: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path, kept: str
) -> None:
    state = tmp_path / "kept"
    state.mkdir()
    (state / "agent.json").write_text(kept)
    service.kill()
    agent = start(service.url, "--state-dir", str(state))
    with agent.ask(device) as conversation:
        assert conversation.answer.status == side.UNAVAILABLE


def test_program_does_not_wait_for_a_service_that_hangs(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    service.snapshot = snapshot_of(service, best=BEST)
    agent = start(service.url, "--answer-ms", "1000")
    agent.wait_for("snapshot of 8 elements")

    def hang(request: Request) -> Answer | None:
        return Answer(delay=3600.0) if request.path == "/v1/placements" else None

    service.instead = hang
    for _ in range(3):
        with agent.ask(device) as conversation:
            assert conversation.answer.status == side.PLACE


def test_overloaded_service_is_left_alone_and_done_without(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    service.snapshot = snapshot_of(service, best=BEST)
    agent = start(service.url)
    agent.wait_for("snapshot of 8 elements")
    service.instead = lambda _: problem(503, "overloaded", "later", **{"Retry-After": "60"})
    chosen(agent, device, 3)
    asked = len(service.requests)
    chosen(agent, device, 30, application="another")
    assert len(service.requests) <= asked + 2
