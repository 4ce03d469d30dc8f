"""Something that listens where the agent should: answers as the protocol says, or as a test wants.

Serves connections until left, each with one ``reply`` (``None``: never answer).
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACE, NOT_MANAGED, UNAVAILABLE = 1, 2, 3


def answer(status: int, element: str = "") -> bytes:
    """The bytes of struct ses_answer, laid out here independently of the command's own code."""
    size = 16 + 40 + 96 + 320 + 320
    header = struct.pack("=IHHII", 0x51534553, 1, 2, size, 0)
    head = struct.pack("=QdQIIII", 7, 0.0, 0, 0, status, 1, 0)
    return header + head + element.encode().ljust(96, b"\0") + bytes(640)


@contextmanager
def listening(path: Path, reply: bytes | None, mode: int = 0o666) -> Iterator[list[bytes]]:
    """Listen on ``path``; yields the list of questions that came."""
    asked: list[bytes] = []
    leaving = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(path))
        path.chmod(mode)
        server.listen(8)
        server.settimeout(0.05)

        def serve() -> None:
            held = []
            while not leaving.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                connection.settimeout(60)
                held.append(connection)
                try:
                    question = connection.recv(4096)
                except (TimeoutError, ConnectionError):
                    continue
                if question:
                    asked.append(question)
                    if reply is not None:
                        connection.send(reply)
            for connection in held:
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            leaving.set()
            thread.join()
