"""Many agents that lose their service come back without a herd, in the model with the agent's own rules."""

import json

import pytest
from click.testing import CliRunner
from invoked import invoked
from ses.cli import main
from ses_service.ledger.pace import Use, return_within
from ses_simulate import agents
from ses_simulate.agents import Costs, Loss, come_back

MANY = 10_000


@pytest.mark.parametrize(("away", "cut"), [(3.0, False), (30.0, False), (30.0, True)])
def test_ten_thousand_are_back_within_twice_the_time_that_they_were_told(away: float, cut: bool) -> None:
    times = come_back(Loss(MANY, away, cut), Costs())
    assert times.last < 2 * return_within(MANY)
    assert times.failed < 2 * MANY
    assert times.memory_mb < 1000


def test_idle_nodes_notice_late_and_ask_little() -> None:
    times = come_back(Loss(MANY, 30.0, use=Use.NONE), Costs())
    assert times.usual < 0.15
    assert times.failed == 0
    assert times.last < 2 * return_within(MANY)


def test_a_small_site_is_back_soon_and_asks_nothing_in_vain() -> None:
    times = come_back(Loss(8, 1.0), Costs())
    assert times.failed == 0
    assert times.last < 4.0


def test_delays_of_a_site_of_six_hundred_would_make_a_herd_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = come_back(Loss(MANY, 30.0), Costs())
    bound = agents.delay_bound
    monkeypatch.setattr(agents, "delay_bound", lambda _, failures: bound(return_within(600), failures))
    herd = come_back(Loss(MANY, 30.0), Costs())
    assert herd.failed > 3 * max(usual.failed, MANY)
    assert herd.last > usual.last


def test_the_command_prints_it() -> None:
    done = invoked(main, ["simulate", "agents", "--agents", "100", "--away", "2", "--json"])
    assert json.loads(done.output)["last"] > 0
    assert "the last" in CliRunner().invoke(main, ["simulate", "agents", "--agents", "50"]).output
