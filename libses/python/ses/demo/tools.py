"""Running the system's own tools: ``losetup``, ``mount``, ``mkfs.ext4`` and the like."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ses.demo.faults import DemoError

_LIMIT_SECONDS = 60.0


def tool(*words: str | Path, seconds: float = _LIMIT_SECONDS, text: str = "", **options: Any) -> str:
    """Run a tool that reads ``text``, and return what it printed; raises DemoError with its last words.

    The tool runs in a session of its own, so that Ctrl-C at the terminal reaches only us.  ``options`` are
    those of :func:`subprocess.run`.
    """
    argv = [str(word) for word in words]
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            argv, input=text, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            start_new_session=True, **options,
        )  # fmt: skip
    except FileNotFoundError:
        raise DemoError(f"{argv[0]} is not installed. Run: make install") from None
    except subprocess.TimeoutExpired:
        raise DemoError(f"{_shown(argv)} did not end within {seconds:g} s.") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise DemoError(f"{_shown(argv)} failed: {lines[-1] if lines else f'status {done.returncode}'}")
    return done.stdout.strip()


def _shown(argv: Sequence[str]) -> str:
    text = " ".join(argv)
    return text if len(text) <= 120 else text[:117] + "..."
