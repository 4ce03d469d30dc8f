"""Elements that share the link of their server: what it gives, and how many streams are there."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from claims_program import NOT_CREATED, Claims, attached
from fake_service import FakeService
from patience import wait_until
from running_agent import Start
from ses_client.mounts import file_system_at

LINK = 200e6  # as much as each of its elements gives
KEPT_FOR = 64e6
LIMITED = ("union/b0", "union/b1")


@pytest.fixture
def numbers() -> range:
    """Four alike, on two servers."""
    return range(4)


def describe(service: FakeService) -> None:
    """Let the first two elements have a server whose link the site states, the others one without."""
    service.facts = {
        f"union/b{number}": {
            "server": number // 2,
            "server_rate": LINK if number < 2 else None,
            "kept_for": number % 2 * KEPT_FOR,
        }
        for number in range(4)
    }


@pytest.fixture
def one_device() -> bool:
    """Whether the first two elements are on one device."""
    return False


@pytest.fixture
def claims(start: Start, service: FakeService, base: Path, one_device: bool) -> Iterator[Claims]:
    """Those of a user; the site states the link of the server of the first two elements."""
    describe(service)
    for element in LIMITED if one_device else ():
        service.facts[element] |= {"file_system": file_system_at(base)}
    agent = start(until="union has 4 candidates")
    with attached(agent) as segment:
        yield segment


def on_servers(claims: Claims) -> list[float]:
    return [row.server_streams for row in claims.table.rows()]


def test_the_table_says_what_a_server_gives_where_the_site_does(claims: Claims) -> None:
    rates = [row.server_rate for row in claims.table.rows()]
    assert rates[:2] == [LINK, LINK]
    assert all(map(math.isnan, rates[2:]))


def test_the_table_says_what_elements_are_kept_for(claims: Claims) -> None:
    assert [row.kept_for for row in claims.table.rows()] == [0, KEPT_FOR, 0, KEPT_FOR]


def test_claims_and_files_of_the_node_count_on_the_server_until_they_end(
    claims: Claims, tmp_path: Path
) -> None:
    claim, other = claims.choose(row=0), claims.choose(row=3)
    wait_until(lambda: on_servers(claims) == [1, 1, 0, 0], "the claim counts on both elements of the server")
    fd = claims.create(claim, tmp_path / "file")
    wait_until(lambda: claims.open_claims()[0] == 0, "it is taken up")
    assert on_servers(claims)[:2] == [1, 1]
    os.close(fd)
    wait_until(lambda: on_servers(claims) == [0, 0, 0, 0], "it has ended")
    claims.complete(other, NOT_CREATED)


@pytest.mark.parametrize("one_device", [True])
def test_a_claim_counts_once_on_all_elements_of_one_device(claims: Claims) -> None:
    claim = claims.choose(row=0)
    wait_until(lambda: [row.own for row in claims.table.rows()] == [1, 1, 0, 0], "it counts on both")
    assert on_servers(claims) == [1, 1, 0, 0]
    claims.complete(claim, NOT_CREATED)
    wait_until(lambda: [row.own for row in claims.table.rows()] == [0, 0, 0, 0], "it counts on neither")


def test_streams_of_other_nodes_are_added(claims: Claims, service: FakeService) -> None:
    service.loads = {"union/b0": {"server_streams": 2}, "union/b1": {"own": 1, "server_streams": 2}}
    wait_until(lambda: on_servers(claims) == [2, 2, 0, 0], "the node hears of it")
    claim = claims.choose(row=1)
    wait_until(lambda: on_servers(claims) == [3, 3, 0, 0], "its own comes on top")
    claims.complete(claim, NOT_CREATED)


def test_files_go_elsewhere_as_the_link_is_used_up(
    start: Start, service: FakeService, tmp_path: Path
) -> None:
    describe(service)
    agent = start(until="union has 4 candidates")
    asked = []
    for number in range(4):  # applications of their own: files of one may share a decision
        asked.append(agent.ask(f"app{number}"))
        asked[-1].create(tmp_path / f"f{number}")
    chosen = [conversation.answer.element for conversation in asked]
    assert sum(element in LIMITED for element in chosen[:3]) == 1, chosen
    assert chosen[3] in LIMITED, "the last one without a stream"
    placement = asked[3].answer.placement
    wait_until(lambda: placement in service.decided, "it is reported")
    mine, decision = service.decided[placement]
    assert mine["predicted"]["write"] == LINK / 2
    limits = {candidate["element"]: candidate["server_limit"] for candidate in decision["candidates"]}
    assert limits[chosen[3]] == LINK / 2
    assert {limits[element] for element in limits if element not in LIMITED} == {None}
    for conversation in asked:
        conversation.close()


def test_files_of_the_node_are_promises_at_once(claims: Claims, service: FakeService, tmp_path: Path) -> None:
    """While the service is away, so that nobody else can have counted them."""

    def promises() -> list[tuple[float, float, float]]:
        return [row.promises for row in claims.table.rows()]

    service.loads = {"union/b1": {"promises": 1, "promised": 30e6, "promised_hard": 0}}
    wait_until(lambda: promises()[1] == (1, 30e6, 0), "the node hears what others were promised")
    service.kill()
    claim = claims.choose(row=0)
    fd = claims.create(claim, tmp_path / "file", requirement=(3, 1, 0, 70e6, 1.0))
    wait_until(lambda: promises()[:2] == [(1, 70e6, 70e6), (1, 30e6, 0)], "what is asked for here counts")
    os.close(fd)
    wait_until(lambda: promises()[:2] == [(0, 0, 0), (1, 30e6, 0)], "it has ended")
