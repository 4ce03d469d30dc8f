"""Health: an element slower than described is found out, and nothing else is taken for one."""

import numpy as np
import pytest
from ses_core.top_speed import LOWEST, after_sample
from ses_service.decision.health import learned
from ses_service.decision.rows import Rows
from ses_service.ledger.counts import LedgerCounts
from ses_service.model.columns import ObservationTable, element_table, observation_table
from ses_service.model.entities import Element, Environment, Observation
from ses_service.model.policies import Policies

POLICIES = Policies()
TABLE = element_table(
    Environment(elements=(Element("s/a", "", "a", "s", "0", "one", nominal_write_rate=100.0),))
)


def after(
    samples: int, rate: float, depth: float | None, start: ObservationTable | None = None
) -> ObservationTable:
    seen = start or observation_table(TABLE, [])
    begun = 0.0 if start is None else float(start.sampled_at[0])
    for number in range(samples):
        observation = Observation("s/a", begun + number + 1.0, current_write_rate=rate, queue_depth=depth)
        seen = learned(
            observation_table(TABLE, [observation]), seen if number or start else _empty(), POLICIES
        )
    return seen


def _empty() -> ObservationTable:
    return observation_table(TABLE, [Observation("s/a", 0.0)])


def test_queued_and_slow_for_some_samples_is_found_out() -> None:
    assert after(2, 50, 3.0).health[0] == 1.0
    assert after(10, 50, 3.0).health[0] == pytest.approx(0.5)


@pytest.mark.parametrize("depth", [0.5, None])
def test_without_a_queue_a_low_rate_teaches_nothing(depth: float | None) -> None:
    assert after(50, 5, depth).health[0] == 1.0


def test_a_high_rate_restores_it_at_once() -> None:
    slow = after(20, 30, 3.0)
    assert slow.health[0] == pytest.approx(0.3)
    assert after(1, 90, 3.0, slow).health[0] == 1.0


def test_it_comes_back_by_itself_when_nothing_is_queued() -> None:
    slow = after(20, 30, 3.0)
    assert after(50, 0, 0.0, slow).health[0] < 1.0
    assert after(150, 0, 0.0, slow).health[0] == 1.0


def test_the_same_sample_again_teaches_nothing() -> None:
    seen = after(20, 30, 3.0)
    again = observation_table(TABLE, [Observation("s/a", 20.0, current_write_rate=0.0, queue_depth=3.0)])
    assert learned(again, seen, POLICIES).top_speed[0] == seen.top_speed[0]


def test_without_a_nominal_rate_the_largest_rate_seen_tells_how_busy_it_is() -> None:
    table = element_table(Environment(elements=(Element("s/a", "", "a", "s", "0", "one"),)))
    seen = observation_table(table, [Observation("s/a", 0.0, current_write_rate=85e6)])
    assert seen.utilisation[0] == 1.0
    for number, (rate, busy) in enumerate([(170e6, 1.0), (85e6, 0.5), (1e6, 1 / 170)], 1):
        observation = Observation("s/a", float(number), current_write_rate=rate)
        seen = learned(observation_table(table, [observation]), seen, POLICIES)
        assert seen.utilisation[0] == pytest.approx(busy)
    alone = observation_table(table, [Observation("s/a", 0.0, current_write_rate=1e6)])
    assert alone.utilisation[0] == pytest.approx(0.1)  # a log file makes no element busy


def test_no_element_is_lost_for_ever() -> None:
    nothing, queue = np.array([0.0]), np.array([9.0])
    top = np.array([1.0])
    for _ in range(200):
        top = after_sample(top, nothing, queue, POLICIES.saturation)
    assert top[0] == LOWEST


def test_a_slow_element_offers_what_it_can_do() -> None:
    rows = Rows(POLICIES)
    rows.bind(TABLE, (), after(20, 50, 3.0), LedgerCounts.zeros(1), 21.0)
    assert rows.elements["write_rate"][0] == pytest.approx(50)
