"""Running the system's own tools: ``losetup``, ``mount``, ``mkfs.ext4`` and the like."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from ses.demo.faults import DemoError

_LIMIT_SECONDS = 60.0


def tool(*argv: str) -> str:
    """Run a tool and return what it printed; raises DemoError with its last words if it fails.

    The tool runs in a session of its own, so that Ctrl-C at the terminal reaches only us.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_SECONDS,
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise DemoError(f"{argv[0]} is not installed. Run: make install") from None
    except subprocess.TimeoutExpired:
        raise DemoError(f"{_shown(argv)} did not end within {_LIMIT_SECONDS:g} s.") from None
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise DemoError(f"{_shown(argv)} failed: {words[-1] if words else f'status {done.returncode}'}")
    return done.stdout.strip()


def _shown(argv: Sequence[str]) -> str:
    text = " ".join(argv)
    return text if len(text) <= 120 else text[:117] + "..."
