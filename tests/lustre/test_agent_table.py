"""A real agent's table on Lustre: files lie where programs choose, and nobody chooses a lost server."""

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from claims_program import NOT_CREATED, Claims, Table
from fake_service import FakeService
from lustre_mount import LustreMount, osts_of
from parameter_tree import DEBUG, SYS, client, lose_server, set_parameter, write_tree
from patience import wait_until
from placed_programs import LIST, OFFSET, POOL
from program_side import PLACE
from running_agent import Agent

ROOT = Path(__file__).resolve().parents[2]
SELF = os.geteuid()

Start = Callable[..., tuple[Agent, FakeService]]


@pytest.fixture
def parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the client says of its OSTs 0 to 5; the agent reads it as that of the stand-in."""
    root = write_tree(tmp_path / "root")
    monkeypatch.setenv("SES_LUSTRE_STANDIN", str(root))
    return root


@pytest.fixture
def chain(chain: Start, parameters: Path) -> Start:
    """A real agent, of a service that knows these targets of the stand-in."""

    def start(*targets: str, options: tuple[str, ...] = ()) -> tuple[Agent, FakeService]:
        return chain({f"union/{to}": to for to in targets}, *options)

    return start


def test_unmodified_program_s_file_lies_where_it_chose(
    chain: Start, lustre: LustreMount, public_wrapper: Path
) -> None:
    """The user asks once; from then on files are made by choice, nobody being asked."""
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
    claims = Claims(agent.socket, SELF)
    wait_until(lambda: bool(claims.needs()), "the user's needs are there")
    before, asked = claims.get64(Claims.NEXT), agent.log.read_text().count(f"uid {SELF} pid")
    create("second")
    assert claims.get64(Claims.NEXT) > before
    assert agent.log.read_text().count(f"uid {SELF} pid") == asked, "nobody was asked"

    def reported() -> set[str]:
        return {file["path"] for id in list(service.opened_as) for file in service.opened(id)}

    wait_until(lambda: str(lustre.path / "second") in reported(), "the service hears of the file")


def test_lost_server_is_excluded_and_comes_back(chain: Start, lustre: LustreMount, parameters: Path) -> None:
    agent, _ = chain("1", "4")
    device = lustre.path.stat().st_dev
    assert agent.status(device=device) == PLACE
    table = Table(agent.socket)
    assert [row.excluded for row in table.rows()] == [False, False]
    lose_server(parameters, 1)
    agent.wait_for("OST 1 of union is not used: its server is not connected: DISCONN")
    wait_until(lambda: [row.excluded for row in table.rows()] == [True, False], "nobody chooses it")
    for _ in range(20):
        with agent.ask(device=device) as conversation:
            assert conversation.answer.element == "union/4"
    table.detach()


def test_server_lost_before_the_agent_began_gets_no_file(
    chain: Start, lustre: LustreMount, parameters: Path
) -> None:
    """The very first question waits until the servers have been looked at."""
    lose_server(parameters, 1)
    agent, _ = chain("1", "4")
    device = lustre.path.stat().st_dev
    for _ in range(20):
        with agent.ask(device=device) as conversation:
            assert conversation.answer.element != "union/1"
    claims = Claims(agent.socket, SELF)
    claim = claims.choose()
    assert claim.element == "union/4"
    claims.complete(claim, NOT_CREATED)


def look_often(agent: Agent, parameters: Path, times: int = 1) -> None:
    """Wait until the agent has looked at the OSTs again and again: each change is seen in another look."""

    def said(text: str) -> int:
        return agent.log.read_text().count(f"OST 5 of union is {text}")

    for _ in range(times):
        for value, text in (("0", "not used"), ("1", "used again")):
            before = said(text)
            set_parameter(parameters / SYS, "osc", client(5), "active", f"{value}\n")
            wait_until(partial(lambda text, before: said(text) > before, text, before), "the agent looks")


def test_agent_of_an_idle_node_sends_no_request(chain: Start, lustre: LustreMount, parameters: Path) -> None:
    """To the metadata server as little as to those of OSTs, whether it can read their state or not."""
    agent, _ = chain("1", "4")
    before = lustre.all_requests()
    look_often(agent, parameters)
    for file in (parameters / DEBUG).rglob("import"):
        file.unlink()
    look_often(agent, parameters, 2)
    assert lustre.all_requests() == before


def test_agent_that_cannot_read_the_state_asks_of_what_is_in_use_and_seldom(
    chain: Start, lustre: LustreMount, parameters: Path
) -> None:
    for file in (parameters / DEBUG).rglob("import"):
        file.unlink()
    begun = time.monotonic()
    agent, _ = chain("4")
    before = lustre.all_requests()
    assert agent.status(device=lustre.path.stat().st_dev) == PLACE
    wait_until(lambda: lustre.all_requests()[2] > before[2], "the server of OST 4 is asked")
    look_often(agent, parameters)
    opened, closed, asked = (now - then for now, then in zip(lustre.all_requests(), before, strict=True))
    assert opened <= 1 + (time.monotonic() - begun) / 10
    # The mount point is opened for each question, of which one may be under way.
    assert opened == closed
    assert 0 <= opened - asked <= 1


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
    """In answers and in the table; one OST that has a pool of its own is written as that pool by default."""
    agent, _ = chain(target, options=("--lustre-form", form))
    device = lustre.path.stat().st_dev
    with agent.ask(device=device) as conversation:
        answer = conversation.answer
    assert (answer.lustre_form, answer.osts, answer.pool) == place
    chosen, _, pool = place
    (row,) = Table(agent.socket).rows()
    members = lustre.members(pool) if chosen == POOL else ()
    assert answer.members == row.members == members
    index = int(target) if target.isdigit() else 0
    assert (row.form, row.index, row.pool) == (chosen, index, pool)


def test_pool_is_the_form_nobody_has_to_ask_for(chain: Start, lustre: LustreMount) -> None:
    agent, _ = chain("5")
    with agent.ask(device=lustre.path.stat().st_dev) as conversation:
        assert (conversation.answer.lustre_form, conversation.answer.pool) == (POOL, "small")
