"""Trying a program on the first megabytes of a file, on the node that holds it and here.

The program gets them as standard input, under the name ``/dev/stdin`` in place of ``{}``; what it prints is
counted and dropped.  Other effects it has are real.  It is started once more here without input, to know what
starting it takes.  The connection to the node can be used again, for the program itself.

:func:`read_rate` reads them here and runs nothing.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from ses.near.execution.connection import Connection
from ses.near.execution.conversation import Conversation, Ended
from ses.near.execution.executors import HERE
from ses.near.execution.run import Piece, Run
from ses.near.history import START_SECONDS, Seen

SAMPLE_BYTES = 16 << 20
_READ_SECONDS = 0.5
_READ_PIECE = 1 << 20
_MIN_SECONDS = 1e-6
_MIN_CPU = 1e-4  # seconds; what is less is not measured


def sample(there: Run, path_here: str, path_there: str, size: int, connection: Connection) -> Seen:
    """Return what the command of a run does with its data; ``connection``: to the run's node.

    Raises NotStartedError, LostError.
    """
    length = min(size, SAMPLE_BYTES)
    argv = tuple("/dev/stdin" if word == "{}" else word for word in there.argv)
    local = replace(there, argv=argv, node="here", executor=HERE, rsh=(), files=())
    near = _held(replace(there, argv=argv, files=(), piece=Piece(path_there, 0, length)), connection)
    with Connection() as own:
        empty = _held(replace(local, piece=Piece(path_here, 0, 0)), own)
        here = _held(replace(local, piece=Piece(path_here, 0, length)), own)
    used = max(here.cpu_seconds - empty.cpu_seconds, _MIN_CPU)
    return Seen(
        returned=max(0, near.returned - empty.returned) / length,
        cpu_seconds_per_byte=used / length,
        slowdown=max(1.0, near.cpu_seconds / max(here.cpu_seconds, _MIN_CPU)),
        cores=near.cores,
        start_seconds=START_SECONDS if near.start_seconds is None else near.start_seconds,
        memory=near.memory,
    )


def read_rate(file: Path) -> float:
    """Return the bytes per second at which the first megabytes of a file come here; ends after half a second.

    Raises OSError.
    """
    done, began = 0, time.monotonic()
    with file.open("rb", buffering=0) as opened:
        while done < SAMPLE_BYTES and (data := opened.read(_READ_PIECE)):
            done += len(data)
            if time.monotonic() - began > _READ_SECONDS:
                break
    return done / max(time.monotonic() - began, _MIN_SECONDS)


def _held(run: Run, connection: Connection) -> Ended:
    return Conversation(run, connection).hold(_drop, _drop, None)


def _drop(_data: bytes) -> None:
    return
