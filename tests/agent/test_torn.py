"""What agent and programs share is never seen half-written, though nobody waits for anybody."""

import re
from pathlib import Path

from agent_sources import BUILD, LIBSES, link
from ran import ran

SECONDS = "3"


def test_no_program_sees_what_never_was(tmp_path: Path) -> None:
    """tests/arm64 runs the same under emulation."""
    library = [BUILD / "src/libses_place.a", "-I", LIBSES / "src"]
    program = link(tmp_path / "torn", "torn.cpp", *library)
    done = ran([program, SECONDS])
    assert min(map(int, re.findall(r"(\d+) (?:looks|writings|claims)", done.stdout))) > 100, done.stdout
