"""What agent and programs share is never seen half-written, though nobody waits for anybody."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from agent_sources import BUILD, LIBSES, link

SECONDS = "3"


def test_no_program_sees_what_never_was(tmp_path: Path) -> None:
    """tests/arm64 runs the same under emulation."""
    library = [BUILD / "src/libses_place.a", "-I", LIBSES / "src"]
    program = link(tmp_path / "torn", "torn.cpp", *library)
    done = subprocess.run([program, SECONDS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert min(map(int, re.findall(r"(\d+) (?:looks|writings|claims)", done.stdout))) > 100, done.stdout
