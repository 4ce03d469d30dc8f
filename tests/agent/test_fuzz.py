"""Messages nobody would write, sent to a running agent."""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import program_side as side
import pytest
from claims_program import Table
from patience import wait_until
from running_agent import Agent


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    """Of all kinds a program could send."""
    with ExitStack() as closing:
        fds = [
            os.open(tmp_path, os.O_PATH),
            os.open(tmp_path, os.O_RDONLY),
            os.open("/dev/null", os.O_RDWR),
            os.open("/proc/self/status", os.O_PATH),
            *os.pipe(),
        ]
        for fd in fds:
            closing.callback(os.close, fd)
        yield fds


def test_no_conversation_breaks_the_agent(agent: Agent, descriptors: list[int]) -> None:
    """Random bytes and sizes, several descriptors, halves of messages, and an end at every point."""
    dice = random.Random(4711)
    good = [side.ask_message(agent.device, "app"), side.ask_message(agent.device, "other", expected_bytes=5)]
    held = len(list(Path(f"/proc/{agent.process.pid}/fd").iterdir()))
    for _ in range(1500):
        with side.connect(agent.socket) as connection, suppress(OSError):
            connection.settimeout(1)
            for _ in range(dice.randrange(4)):
                say_something(connection, dice, good, descriptors)
            if dice.randrange(3) == 0:
                connection.shutdown(dice.choice([socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR]))
    assert agent.status() == side.PLACE
    assert agent.process.poll() is None
    wait_until(
        lambda: (
            len(list(Path(f"/proc/{agent.process.pid}/fd").iterdir())) <= held + 10
        ),  # its own connections to the service
        "no descriptor is left in the agent",
    )
    table = Table(agent.socket)
    wait_until(lambda: not any(table.own().values()), "nothing is counted any more")
    table.detach()


def say_something(
    connection: socket.socket, dice: random.Random, good: list[bytes], descriptors: list[int]
) -> None:
    message = bytearray(dice.choice(good))
    match dice.randrange(5):
        case 0:
            message = bytearray(dice.randbytes(dice.randrange(1, 2000)))
        case 1:
            message[dice.randrange(len(message))] ^= 1 << dice.randrange(8)
        case 2:
            del message[dice.randrange(1, len(message)) :]
        case 3:
            with suppress(TimeoutError):
                connection.send(bytes(message))
                answer = connection.recv(4096)
                message = bytearray(dice.randbytes(64))
                if answer and dice.randrange(2):
                    placement = side.parse_answer(answer).placement
                    message = bytearray(
                        side.report_message(placement, dice.randrange(4), dice.randrange(1 << 40))
                    )
        case _:
            pass
    sent = dice.sample(descriptors, dice.randrange(len(descriptors)))
    socket.send_fds(connection, [bytes(message)], sent)
