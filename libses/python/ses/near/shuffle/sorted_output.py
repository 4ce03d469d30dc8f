"""Runs a program on a node for ``ses map-near --shuffle``, and sorts what it prints into a file there.

Needs Python 3.8 and GNU sort, and nothing else: it is sent as text.  Lines are ordered by the bytes of their
key, then by all bytes, as ``LC_ALL=C sort`` does; a key is the N-th word between blanks, or (0) the whole
line.  What is printed is a line of JSON: bytes of the file and keys of it, or why there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from typing import Any

SAMPLES = 64
KEY_BYTES = 256  # of a sampled key: a beginning divides lines as well
FAILED = 255


class Failed(Exception):
    """What was asked for cannot be done; the text says why."""


def key_of(line: bytes, field: int) -> bytes:
    """Return what a line is ordered by."""
    if field == 0:
        return line.rstrip(b"\n")
    words = [word for word in line.rstrip(b"\n").replace(b"\t", b" ").split(b" ") if word]
    return words[field - 1] if len(words) >= field else b""


def sort(field: int, *options: str) -> list[str]:
    """Return the command that sorts by the key."""
    return ["sort", *([f"-k{field}b,{field}"] if field else []), *options]


def in_bytes() -> dict[str, str]:
    """Return the environment in which sort compares bytes."""
    return {**os.environ, "LC_ALL": "C"}


def sampled(path: Path, field: int) -> dict[str, Any]:
    """Return the size of a sorted file, and keys of lines evenly spread over it."""
    size, keys = path.stat().st_size, []
    with path.open("rb") as file:
        for number in range(min(SAMPLES, size)):
            file.seek(size * number // SAMPLES)
            if number:
                file.readline()
            line = file.readline()
            if line:
                keys.append(key_of(line, field)[:KEY_BYTES].hex())
    return {"size": size, "keys": keys}


def run_sorted(folder: str, task: str, field: int, memory: str, argv: list[str]) -> int:
    """Run a program, sort what it prints into the folder, and report that; returns its status."""
    path = Path(folder) / task
    try:
        program = subprocess.Popen(argv, stdout=subprocess.PIPE)
    except OSError as error:
        raise Failed(f"{argv[0]}: {error.strerror}") from None
    options = ("-S", memory, "-T", folder, "-o", str(path))
    sorting = subprocess.Popen(sort(field, *options), stdin=program.stdout, env=in_bytes())
    assert program.stdout is not None
    program.stdout.close()
    if sorting.wait():
        program.kill()
        raise Failed("sort failed; is there room in TMPDIR?")
    status = program.wait()
    print(json.dumps(sampled(path, field)))
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    folder, task, field, memory, *argv = sys.argv[1:]
    try:
        sys.exit(run_sorted(folder, task, int(field), memory, argv))
    except (Failed, OSError) as reason:
        print(json.dumps({"failed": str(reason)}))
        sys.exit(FAILED)
