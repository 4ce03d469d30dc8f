"""The writer that keeps a branch busy: bounded in room and time, and never an orphan."""

import subprocess
import sys
import time
from pathlib import Path

from ses.demo.load import main


def running(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""  # empty: a zombie nobody has waited for
    except FileNotFoundError:
        return False


def test_it_takes_no_more_room_than_its_file(tmp_path):
    main(str(tmp_path / "load"), 3, 0.0, 2.0)
    assert 0 < (tmp_path / "load").stat().st_size <= 3_000_000


def test_it_ends_when_its_parent_is_gone(tmp_path):
    load = [sys.executable, "-m", "ses.demo.load", str(tmp_path / "load"), "2", "1", "600"]
    parent = f"import subprocess; print(subprocess.Popen({load!r}).pid, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        child = int(starter.stdout.readline())
        deadline = time.monotonic() + 60
        while not (tmp_path / "load").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        starter.kill()
    while running(child):
        assert time.monotonic() < deadline, "the writer outlives its parent"
        time.sleep(0.05)
