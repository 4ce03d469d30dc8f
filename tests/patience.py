"""Waiting for what happens in the background, with an end."""

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

#: Seconds.  Only a hang uses this up.
PATIENCE = 120.0
#: Seconds between two looks at the most.
LOOK = 0.1
#: Seconds.  What happens within them is no matter of a pause of the machine.
SOON = 0.9

Value = TypeVar("Value")


def wait_until(
    check: Callable[[], Value],
    what: str | Callable[[], object] = "it came about",
    seconds: float = PATIENCE,
    every: float = 0.01,
) -> Value:
    """Wait until `check()` is true; return what it said, or fail saying what was waited for, or what is to be
    seen then.  It is asked ``every`` so many seconds at first, and less often the longer it takes: what is
    asked has work to do, and so have other tests."""
    begun = time.monotonic()
    while not (value := check()):
        waited = time.monotonic() - begun
        if waited > seconds:
            pytest.fail(f"waited {seconds} s in vain: {what() if callable(what) else what}")
        time.sleep(max(every, min(waited / 20, LOOK)))
    return value


def wait_for_answer(
    process: subprocess.Popen[bytes], log: Path, answers: Callable[[], object], seconds: float = PATIENCE
) -> None:
    """Wait until a program that was started answers; fail with its log if it ends before, or never does."""

    def answers_or_ended() -> bool:
        return bool(answers()) or process.poll() is not None

    wait_until(answers_or_ended, log.read_text, seconds)
    assert process.poll() is None, f"it ended with {process.returncode}: {log.read_text()}"


def listens(port: int) -> bool:
    """Whether anybody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def moves(*files: int) -> bool:
    """Write to open files, which hold something then: one in which nothing moves for three seconds is no
    stream until something does, and so long a busy machine may take to look at it."""
    for fd in files:
        os.pwrite(fd, b"x", 0)
    return True
