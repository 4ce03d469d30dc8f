"""What attackers ask with: HTTP at a UNIX socket or port, the agent's socket, programs under the library.

Standard library only: attackers run as other users, by the machine's own Python.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ASK = struct.Struct("=IHHII II q Q II 64s 16s IIII" + "IIdd" * 8)  # libses/include/ses/protocol.h
_REPORT = struct.Struct("=IHHII Q QQ I i i I")
_MAGIC, _VERSION, _IS_ASK, _IS_REPORT, _CREATED = 0x51534553, 6, 1, 3, 1


@dataclass(frozen=True)
class Target:
    """Where the parts of the site are, and what is the attacker's own."""

    service_socket: str
    service: tuple[str, int]
    monitor: tuple[str, int]
    portal: tuple[str, int]
    agent_socket: str
    union: str
    branches: list[str]
    library: str
    neighbour: int  # the process of an honest user
    frozen: str  # a program whose processes nobody can look at
    hanging: str  # a directory for it
    own: str  # a directory of the attacker's in the union
    user: str

    @classmethod
    def read(cls, path: str) -> Target:
        """Read it as the site wrote it."""
        fields = json.loads(Path(path).read_text())
        places = {name: tuple(fields[name]) for name in ("service", "monitor", "portal")}
        return cls(**fields | places)


class _Local(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def local(target: Target, seconds: float = 5.0) -> http.client.HTTPConnection:
    """Return a connection to the service at its socket, where the kernel names the caller."""
    return _Local(target.service_socket, seconds)


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> int:
    """Ask, and return the status of the answer; 0 for none."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status


def opened(place: str | tuple[str, int], seconds: float = 5.0) -> socket.socket | None:
    """Return a connection to a UNIX socket or a port; none where it is refused."""
    connection = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
    connection.settimeout(seconds)
    try:
        connection.connect(place)
    except OSError:
        connection.close()
        return None
    return connection


@contextmanager
def held(places: Sequence[str | tuple[str, int]], seconds: float) -> Iterator[list[socket.socket]]:
    """Yield connections to all places that take one; they are held for so long after the block."""
    with ExitStack() as stack:
        connections = [connection for place in places if (connection := opened(place)) is not None]
        for connection in connections:
            stack.enter_context(connection)
        yield connections
        time.sleep(seconds)


def question(directory: str, *, weight: float = 1.0, bytes_: int = -1) -> bytes:
    """Return the agent's question for a file in a directory."""
    device = Path(directory).stat().st_dev
    needs = [3, 0, 1.0, weight] + [0, 0, 0.0, 0.0] * 7
    return _ASK.pack(
        *(_MAGIC, _VERSION, _IS_ASK, _ASK.size, 0),
        *(os.major(device), os.minor(device), bytes_, 0, 0, 1, b"attacker", b"", 0, 0, 0, 0),
        *needs,
    )


def report(answer: bytes, fd: int, of_fd: int) -> bytes:
    """Return the report that the file of FD was created by a descriptor of that number."""
    if not answer:  # the agent hung up
        raise ConnectionError
    placement = struct.unpack_from("=Q", answer, 16)[0]
    status = os.fstat(fd)
    head = (_MAGIC, _VERSION, _IS_REPORT, _REPORT.size, 0)
    return _REPORT.pack(*head, placement, status.st_dev, status.st_ino, _CREATED, 0, of_fd, 0)


def agent(target: Target) -> socket.socket | None:
    """Return a connection to the agent."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(2.0)
    with suppress(OSError):
        connection.connect(target.agent_socket)
        return connection
    connection.close()
    return None


def under_library(target: Target, program: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    """Start a Python program under the preload library."""
    environment = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": target.library,
        "SES_AGENT_SOCKET": target.agent_socket,
        **variables,
    }
    return subprocess.Popen(["/usr/bin/python3", "-I", "-c", program, *arguments], env=environment)
