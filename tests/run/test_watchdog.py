"""The watchdog, which takes calls from a worker that is slow, lets go on no call but the one it took."""

import subprocess
from pathlib import Path

from mergerfs_union import Union
from patience import wait_until
from preloaded_supervisor import with_preloaded
from program_ways import Programs
from supervisors import MAX_SECONDS, wait_for_end


def test_the_next_call_in_the_same_place_stays_the_worker_s(
    union: Union, ses_run: Path, programs: Programs, tmp_path: Path
) -> None:
    """Also where the worker has made its file by then."""
    markers = tmp_path / "markers"
    markers.mkdir()
    delayed = with_preloaded(ses_run, programs.build("preloaded", "delays.c"), tmp_path / "run")
    command = [delayed, "--supervise", programs.build("static", "loop.c"), union.path, "-1"]
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
        wait_until(
            lambda: (markers / "answered").exists() or process.poll() is not None, "it never came to it"
        )
        out, err = process.communicate("end\n", timeout=MAX_SECONDS)
    wait_for_end(union)
    assert (process.returncode, err) == (0, ""), out
    assert {path.name for path in markers.iterdir()} == {"slow", "taken", "made", "answered"}
