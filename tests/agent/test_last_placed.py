"""When equal elements were last placed on, as the table of a node says it."""

import time
from collections.abc import Iterator

import pytest
from claims_program import NOT_CREATED, Claims, attached
from fake_service import FakeService
from patience import wait_until
from running_agent import Start

YESTERDAY = 1_700_000_000_000  # milliseconds since the epoch


@pytest.fixture
def numbers() -> range:
    """Four alike."""
    return range(4)


@pytest.fixture
def claims(start: Start, service: FakeService) -> Iterator[Claims]:
    """Those of a user of a node that was told of two files of others, and of one that ended."""
    service.loads = {
        "union/b0": {"own": 1, "last_placed": YESTERDAY + 2999},
        "union/b1": {"own": 1, "last_placed": YESTERDAY + 1001},
        "union/b2": {"own": 0, "last_placed": YESTERDAY + 5000},
    }
    agent = start(until="union has 4 candidates")
    with attached(agent, counted=2) as segment:
        yield segment


def test_placements_of_all_nodes_count_on_busy_elements_by_the_second(claims: Claims) -> None:
    by_element = {row.element: row.last_placed for row in claims.table.rows()}
    assert (by_element["union/b0"], by_element["union/b1"]) == (YESTERDAY + 2000, YESTERDAY + 1000)


def test_placements_of_other_nodes_do_not_count_on_idle_elements(claims: Claims) -> None:
    assert claims.table.rows()[2].last_placed != YESTERDAY + 5000
    claim = claims.choose(row=3)
    wait_until(lambda: claims.table.rows()[3].own == 1, "it is counted")
    claims.complete(claim, NOT_CREATED)
    wait_until(lambda: claims.table.rows()[3].own == 0, "it is counted off")
    moments = [row.last_placed for row in claims.table.rows()]
    assert moments[3] == max(moments) > YESTERDAY, "it is later than all that was heard of"


def test_own_placements_count_on_idle_elements_while_they_are_fresh_or_others_place_little(
    claims: Claims, service: FakeService
) -> None:
    """Else some of the nodes go on from their first elements, to those with which others begin."""
    service.rate = 1.5

    claim = claims.choose(row=3)
    wait_until(lambda: claims.table.rows()[3].own == 1, "it is counted")
    claims.complete(claim, NOT_CREATED)
    wait_until(lambda: claims.table.rows()[3].own == 0, "it is counted off")
    assert claims.table.rows()[3].last_placed > YESTERDAY
    service.rate = 0.5
    time.sleep(9.0)  # forgotten after 8 s
    assert claims.table.rows()[3].last_placed > YESTERDAY
    service.rate = 1.5
    wait_until(lambda: claims.table.rows()[3].last_placed == 0, "it is forgotten")
