"""The writer that keeps a branch busy: bounded in room, as long-lived as its parent, never an orphan."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

from patience import wait_until
from ses.demo import load as load_module


def running(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""  # empty: a zombie nobody has waited for
    except FileNotFoundError:
        return False


def _written(pid):
    return int(Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])


def test_it_takes_no_more_room_than_its_file(tmp_path):
    target = tmp_path / "load"
    parent = str(os.getpid())
    with subprocess.Popen([sys.executable, "-m", "ses.demo.load", str(target), "3", "0", parent]) as load:
        wait_until(lambda: load.poll() is not None or _written(load.pid) >= 20_000_000, "it writes")
        assert load.poll() is None
        assert 0 < target.stat().st_size <= 3_000_000
        load.terminate()


def test_it_has_no_end_of_its_own(tmp_path, monkeypatch):
    """Days go by for it between two blocks, and it goes on until its parent is another."""
    parents = iter([7] * 100 + [1])
    days = itertools.count(0.0, 86400.0)
    monkeypatch.setattr(load_module.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(load_module.time, "monotonic", lambda: next(days))
    load_module.main(str(tmp_path / "load"), 2, 1.0, 7)
    assert next(parents, None) is None, "it ended before its parent did"


def test_one_started_late_does_not_take_another_for_its_parent(tmp_path):
    load = [sys.executable, "-m", "ses.demo.load", str(tmp_path / "load"), "2", "0", "1"]
    assert subprocess.run(load, timeout=60).returncode == 0


def test_it_ends_when_its_parent_is_gone(tmp_path):
    load = [sys.executable, "-m", "ses.demo.load", str(tmp_path / "load"), "2", "1"]
    start = f"subprocess.Popen([*{load!r}, str(os.getpid())])"
    parent = f"import os, subprocess; print({start}.pid, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        child = int(starter.stdout.readline())
        wait_until(lambda: (tmp_path / "load").exists())
        starter.kill()
    wait_until(lambda: not running(child), "its parent is gone, and so is the writer")
