"""One question to the agent, byte for byte as in ``libses/include/ses/protocol.h``.

Asks what a program's library would ask, and closes without a report, so that the agent takes the
placement back.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from ses_client.peer import peer_uid

MAGIC = 0x51534553
VERSION = 1  # SES_PROTOCOL_VERSION
TYPE_ASK, TYPE_ANSWER = 1, 2
HEADER = struct.Struct("=IHHII")
ASK = struct.Struct("=IIqQII64s16s16x192s")
ANSWER = struct.Struct("=QdQIIII96s640s")


class Status(IntEnum):
    """What the agent can answer (``enum ses_answer_status``)."""

    PLACE = 1
    NOT_MANAGED = 2
    UNAVAILABLE = 3


class BadAnswerError(Exception):
    """Something answered, but not in the agent's protocol."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``element`` is empty unless ``status`` is PLACE; ``listener_uid`` is who listens."""

    status: Status
    element: str
    listener_uid: int


def listener(path: Path, timeout_seconds: float) -> int:
    """Return the uid of the process that listens on a socket; raises OSError."""
    with _connected(path, timeout_seconds) as connection:
        return peer_uid(connection)


def ask(path: Path, device: int, timeout_seconds: float) -> Answer:
    """Ask where a file on ``device`` (an ``st_dev``) should go.

    Raises OSError (TimeoutError among them) when nothing is there or nothing comes back, and
    BadAnswerError when what comes back is not an answer.
    """
    body = ASK.pack(os.major(device), os.minor(device), -1, 0, 0, 0, b"ses-doctor", b"", b"")
    message = HEADER.pack(MAGIC, VERSION, TYPE_ASK, HEADER.size + ASK.size, 0) + body
    with _connected(path, timeout_seconds) as connection:
        uid = peer_uid(connection)
        connection.send(message)
        received = connection.recv(HEADER.size + ANSWER.size + 1)
    if len(received) != HEADER.size + ANSWER.size:
        raise BadAnswerError(f"{len(received)} bytes instead of {HEADER.size + ANSWER.size}")
    magic, version, kind, size, _ = HEADER.unpack_from(received)
    if (magic, version, kind, size) != (MAGIC, VERSION, TYPE_ANSWER, len(received)):
        raise BadAnswerError(f"magic {magic:#x}, version {version}, type {kind}, size {size}")
    fields = ANSWER.unpack_from(received, HEADER.size)
    try:
        status = Status(fields[4])
    except ValueError:
        raise BadAnswerError(f"status {fields[4]}") from None
    element = fields[7].split(b"\0", 1)[0].decode("utf-8", "replace")
    return Answer(status, element if status is Status.PLACE else "", uid)


def _connected(path: Path, timeout_seconds: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(timeout_seconds)
        connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    return connection
