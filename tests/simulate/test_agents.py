"""Many agents that lose their service come back without a herd, in the model with the agent's own rules."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from ses.cli import main
from ses_service.ledger.pace import Use
from ses_simulate import agents
from ses_simulate.agents import Costs, Loss, come_back

MANY = 10_000


@pytest.mark.parametrize("away", [3.0, 10.0, 30.0])
@pytest.mark.parametrize("cut", [False, True])
def test_ten_thousand_are_back_within_two_of_the_longest_delays(away: float, cut: bool) -> None:
    found = come_back(Loss(MANY, away, cut), Costs())
    assert found.last < 2 * agents.LONGEST_DELAY
    assert found.failed < 2 * MANY
    assert found.memory_mb < 1000


def test_idle_nodes_notice_late_and_ask_little() -> None:
    found = come_back(Loss(MANY, 30.0, use=Use.NONE), Costs())
    assert found.usual < 0.1
    assert found.last < 2 * agents.LONGEST_DELAY


def test_a_small_site_is_back_soon_and_asks_nothing_in_vain() -> None:
    found = come_back(Loss(8, 1.0), Costs())
    assert found.failed == 0
    assert found.last < 4.0


def test_first_delays_of_a_small_site_would_make_a_herd_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = come_back(Loss(MANY, 3.0), Costs())
    monkeypatch.setattr(agents, "first_delay", lambda _pace: 0.2)
    herd = come_back(Loss(MANY, 3.0), Costs())
    assert herd.failed > 10 * usual.failed
    assert herd.last > 2 * usual.last


def test_the_command_prints_it() -> None:
    done = CliRunner().invoke(main, ["simulate", "agents", "--agents", "100", "--away", "2", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["last"] > 0
    assert "the last" in CliRunner().invoke(main, ["simulate", "agents", "--agents", "50"]).output
