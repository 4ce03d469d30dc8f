"""The fake that stands in for the agent ends when it is told to."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fake_agent import ASK, ASK_BYTES, PATIENCE, Ask, FakeAgent, header_of
from patience import wait_until


def test_it_can_be_closed_while_the_last_conversation_ends(tmp_path: Path) -> None:
    """Told to end before it sees that end, it still says that all conversations are over."""
    fake = FakeAgent(tmp_path / "agent.sock", tmp_path, [])
    asked, released = threading.Event(), threading.Event()

    def hang_up(_: Ask, __: int) -> bytes:
        asked.set()
        released.wait(PATIENCE)
        return b""

    fake.reply = hang_up
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as program, ThreadPoolExecutor() as threads:
        program.connect(str(fake.path))
        program.send(header_of(ASK, ASK_BYTES).ljust(ASK_BYTES, b"\0"))
        assert asked.wait(PATIENCE)
        closed = threads.submit(fake.close)
        wait_until(fake.is_waited_for)
        released.set()
        closed.result(PATIENCE * 3)
