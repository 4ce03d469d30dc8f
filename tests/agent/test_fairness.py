"""One user who floods the agent: turned away beyond a limit, and nobody else notices."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import program_side as side
import pytest
from patience import wait_until
from running_agent import Agent, Start

NOBODY = 65534
HERE = Path(__file__).parent


def test_user_who_asks_too_fast_is_turned_away_for_a_moment(start: Start) -> None:
    agent = start("--asks-per-second", "5")
    with agent.held():
        asked = [side.connect(agent.socket) for _ in range(100)]
        for connection in asked:
            connection.send(side.ask_message(agent.device))
    placed = sum(is_placed(connection) for connection in asked)
    assert agent.says("asks more than 5 times a second")
    assert 5 <= placed < 100, "a second's worth may come at once"
    wait_until(agent.places, "the user is served again")


def is_placed(connection: socket.socket) -> bool:
    """Whether the question that was sent is answered with a place."""
    with connection:
        try:
            return side.parse_answer(connection.recv(4096)).status == side.PLACE
        except (OSError, AssertionError):  # the connection was closed: the original call
            return False


@pytest.fixture
def prepared(start: Start) -> Agent:
    """An agent that knows its elements."""
    return start(until="union has 2 candidates")


@pytest.fixture
def flood(prepared: Agent) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Three processes of another user that ask, and send rubbish, as fast as they can."""
    script = (
        "import os, socket, sys\n"
        f"sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "import program_side as side\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        f"ask = side.ask_message({prepared.device}, 'flood')\n"
        "held = []\n"
        "sys.stdout.write('x'); sys.stdout.flush()\n"
        "number = 0\n"
        "while True:\n"
        "    number += 1\n"
        "    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)\n"
        "    try:\n"
        f"        connection.connect({prepared.socket.name!r})\n"
        "        connection.send(ask if number % 3 else os.urandom(number % 700 + 1))\n"
        "    except OSError:\n"
        "        pass\n"
        "    held.append(connection)\n"
        "    if len(held) > 300:\n"
        "        held.pop(0).close()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script], cwd=prepared.socket.parent, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.root
def test_flood_of_one_user_shuts_nobody_out(
    flood: list[subprocess.Popen[bytes]], prepared: Agent, tmp_path: Path
) -> None:
    """The kernel's queue of connections is everybody's and may be full for a moment; whoever got through
    is given a place, also when flood and load keep the service from answering.
    """

    def is_created(file: Path) -> bool:
        try:
            conversation = prepared.ask("victim")
        except BlockingIOError:
            return False
        assert conversation.answer.status == side.PLACE
        os.close(conversation.create(file))
        return True

    for number in range(100):
        wait_until(partial(is_created, tmp_path / f"file{number}"), "somebody else gets through")
    assert all(process.poll() is None for process in flood), "the flood went on meanwhile"


@pytest.mark.root
def test_two_users_who_fill_the_agent_keep_no_third_out(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = start("--answer-ms", "5000")
    monkeypatch.chdir(agent.socket.parent)  # pytest closes the folders above
    held: list[socket.socket] = []
    end = time.monotonic() + 60
    try:
        while len(held) % 100 or not agent.says("too many connections"):
            assert time.monotonic() < end, "nothing limits the connections"
            if len(held) == 5000:  # who asks nothing goes after a second: they were not made fast enough
                for connection in held:
                    connection.close()
                held.clear()
            os.seteuid(20001 + len(held) % 2)
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
            held.append(connection)
            try:
                connection.connect(agent.socket.name)
            except BlockingIOError:  # more wait than the kernel's queue holds
                held.pop().close()
                time.sleep(0.01)
            os.seteuid(0)
        assert agent.status() == side.PLACE
    finally:
        os.seteuid(0)
        for connection in held:
            connection.close()
