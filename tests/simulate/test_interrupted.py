"""A simulation in several processes ends at Ctrl-C, which a terminal sends to all of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from patience import wait_until

LONG = ("simulate", "table1", "--users", "6", "--seeds", "100", "--jobs", "2")


def test_an_interrupted_simulation_ends_with_all_its_processes() -> None:
    process = subprocess.Popen(
        [Path(sys.executable).with_name("ses"), *LONG],
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: process.poll() is not None or len(children.read_text().split()) >= 2, "it runs")
        assert process.poll() is None
        for child in children.read_text().split():
            status = Path(f"/proc/{child}/status").read_text()
            blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
            assert blocked & 1 << signal.SIGINT - 1, "an interrupt waits until all workers are made"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "Traceback" not in errors
