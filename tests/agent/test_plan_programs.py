"""Tickets and programs of unusual lives: threads that are cancelled, processes that change who they are."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_until
from plan_program import Plan
from running_agent import Agent
from service_double import ServiceDouble

pytestmark = pytest.mark.root

NOBODY = 65534
LIFE = Path(__file__).resolve().parents[1] / "libses/probes/life.c"
EARLY = LIFE.with_name("early.c")


@pytest.fixture
def agent(start: Callable[..., Agent], service: ServiceDouble, union: Path) -> Agent:
    """An agent with plans that knows the union."""
    running = start(service.url, "--plans")
    running.wait_for("storage system union is mounted")
    return running


@pytest.fixture
def run(agent: Agent, union: Path, binary: Path) -> Callable[..., str]:
    """Run a program under the library in the union, and return what it printed."""
    environment = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": str(binary.parents[1] / "libses-wrapper.so"),
        "SES_AGENT_SOCKET": str(agent.socket),
        "SES_SYNC_MS": "20000",
    }

    def program(*command: str | Path, **settings: str) -> str:
        done = subprocess.run(
            command,
            env={**environment, **settings},
            cwd=union,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return program


def opened(service: ServiceDouble) -> dict[str, str]:
    """User of each path that was told."""
    return {
        file["path"]: file["user"]
        for placement in list(service.opened_as)
        for file in service.opened(placement)
    }


@pytest.fixture
def life(tmp_path: Path) -> Path:
    """The program of many lives."""
    built = tmp_path / "life"
    subprocess.run(["gcc", "-shared", "-fPIC", EARLY, "-o", tmp_path / "libearly.so"], check=True, timeout=60)
    subprocess.run(
        ["gcc", "-pthread", LIFE, "-o", built, f"-L{tmp_path}", "-learly", f"-Wl,-rpath,{tmp_path}", "-ldl"],
        check=True,
        timeout=60,
    )
    return built


def test_threads_that_take_tickets_can_be_cancelled(
    run: Callable[..., str], agent: Agent, service: ServiceDouble, union: Path, life: Path
) -> None:
    """They end, though a ticket needs no call that waits, and nothing stays open or staged."""
    assert run(life, "cancel", union) == "0\n"
    plan = Plan(agent.socket, os.geteuid())
    wait_until(lambda: plan.stock(union.stat().st_dev, "life") > 0, "there are tickets")
    for _ in range(5):
        for file in union.glob("*-*"):
            file.unlink()
        before = plan.entry(union.stat().st_dev, "life")
        assert run(life, "cancel", union) == "0\n"
        after = plan.entry(union.stat().st_dev, "life")
        assert before
        assert after
        assert after.taken > before.taken, "tickets were taken"
    wait_until(lambda: not service.open_now(), "no file counts as open", 60)
    assert not list(life.parent.glob("b*/.ses/*/*")), "nothing is left staged"


def test_every_ticket_cancelled_threads_took_is_told_with_its_file(
    run: Callable[..., str], agent: Agent, service: ServiceDouble, union: Path, life: Path
) -> None:
    """A create is cancelled before it takes a ticket or not at all, so that none is lost in between.

    While the program runs the agent stands still, and tickets go by nobody else's hand.
    """

    run(life, "cancel", union)
    device, plan = union.stat().st_dev, Plan(agent.socket, os.geteuid())
    taken = rounds = 0
    while taken < 20:
        rounds += 1
        assert rounds <= 50, f"{taken} tickets were taken in 50 rounds"
        here = union / f"round{rounds}"
        here.mkdir()
        wait_until(lambda: plan.stock(device, "life") > 0, "there are tickets")
        agent.process.send_signal(signal.SIGSTOP)
        try:
            before = plan.entry(device, "life")
            run(life, "cancel", here, SES_SYNC_MS="0")
            after = plan.entry(device, "life")
        finally:
            agent.process.send_signal(signal.SIGCONT)
        assert before
        assert after
        took = after.taken - before.taken
        told = lambda here=here: [path for path in opened(service) if Path(path).parent == here]  # noqa: E731
        wait_until(lambda told=told, took=took: len(told()) >= took, "every ticket is told")
        assert len(told()) == took
        taken += took


CHANGING = (
    "import os, sys\n"
    "open(sys.argv[1] + '/before', 'x').close()\n"
    "os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
    "open(sys.argv[1] + '/after', 'x').close()\n"
)


def test_process_that_gives_up_root_takes_no_ticket_of_root_any_more(
    run: Callable[..., str], agent: Agent, service: ServiceDouble, union: Path, tmp_path: Path
) -> None:
    union.chmod(0o777)
    for parent in (agent.socket.parent, tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(parent.stat().st_mode | 0o011)
    run(sys.executable, "-c", "open('warm', 'x').close()")
    plan = Plan(agent.socket, os.geteuid())
    wait_until(lambda: any(one.stock for one in plan.entries().values()), "there are tickets")
    run(sys.executable, "-c", CHANGING, str(union))
    assert (union / "after").stat().st_uid == NOBODY
    wait_until(lambda: str(union / "before") in opened(service), "the file of root is told")
    wait_until(lambda: not service.open_now(), "all ends are told", 60)
    told = opened(service)
    assert told[str(union / "before")] == "root"
    assert told.get(str(union / "after"), "nobody") == "nobody"
    plan.detach()


@pytest.mark.parametrize("bit", [stat.S_ISUID, stat.S_ISGID])
def test_setuid_program_meets_neither_plan_nor_agent(
    run: Callable[..., str], agent: Agent, service: ServiceDouble, union: Path, tmp_path: Path, bit: int
) -> None:
    """It has more rights than its caller: the linker keeps the library out, and its file is made plainly."""
    union.chmod(0o777)
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(parent.stat().st_mode | 0o011)
    touch = tmp_path / "touch"
    touch.write_bytes(Path("/usr/bin/touch").read_bytes())
    touch.chmod(0o755 | bit)
    as_nobody = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    run(*as_nobody, "/usr/bin/touch", union / "ordinary")
    wait_until(lambda: str(union / "ordinary") in opened(service), "an ordinary program's file is told")
    asked = agent.log.read_text().count(f"uid {NOBODY} pid")
    run(*as_nobody, touch, union / "privileged")
    assert (union / "privileged").exists()
    run(*as_nobody, "/usr/bin/touch", union / "last")
    wait_until(lambda: str(union / "last") in opened(service), "the next ordinary program's is told")
    assert str(union / "privileged") not in opened(service)
    assert agent.log.read_text().count(f"uid {NOBODY} pid") - asked <= 1
