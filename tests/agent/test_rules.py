"""Which files are to be placed: what the agent is told comes to every program of the node."""

import os
import subprocess
from pathlib import Path

import program_side as side
import pytest
from claims_program import key_of, make_foreign_segment, owner_of, segment_under
from fake_service import FakeService
from mounts import let_others_in
from patience import wait_until
from ran import ran
from running_agent import Agent, Start

pytestmark = pytest.mark.root

NOBODY, LAST, NOBODY_AT_ALL = 65534, (1 << 32) - 2, (1 << 32) - 1


class Node:
    """Agents on one socket, one after the other, and programs under the library."""

    def __init__(self, start: Start, service: FakeService, union: Path, library: Path, socket: Path) -> None:
        self._start, self._service, self._union = start, service, union
        self._library, self.socket = library, socket

    def begin(self, *options: str) -> Agent:
        agent = self._start("--socket", str(self.socket), *options)
        agent.wait_for("storage system union is mounted")
        return agent

    def _create(self, name: str, uid: int) -> None:
        subprocess.run(
            ["touch", name],
            env={
                "PATH": os.environ["PATH"],
                "LD_PRELOAD": str(self._library),
                "SES_AGENT_SOCKET": str(self.socket),
                "SES_SYNC_MS": "20000",
            },
            cwd=self._union,
            user=uid,
            check=True,
            timeout=60,
        )
        assert (self._union / name).exists()

    def _announced(self) -> set[str]:
        files = (file for request in self._service.announcements() for file in request.body["opened"])
        return {Path(file["path"]).name for file in files if file["path"]}

    def check_placed(self, name: str, uid: int = 0) -> None:
        """Create a file, of which the service must hear."""
        self._create(name, uid)
        wait_until(lambda: name in self._announced(), f"the service heard of {name}")

    def check_left_alone(self, name: str, uid: int = 0) -> None:
        """Create a file, of which the service must not hear, though it does of a later one."""
        self._create(name, uid)
        later = f"later-{name}"
        with side.Conversation(self.socket, side.ask_message(self._union.stat().st_dev, "later")) as asked:
            (asked.answer.stage / later).touch()
            os.link(asked.answer.stage_in_union / later, self._union / later)
            fd = os.open(self._union / later, os.O_RDWR)
            handle = os.open(self._union / later, os.O_PATH)
            asked.report(side.CREATED, status=os.fstat(fd), fd=fd, descriptors=(handle,))
            os.close(handle)
            os.close(fd)
        wait_until(lambda: later in self._announced(), "the service heard of the later file")
        assert name not in self._announced()


@pytest.fixture
def node(start: Start, service: FakeService, union: Path, public_wrapper: Path, tmp_path: Path) -> Node:
    let_others_in(tmp_path)
    for directory in (union, *union.parent.glob("b?")):
        directory.chmod(0o1777)
    return Node(start, service, union, public_wrapper, tmp_path / "agent.sock")


def segment(node: Node) -> int | None:
    return segment_under(key_of(node.socket, NOBODY_AT_ALL))


def test_rules_hold_for_programs_of_every_user(node: Node) -> None:
    node.begin("--exclude", "*.tmp", "--exclude", f"{node._union}/x/**", "--include", "a*", "--include", "b*")
    for uid in (0, NOBODY, LAST):
        node.check_placed(f"a{uid}", uid)
        node.check_placed(f"b{uid}", uid)
        node.check_left_alone(f"a{uid}.tmp", uid)
        node.check_left_alone(f"c{uid}", uid)


def test_programs_are_excluded_by_name(node: Node) -> None:
    node.begin("--exclude-program", "tou?h")
    node.check_left_alone("file")


def test_rules_go_with_the_agent_and_without_rules_there_is_no_segment(node: Node) -> None:
    agent = node.begin("--exclude", "*")
    assert segment(node) is not None
    assert agent.stop() == 0
    assert segment(node) is None
    node.begin()
    assert segment(node) is None
    node.check_placed("file")


def test_rules_that_a_killed_agent_left_are_taken_over_or_replaced(node: Node) -> None:
    agent = node.begin("--exclude", "*.tmp")
    left = segment(node)
    agent.process.kill()
    agent.process.wait()
    assert segment(node) == left
    agent = node.begin("--exclude", "*.tmp")
    assert segment(node) == left
    agent.process.kill()
    agent.process.wait()
    agent = node.begin("--exclude", "*.dat")
    assert segment(node) != left
    node.check_placed("file.tmp")
    node.check_left_alone("file.dat")
    agent.process.kill()
    agent.process.wait()
    node.begin()
    wait_until(lambda: segment(node) is None, "what was left is gone")


def test_segment_that_somebody_else_put_in_the_place_of_the_rules_is_replaced(node: Node) -> None:
    foreign = make_foreign_segment(node.socket, NOBODY, NOBODY_AT_ALL)
    node.begin("--exclude", "*.part")
    made = segment(node)
    assert made not in (None, foreign)
    assert owner_of(made) == (0, 0, 0o644)
    node.check_left_alone("file.part", NOBODY)


@pytest.mark.parametrize("pattern", ["", "a:b", "a\nb"])
def test_what_is_no_pattern_is_refused(binary: Path, pattern: str) -> None:
    done = ran([binary, "--service", "http://127.0.0.1:1", "--exclude", pattern], code=2)
    assert "pattern" in done.stderr


def test_rules_that_do_not_fit_are_refused(binary: Path, tmp_path: Path) -> None:
    patterns = [part for number in range(90) for part in ("--exclude", f"{number}-" + "x" * 100)]
    done = ran([binary, "--service", "http://127.0.0.1:1", "--socket", tmp_path / "sock", *patterns], code=1)
    assert "too long together" in done.stderr
