"""The agent sends programs to OSTs that can take files, and knows within seconds of those that cannot."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_sources import link
from fake_service import FakeService
from lustre_mount import LustreMount, osts_of
from mounts import served, stopped
from parameter_tree import DEBUG, PROC, SYS, client, lose_server, set_parameter, write_tree
from patience import wait_until
from placed_programs import LIST, POOL
from program_side import LUSTRE, PLACE
from ran import ran
from running_agent import Agent

Chain = Callable[..., tuple[Agent, FakeService]]


@pytest.fixture(scope="session")
def health_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("health") / "health"
    return link(program, Path(__file__).parent / "probes/health.cpp")


class Health:
    """A running probe."""

    def __init__(self, program: Path, root: Path) -> None:
        self.process = subprocess.Popen(
            [program, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.wait_for_change()

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the probe has ended"
        return line.strip()

    def wait_for_change(self) -> None:
        """Read on until the view has changed."""
        while self._line() != "changed":
            pass

    def ask(self, question: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        line = self._line()
        while line == "changed":
            line = self._line()
        return line


@pytest.fixture
def watched(health_probe: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Path, Health]]]:
    """A parameter tree and the agent's view of it."""
    running: list[Health] = []

    def start(release: str = "2.17", *, readable: bool = True) -> tuple[Path, Health]:
        root = write_tree(tmp_path / "root", release=release, readable_debugfs=readable)
        running.append(Health(health_probe, root))
        return root, running[-1]

    yield start
    for health in running:
        health.process.kill()
        health.process.communicate()


@pytest.mark.parametrize("release", ["2.15", "2.17"])
def test_target_whose_server_is_lost_is_not_used_until_it_is_back(
    watched: Callable[..., tuple[Path, Health]], release: str
) -> None:
    root, health = watched(release)
    place = DEBUG if release == "2.17" else PROC
    assert health.ask("list 1") == "usable (fast)"
    well = (root / place / "osc" / client(1) / "import").read_text()
    lose_server(root, 1, place=place)
    health.wait_for_change()
    assert health.ask("list 0 1") == "OST 1: its server is not connected: DISCONN (fast)"
    assert health.ask("list 0") == "usable (fast)"
    assert health.ask("pool fast") == "usable (fast)"
    set_parameter(root / place, "osc", client(1), "import", well)
    health.wait_for_change()
    assert health.ask("list 1") == "usable (fast)"


@pytest.mark.root
def test_no_file_goes_where_the_client_does_not_answer(health_probe: Path, tmp_path: Path) -> None:
    with served(tmp_path / "seen", write_tree(tmp_path / "root")) as serving:
        health = Health(health_probe, tmp_path / "seen")
        try:
            assert health.ask("list 1") == "usable (fast)"
            with stopped(serving):
                health.wait_for_change()
                assert health.ask("list 1") == "the client of this node does not answer (fast)"
        finally:
            health.process.kill()
            health.process.communicate()


@pytest.mark.parametrize(
    ("state", "usable"),
    [
        ("IDLE", True),
        ("FULL", True),
        ("CONNECTING", False),
        ("REPLAY_WAIT", False),
        ("RECOVER", False),
        ("EVICTED", False),
    ],
)
def test_state_of_the_import_decides(
    watched: Callable[..., tuple[Path, Health]], state: str, usable: bool
) -> None:
    root, health = watched()
    set_parameter(root / DEBUG, "osc", client(5), "import", f"import:\n    state: {state}\n    idle: 5 sec\n")
    set_parameter(root / SYS, "osc", client(0), "active", "0\n")
    health.wait_for_change()
    assert health.ask("list 5").startswith("usable") is usable
    assert health.ask("pool small").startswith("usable") is usable


def test_deactivated_and_unknown_targets_are_not_used(watched: Callable[..., tuple[Path, Health]]) -> None:
    root, health = watched()
    set_parameter(root / SYS, "osc", client(3), "active", "0\n")
    health.wait_for_change()
    assert health.ask("list 3") == "OST 3: it is deactivated on this node (slow)"
    assert health.ask("list 99") == "there is no OST 99 on this node's client ()"


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ("fast", "usable"),
        ("nosuch", "there is no pool nosuch"),
        ("empty", "pool empty has no OST that takes files"),
    ],
)
def test_pool_that_lustre_would_take_for_everything_is_refused(
    watched: Callable[..., tuple[Path, Health]], pool: str, message: str
) -> None:
    _, health = watched()
    assert health.ask(f"pool {pool}") == f"{message} ({pool})"


def test_smallest_pool_that_holds_the_list_stands_by(watched: Callable[..., tuple[Path, Health]]) -> None:
    _, health = watched()
    assert health.ask("list 3 4") == "usable (slow)"
    assert health.ask("list 2 3") == "usable ()"


def asked(root: Path) -> list[int]:
    """The OSTs whose servers were asked, in their order."""
    file = root / "asked"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def look_often(root: Path, health: Health, times: int = 3) -> None:
    """Wait until the agent has looked again and again: each change is seen in another look."""
    for number in range(2 * times):
        set_parameter(root / SYS, "osc", client(5), "active", f"{number % 2}\n")
        health.wait_for_change()


@pytest.mark.parametrize(("readable", "used"), [(True, True), (False, False)])
def test_no_server_is_asked_of_what_can_be_read_or_is_not_in_use(
    watched: Callable[..., tuple[Path, Health]], readable: bool, used: bool
) -> None:
    """Nothing that is looked at is a request: idle connections stay idle."""
    root, health = watched(readable=readable)
    if used:
        health.ask("use 0 1 2 3 4")
    look_often(root, health)
    assert asked(root) == []
    assert health.ask("list 0") == "usable (fast)"


def test_server_that_hangs_leaves_only_its_own_targets_unknown(
    watched: Callable[..., tuple[Path, Health]],
) -> None:
    root, health = watched(readable=False)
    (root / "hang-1").touch()
    (root / "answer-2").write_text("full")
    health.ask("use 0 1 2")
    wait_until(
        lambda: health.ask("list 1") == "OST 1: its server does not answer (fast)", "OST 1 is withdrawn"
    )
    wait_until(lambda: health.ask("list 2") == "OST 2: full (fast)", "OST 2 was asked about")
    look_often(root, health)
    assert asked(root).count(1) == 1, "no second question to a server that hangs"
    # An answer that this machine holds back for longer than the probe's limit is late, until it comes.
    wait_until(lambda: health.ask("list 0") == "usable (fast)", "OST 0 is as it was")
    wait_until(lambda: asked(root).count(0) > 2, "the others are still asked about")
    (root / "hang-1").unlink()
    wait_until(lambda: health.ask("list 1") == "usable (fast)", "it is back")


def test_six_questions_a_minute_are_the_most_that_a_node_asks(health_probe: Path) -> None:
    done = ran([health_probe])
    assert done.stdout.split() == ["6", "0"]


def test_program_s_file_lies_on_the_target_the_service_named(
    chain: Chain, lustre: LustreMount, public_wrapper: Path
) -> None:
    agent, service = chain({"union/OST0004": "4"})
    environment = {
        **os.environ, "LD_PRELOAD": str(public_wrapper), "SES_AGENT_SOCKET": str(agent.socket),
        "SES_SYNC_MS": "20000", "SES_LUSTRE_STANDIN": "1",
    }  # fmt: skip
    subprocess.run(
        ["bash", "-c", "echo text > file"], cwd=lustre.path, env=environment, check=True, timeout=60
    )
    assert osts_of(lustre.path / "file") == (4,)
    wait_until(lambda: bool(service.placements), "the service hears of the file")
    (placement,) = service.placements
    assert service.opened(placement)[0]["path"] == str(lustre.path / "file")


def test_index_becomes_a_strict_list_and_a_name_a_pool(
    chain: Chain, lustre: LustreMount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SES_LUSTRE_STANDIN", str(write_tree(tmp_path / "root")))
    agent, service = chain({"union/OST0004": "4"})
    device = lustre.path.stat().st_dev
    with agent.ask(device=device) as conversation:
        answer = conversation.answer
    assert (answer.status, answer.backend, answer.lustre_form, answer.osts) == (PLACE, LUSTRE, LIST, (4,))
    service.targets, service.revision = {"union/slow": Path("slow")}, "r2"
    agent.wait_for("union has 1 candidates, revision r2")
    with agent.ask("other", device=device) as conversation:
        answer = conversation.answer
    assert (answer.lustre_form, answer.osts, answer.pool, answer.stripe_count) == (POOL, (), "slow", 0)
