"""The guardian, which takes calls from a worker that is slow, lets go on no call but the one it took."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from mergerfs_union import Union
from program_ways import Programs

MOST_SECONDS = 60
DELAYED = """#!/bin/sh
LD_PRELOAD={delays} exec {real} "$@"
"""


def test_the_next_call_in_the_same_place_stays_the_worker_s(
    union: Union, ses_run: Path, programs: Programs, tmp_path: Path
) -> None:
    """Also where the worker has made its file by then."""
    place, markers = tmp_path / "run", tmp_path / "markers"
    place.mkdir()
    markers.mkdir()
    shutil.copy(ses_run, place)
    script, real = place / "ses-supervisor", ses_run.with_name("ses-supervisor")
    script.write_text(DELAYED.format(delays=programs.build("preloaded", "delays.c"), real=real))
    script.chmod(0o755)
    command = [place / "ses-run", "--supervise", programs.build("static", "loop.c"), union.path, "-1"]
    with subprocess.Popen(
        [str(part) for part in command],
        env=union.environment(
            library=False, SES_SYNC_MS="100", SES_LOG=str(tmp_path / "log"), DELAYS=str(markers)
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + MOST_SECONDS
        while not (markers / "answered").exists() and process.poll() is None:
            assert time.monotonic() < deadline, "it never came to it"
            time.sleep(0.01)
        out, err = process.communicate("end\n", timeout=MOST_SECONDS)
    assert (process.returncode, err) == (0, ""), out
    assert {path.name for path in markers.iterdir()} == {"slow", "taken", "made", "answered"}
