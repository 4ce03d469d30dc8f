"""The machine's clock is set by hours while the service runs: no placement ends for that, none lives on."""

import numpy as np
import pytest
from ses_service.ledger.announcement import silence_for
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.pace import MAX_PACE
from ses_service.ledger.placement import EndReason, Placement
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, Environment, Subject
from ses_service.model.policies import Policies
from ses_service.process.clock import SlewedClock

HOURS = 3 * 3600.0
SILENCE = silence_for(MAX_PACE)


class Machine:
    """A machine whose clock can be set."""

    def __init__(self) -> None:
        self.up, self.ahead = 50.0, 1_800_000_000.0
        self.clock = SlewedClock(lambda: self.up + self.ahead, lambda: self.up)

    def set_clock(self, by: float) -> None:
        self.ahead += by

    def wait(self, seconds: float) -> float:
        self.up += seconds
        return self.clock()


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize("by", [HOURS, -HOURS])
def test_a_file_stays_open_and_a_silent_node_ends(machine: Machine, by: float) -> None:
    where = Element("u/a", "u/a", "u/a", "u", "/u/a", "server")
    ledger = Ledger(Policies())
    now = machine.wait(1)
    ledger.bind(element_table(Environment(elements=(where,))), np.full(1, now), now)
    ledger.renew_node("n1", "agent", now, now + SILENCE)
    leased = Placement("1" * 16, Subject("alice"), where, "mergerfs", 0.0, now, now + SILENCE)
    followed = Placement("2" * 16, Subject("alice", node="n1"), where, "mergerfs", 0.0, now, np.inf)
    ledger.restore(leased)
    ledger.restore(followed)
    machine.set_clock(by)
    assert ledger.expire(machine.wait(SILENCE / 2)) == 0
    assert ledger.expire(machine.wait(SILENCE * 0.62)) == 2, "what is over ends in its time"
    assert ledger.get("1" * 16).end_reason == EndReason.EXPIRED
    assert ledger.get("2" * 16).end_reason == EndReason.SILENT


@pytest.mark.parametrize("by", [HOURS, -HOURS, 0.5, -0.5])
def test_the_clock_follows_without_a_jump(machine: Machine, by: float) -> None:
    before = machine.clock()
    machine.set_clock(by)
    moments = [machine.clock(), *(machine.wait(60) for _ in range(40 * 60))]
    steps = np.diff([before, *moments])
    assert steps[0] == 0
    assert steps[1:].min() >= 53.9
    assert steps.max() <= 66.1
    assert moments[-1] == pytest.approx(machine.up + machine.ahead, abs=0.01)
