"""Programs that a test runs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Done = subprocess.CompletedProcess[str]


def ran(command: Sequence[str | Path], *, code: int | None = 0, **options: Any) -> Done:
    """Run a program, for as long as the test may take, and return what it said, as text.

    It must end with this status; ``None``: with any.
    """
    done = subprocess.run(command, check=False, **{"capture_output": True, "text": True, **options})
    said = f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert code in (None, done.returncode), said
    return done
