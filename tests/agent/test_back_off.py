"""Agents that a service sent away together do not come back together, nor sooner than it asked."""

from pathlib import Path

import program_side as side
import pytest
from agent_sources import link
from fake_service import Answer, FakeService, Request, problem
from patience import wait_until
from ran import ran
from running_agent import Start

PROBE = Path(__file__).parent / "probes/health_delays.cpp"
RANKS = 64

pytestmark = pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine


@pytest.fixture(scope="module")
def health_delays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("health") / "health_delays"
    return link(program, PROBE)


@pytest.mark.parametrize(
    ("asked", "within", "first"), [(0, 50, 200), (5, 2000, 200), (3600, 5000, 3000), (0, 50000, 48000)]
)
def test_agents_are_spread_over_a_time_that_doubles_beyond_what_the_service_asked_for(
    health_delays: Path, asked: int, within: int, first: int
) -> None:
    """Anywhere between 0 and a bound: 0.2 s, twice as much with each failure, 30 s at most.

    A service of ten thousand nodes says that they are to come back over 50 s, and it begins with 48 s.
    """
    done = ran([health_delays, "12", str(asked), str(within)])
    delays = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    bounds = [min(first * 2**failure, max(30000, within)) for failure in range(12)]
    assert len(delays) == len(bounds)
    for (least, most), bound in zip(delays, bounds, strict=True):
        assert 0 <= least < bound / 10
        assert bound * 0.9 < most < bound + 5000, "the bound, and what a loaded machine adds"


def test_need_makes_an_agent_look_where_nobody_was_but_not_again_and_again(health_delays: Path) -> None:
    done = ran([health_delays, "looks"])
    looks = dict(line.split(": ") for line in done.stdout.splitlines())
    assert looks == {
        "before the first look": "1",
        "somebody is there, who does not answer": "0",
        "nobody is there": "1",
        "at once": "1",
        "while that look is under way": "1",
        "nobody is there still, a moment later": "0",
        "while the service is there": "0",
    }


def test_ranks_do_not_ask_a_busy_service(start: Start, service: FakeService) -> None:
    """A job's ranks that ask at once are placed by what the agent has; nobody asks in between."""
    agent = start()
    agent.ask().close()
    busy: list[Request] = []

    def overloaded(request: Request) -> Answer:
        busy.append(request)
        return problem(503, "overloaded", "later", **{"Retry-After": "2"})

    service.instead = overloaded
    for rank in range(RANKS):
        assert agent.status(f"rank{rank}") == side.PLACE
    wait_until(lambda: any(request.method == "GET" for request in busy), "the agent asks again")
    number = next(number for number, request in enumerate(busy) if request.method == "GET")
    assert number <= 2, "what was under way, and nothing after it"
    assert busy[number].at - busy[0].at >= 1.9 or agent.was_kept_waiting()


def test_ranks_that_create_at_once_get_a_place_each_in_turn(start: Start, service: FakeService) -> None:
    agent = start()
    with agent.held():
        waiting = [side.connect(agent.socket) for _ in range(RANKS)]
        for connection in waiting:
            connection.send(side.ask_message(agent.device, "ranks"))
    answers = [side.parse_answer(connection.recv(4096)) for connection in waiting]
    for connection in waiting:
        connection.close()
    assert {answer.status for answer in answers} == {side.PLACE}
    assert len({answer.placement for answer in answers}) == RANKS
    share = [[answer.element for answer in answers].count(element) for element in service.targets]
    assert sum(share) == RANKS
    assert max(share) - min(share) <= 1, "elements that are alike in turn"
