"""A real agent's plan on Lustre: files lie where tickets say, and no ticket leads to a lost server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lustre_mount import LustreMount, osts_of, wait_for
from parameter_tree import lose_server, write_tree

sys.path.insert(0, str(Path(__file__).parents[1] / "agent"))

from placed_programs import LIST, OFFSET, POOL
from plan_program import NOT_CREATED, Plan, Ticket, remove_plans
from program_side import PLACE
from running_agent import Agent
from service_double import ServiceDouble

ROOT = Path(__file__).resolve().parents[2]
SELF = os.geteuid()

Start = Callable[..., tuple[Agent, ServiceDouble]]


@pytest.fixture
def parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the client says of its OSTs 0 to 5; the agent reads it as that of the stand-in."""
    root = write_tree(tmp_path / "root")
    monkeypatch.setenv("SES_LUSTRE_STANDIN", str(root))
    return root


@pytest.fixture
def chain(lustre: LustreMount, parameters: Path, tmp_path: Path) -> Iterator[Start]:
    """A real agent with plans, of a service that places on these targets of the stand-in in turn."""
    binary = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses") / "agent" / "ses-agent"
    assert binary.exists(), "run `make native` first"
    running: list[tuple[Agent, ServiceDouble]] = []

    def start(*targets: str, options: tuple[str, ...] = ()) -> tuple[Agent, ServiceDouble]:
        service = ServiceDouble(lustre.path, {f"union/{to}": Path(to) for to in targets}, "lustre")
        agent = Agent(binary, tmp_path, service.url, "--plans", *options)
        running.append((agent, service))
        agent.wait_for("service found")
        return running[-1]

    yield start
    for agent, service in running:
        agent.stop()
        remove_plans(agent.socket)
        service.close()


def plan_of(agent: Agent, device: int) -> Plan:
    with agent.ask(device) as conversation:
        assert conversation.answer.status == PLACE
    return Plan(agent.socket, SELF)


def taken(plan: Plan, device: int) -> Ticket:
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, NOT_CREATED)
    return ticket


def test_unmodified_program_s_file_lies_where_its_ticket_says(
    chain: Start, lustre: LustreMount, public_wrapper: Path
) -> None:
    """The application asks once; from then on its files are made by tickets, nobody being asked."""
    agent, service = chain("4")
    environment = {
        **os.environ, "LD_PRELOAD": str(public_wrapper), "SES_AGENT_SOCKET": str(agent.socket),
        "SES_SYNC_MS": "20000", "SES_LUSTRE_STANDIN": "1",
    }  # fmt: skip

    def create(name: str) -> None:
        subprocess.run(
            ["bash", "-c", f"echo text > {name}"], cwd=lustre.path, env=environment, check=True, timeout=60
        )
        assert osts_of(lustre.path / name) == (4,)

    create("first")
    plan = Plan(agent.socket, SELF)
    device = lustre.path.stat().st_dev
    wait_for(lambda: plan.stock(device, "bash") > 0, "there are tickets for the program")
    before = plan.entry(device, "bash")
    asked = agent.log.read_text().count(f"uid {SELF} pid")
    create("second")
    after = plan.entry(device, "bash")
    assert before
    assert after
    assert after.taken > before.taken
    assert agent.log.read_text().count(f"uid {SELF} pid") == asked, "nobody was asked"

    def told() -> set[str]:
        return {file["path"] for id in list(service.opened_as) for file in service.opened(id)}

    wait_for(lambda: str(lustre.path / "second") in told(), "the service hears of the file")


def test_tickets_for_a_lost_server_are_withdrawn(chain: Start, lustre: LustreMount, parameters: Path) -> None:
    agent, service = chain("1", "4")
    device = lustre.path.stat().st_dev
    plan = plan_of(agent, device)
    wait_for(lambda: ("union/1",) in plan.waiting(device, "app"), "there is a ticket for OST 1")
    lose_server(parameters, 1)
    agent.wait_for("OST 1 of union is not used: its server is not connected: DISCONN")
    wait_for(
        lambda: not any(service.placements[id] == "union/1" for id in service.unended()),
        "every ticket for it is back",
    )
    for _ in range(50):
        assert taken(plan, device).elements == ("union/4",)


def test_server_lost_before_the_agent_began_gets_no_file(
    chain: Start, lustre: LustreMount, parameters: Path
) -> None:
    """The very first question waits until the servers have been looked at."""
    lose_server(parameters, 1)
    agent, _ = chain("1", "4")
    device = lustre.path.stat().st_dev
    for _ in range(20):
        with agent.ask(device) as conversation:
            assert conversation.answer.element != "union/1"
    assert not Plan(agent.socket, SELF).waiting(device, "app").count(("union/1",))


@pytest.mark.parametrize(
    ("form", "target", "place"),
    [
        ("pool", "5", (POOL, (), "small")),
        ("pool", "4", (LIST, (4,), "slow")),
        ("list", "5", (LIST, (5,), "small")),
        ("offset", "4", (OFFSET, (4,), "slow")),
        ("list", "slow", (POOL, (), "slow")),
        ("offset", "slow", (POOL, (), "slow")),
    ],
)
def test_form_of_a_placement_is_the_site_s_choice(
    chain: Start, lustre: LustreMount, form: str, target: str, place: tuple[int, tuple[int, ...], str]
) -> None:
    """In answers and in tickets; one OST that has a pool of its own is written as that pool by default."""
    agent, _ = chain(target, options=("--lustre-form", form))
    device = lustre.path.stat().st_dev
    with agent.ask(device) as conversation:
        answer = conversation.answer
    assert (answer.lustre_form, answer.osts, answer.pool) == place
    plan = Plan(agent.socket, SELF)
    wait_for(lambda: plan.stock(device, "app") > 0, "there is a ticket")
    chosen, osts, pool = place
    assert plan.lustre_places(device, "app") == {(chosen, osts[0] if osts else 0, pool)}


def test_pool_is_the_form_nobody_has_to_ask_for(chain: Start, lustre: LustreMount) -> None:
    agent, _ = chain("5")
    with agent.ask(lustre.path.stat().st_dev) as conversation:
        assert (conversation.answer.lustre_form, conversation.answer.pool) == (POOL, "small")
