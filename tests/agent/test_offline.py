"""Placing without a service: from what it said last, which grows old, and told afterwards."""

import errno
import os
from collections import Counter
from pathlib import Path
from typing import Any

import program_side as side
import pytest
from claims_program import Claims, Table
from fake_service import FakeService, problem
from patience import wait_until
from program_side import Requirement
from running_agent import Agent, Start

BEST = "union/b0"


@pytest.fixture
def numbers() -> range:
    return range(8)


@pytest.fixture
def offline(start: Start, service: FakeService) -> Start:
    """An agent that heard of the elements and then lost its service."""

    def begin(*options: str) -> Agent:
        agent = start(*options, until="union has 8 candidates")
        agent.ask().close()
        service.kill()
        return agent

    return begin


def best(service: FakeService, **loads: Any) -> None:
    """One element is a thousand times as fast as the others."""
    service.facts[BEST] = {"read_rate": 200e9, "write_rate": 200e9}
    service.loads[BEST] = loads


def chosen(agent: Agent, times: int, **details: Any) -> Counter[str]:
    elements: Counter[str] = Counter()
    for _ in range(times):
        with agent.ask(**details) as conversation:
            assert conversation.answer.status == side.PLACE
            elements[conversation.answer.element] += 1
    return elements


def test_best_is_taken_as_with_a_service(offline: Start, service: FakeService) -> None:
    best(service)
    assert chosen(offline(), 40) == {BEST: 40}


def test_fewer_are_compared_the_more_others_placed_since(offline: Start, service: FakeService) -> None:
    service.rate = 1000.0
    table = Table(offline().socket)
    wait_until(lambda: table.system()["candidate_limit"] == 3, "only three are compared")
    table.detach()


@pytest.mark.parametrize(("rate", "compared"), [(0.0, None), (1e6, 3)])
def test_the_report_says_how_many_were_compared(
    rate: float, compared: int | None, start: Start, service: FakeService, tmp_path: Path
) -> None:
    service.rate = rate
    agent = start(until="union has 8 candidates")
    conversation = agent.ask()
    os.close(conversation.create(tmp_path / "file"))
    placement = conversation.answer.placement
    wait_until(lambda: placement in service.decided, "it is reported")
    assert service.decided[placement][1]["compared"] == compared


def test_all_are_compared_while_nobody_else_places(offline: Start) -> None:
    table = Table(offline().socket)
    assert table.system()["candidate_limit"] == 0
    table.detach()


def test_files_of_this_node_never_pile_up_on_a_few_elements(offline: Start, service: FakeService) -> None:
    """However little is known of others: what the node has itself, it knows."""
    service.rate = 1e6
    agent = offline()
    conversations = [agent.ask() for _ in range(8)]
    assert len({conversation.answer.element for conversation in conversations}) == 8
    for conversation in conversations:
        conversation.close()


def test_files_of_this_node_count_as_streams(offline: Start, tmp_path: Path) -> None:
    agent = offline()
    elements: Counter[str] = Counter()
    files = []
    for number in range(80):
        conversation = agent.ask()
        files.append(conversation.create(tmp_path / f"file{number}"))
        elements[conversation.answer.element] += 1
    assert len(elements) == 8
    assert max(elements.values()) <= 2 * min(elements.values()), "spread, all being alike"
    for fd in files:
        os.close(fd)


def attached(agent: Agent) -> Claims:
    claims = Claims(agent.socket, os.getuid())
    claims.wait_until_staged()
    return claims


def test_a_file_of_unknown_size_holds_nothing_though_files_like_it_were_large(
    offline: Start, tmp_path: Path
) -> None:
    """A storm of such files would seem to fill every element; one of a stated size holds that."""
    claims = attached(offline())
    unknown = claims.create(claims.choose(row=2), tmp_path / "unknown", room=40e9)
    stated = claims.create(claims.choose(row=3), tmp_path / "stated", room=40e9, expected_bytes=1e9)
    wait_until(lambda: claims.table.rows()[3].reserved == 1e9, "the later one holds its size")
    assert claims.table.rows()[2].reserved == 0
    os.close(unknown)
    os.close(stated)


def test_what_was_free_is_reported_as_it_was_when_the_file_was_placed(
    offline: Start, service: FakeService, tmp_path: Path
) -> None:
    """Not as it was when the table was published."""
    service.max_age = 3.0
    service.loads[BEST] = {"busy": 1.0, "foreign": 9.0}
    claims = attached(offline())
    large = claims.create(claims.choose(row=2), tmp_path / "large", expected_bytes=30e9)
    wait_until(lambda: claims.table.rows()[2].reserved == 30e9, "it is held")
    wait_until(
        lambda: {row.foreign for row in claims.table.rows()} == {0.0}, "samples are too old: it is published"
    )
    os.close(large)
    wait_until(lambda: claims.table.rows()[2].reserved == 0, "nothing is held any more")
    claim = claims.choose(row=2)
    file = claims.create(claim, tmp_path / "file")
    service.revive()
    wait_until(lambda: claims.id_of(claim) in service.decided, "it is reported")
    mine, decision = service.decided[claims.id_of(claim)]
    assert mine["predicted"]["free"] == 50e9
    assert (
        next(candidate["free"] for candidate in decision["candidates"] if candidate["element"] == "union/b2")
        == 50e9
    )
    os.close(file)


@pytest.mark.parametrize(
    ("loads", "details"),
    [
        ({"state": 1 << 2}, {}),
        ({"state": 1 << 3}, {}),
        ({"free": 1e6}, {}),
        ({"free": 2e9}, {"expected_bytes": 3 * 10**9}),
        ({"busy": 1.0, "foreign": 1e6}, {"requirements": (Requirement(side.CURRENT_READ, 10.0, hard=True),)}),
    ],
    ids=["draining", "degraded", "full", "too-small", "hard-requirement"],
)
def test_element_that_may_not_be_chosen_is_not(
    offline: Start, service: FakeService, loads: dict[str, Any], details: dict[str, Any]
) -> None:
    best(service, **loads)
    assert BEST not in chosen(offline(), 24, **details)


def test_samples_that_grow_old_count_as_none(offline: Start, service: FakeService) -> None:
    service.max_age = 1.5
    service.loads[BEST] = {"busy": 1.0, "foreign": 9.0}
    table = Table(offline().socket)
    wait_until(lambda: {row.foreign for row in table.rows()} == {0.0}, "nothing is known of the load")
    table.detach()


def test_record_of_a_choice_without_service_says_so(
    offline: Start, service: FakeService, tmp_path: Path
) -> None:
    agent = offline()
    agent.wait_for("lost (")
    conversation = agent.ask(expected_bytes=77)
    conversation.create(tmp_path / "file")
    placement = conversation.answer.placement
    service.revive()
    wait_until(lambda: placement in service.decided, "it is reported")
    assert service.decided[placement][1]["offline"] is True
    restore = service.restored(placement)[0]
    assert (restore["decided_by"], restore["element"]) == ("agent", conversation.answer.element)
    assert restore["expected_bytes"] == 77


def test_record_of_a_choice_by_no_sample_tells_no_age(
    offline: Start, service: FakeService, tmp_path: Path
) -> None:
    service.max_age = 1.5
    service.loads[BEST] = {"busy": 1.0, "foreign": 9.0}
    agent = offline()
    table = Table(agent.socket)
    wait_until(lambda: {row.foreign for row in table.rows()} == {0.0}, "all samples are too old")
    table.detach()
    conversation = agent.ask()
    conversation.create(tmp_path / "file")
    placement = conversation.answer.placement
    service.revive()
    wait_until(lambda: placement in service.decided, "it is reported")
    assert {candidate["age"] for candidate in service.decided[placement][1]["candidates"]} == {None}


def test_claims_without_service_are_reported_when_it_is_back(
    offline: Start, service: FakeService, tmp_path: Path
) -> None:
    claims = attached(offline())
    made = [claims.choose() for _ in range(3)]
    for number, claim in enumerate(made):
        os.close(claims.create(claim, tmp_path / f"f{number}"))
    service.revive()
    for claim in made:
        service.wait_for_end(claims.id_of(claim))
        assert service.opened(claims.id_of(claim))


def test_unused_choices_without_service_are_nobodys_business(
    offline: Start, service: FakeService, tmp_path: Path
) -> None:
    agent = offline()
    chosen(agent, 20)
    used = agent.ask()
    used.create(tmp_path / "file")
    service.revive()
    wait_until(lambda: service.restored(used.answer.placement), "it is reported")
    assert {
        end["placement_id"] for announcement in service.announcements() for end in announcement.body["ended"]
    } <= {used.answer.placement}


def test_agent_that_starts_without_a_service_places_from_what_it_kept(
    offline: Start, start: Start, service: FakeService
) -> None:
    best(service)
    first = offline()
    assert first.stop() == 0
    second = start("--state-dir", str(first.socket.parent / "state"), until="answers on")
    assert chosen(second, 8) == {BEST: 8}
    table = Table(second.socket)
    assert len(table.rows()) == 8
    table.detach()


def test_needs_are_kept_for_the_next_start(offline: Start, start: Start, service: FakeService) -> None:
    requirement = {
        **{
            "kind": "current-read-rate",
            "code": 1,
            "bound": 1e9,
            "weight": 1.0,
            "hard": True,
            "at_most": False,
        },
        **{"unit": "MB/s", "size": 1e6, "level": "user", "level_name": "x", "profile": None},
    }
    service.needs["root" if os.getuid() == 0 else os.environ["USER"]] = (
        "g1",
        [{"application": None, "requirements": [requirement], "room_bytes": None, "expected_from": None}],
    )
    first = offline()
    assert first.stop() == 0
    second = start("--state-dir", str(first.socket.parent / "state"), until="answers on")
    assert second.status() == side.UNAVAILABLE, "no element reads as fast"


@pytest.mark.parametrize(
    "kept",
    ["", "{", '{"tables": 5}', '{"systems": "x", "tables": {"union": {}}, "needs": {"x": 1}}', "\0" * 99],
    ids=["empty", "half", "numbers", "nothing-in-it", "zeros"],
)
def test_rubbish_that_was_kept_is_as_good_as_nothing(
    start: Start, service: FakeService, tmp_path: Path, kept: str
) -> None:
    state = tmp_path / "kept"
    state.mkdir()
    (state / "agent.json").write_text(kept)
    service.kill()
    agent = start("--state-dir", str(state), until="answers on")
    assert agent.status() == side.UNAVAILABLE


def test_failed_create_without_service_goes_elsewhere_the_next_time(
    offline: Start, service: FakeService, branches: dict[str, Path]
) -> None:
    best(service)
    agent = offline()
    with agent.ask() as conversation:
        assert conversation.answer.element == BEST
        branches[BEST].rename(branches[BEST].with_name("gone"))
        conversation.report(side.NOT_CREATED, error=errno.ENOENT)
    claims = Claims(agent.socket, os.getuid())
    row = list(branches).index(BEST)
    wait_until(lambda: not claims.staged() >> row & 1, "the agent has read the report")
    claims.detach()
    assert BEST not in chosen(agent, 8)


def test_overloaded_service_is_left_alone_and_done_without(start: Start, service: FakeService) -> None:
    agent = start(until="union has 8 candidates")
    agent.ask().close()  # the first question of a user waits for the service
    service.instead = lambda _: problem(503, "overloaded", "later", **{"Retry-After": "60"})
    chosen(agent, 3)
    asked = len(service.requests)
    chosen(agent, 30, application="another")
    assert len(service.requests) <= asked + 2 or agent.was_kept_waiting()
