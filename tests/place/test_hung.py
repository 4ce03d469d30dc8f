"""A directory whose mount hangs is left out; the others are chosen from, and nobody waits for it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mounts import served, stopped
from places_program import Ses
from ses.place.directories import PATIENCE

pytestmark = pytest.mark.root


def test_only_a_directory_that_hangs_is_left_out(
    ses: Ses, disks: Callable[..., list[Path]], tmp_path: Path
) -> None:
    (sound,) = disks(16)
    with served(tmp_path / "union", tmp_path / "below") as server, stopped(server):
        began = time.monotonic()
        seen = ses.json("place", "--among", tmp_path / "union", sound)  # returns when its output is closed
        took = time.monotonic() - began
        left = subprocess.run(["pgrep", "-f", f"among {tmp_path}/union"], capture_output=True, check=False)
        assert seen["directory"] == str(sound)
        reason = f"it did not answer within {PATIENCE:g} s"
        assert {"directory": str(tmp_path / "union"), "reason": reason} in seen["why"]
        assert took < 10 * PATIENCE
        assert left.stdout == b"", "the process that asked is gone"
