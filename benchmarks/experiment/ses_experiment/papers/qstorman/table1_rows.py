"""The rows of Table 1 side by side: each number of users in a process of its own, on branches of its own.

A run of the paper's form mostly waits, so a machine has room for three.  They keep their runs in one file.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import started

_LOOK_SECONDS = 1.0
_END_SECONDS = 300.0  # a row undoes what it made


def side_by_side(
    users: Sequence[int],
    options: Sequence[str],
    file: Path,
    interrupts: Interrupts,
    progress: Callable[[str], None],
) -> None:
    """Run ``ses experiment table1`` for each number of users at once; raises DemoError, StoppedError.

    ``options`` are further ones; finished runs come into ``file``.
    """
    with ExitStack() as undo:
        rows = []
        for count in users:
            argv = [sys.argv[0], "experiment", "table1", "--users", str(count), "--resume", str(file)]
            errors = undo.enter_context(Path(f"{file}.{count}-users.log").open("w"))
            rows.append(
                started([*argv, *options], undo, _END_SECONDS, stdout=subprocess.DEVNULL, stderr=errors)
            )
        seen, running = -1, True
        while running:
            interrupts.pause(_LOOK_SECONDS)
            running = any(row.poll() is None for row in rows)
            done = file.read_text("utf-8").count('"run"') if file.exists() else 0
            if done != seen:
                progress(f"{done} runs are finished")
                seen = done
        for count, row in zip(users, rows, strict=True):
            if row.returncode:
                raise DemoError(
                    f"The row of {count} users ended without a result: see {file}.{count}-users.log."
                )
            Path(f"{file}.{count}-users.log").unlink()
