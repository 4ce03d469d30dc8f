"""Programs of tests with sources of the agent in them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

LIBSES = Path(__file__).resolve().parents[2] / "libses"


def build(program: Path, probe: str | Path, sources: Iterable[str], *options: str | Path) -> Path:
    """Compile PROBE with SOURCES of the agent (no endings) as one unit, so that headers are read once."""
    agent = LIBSES / "agent"
    place = Path(__file__).parent / "probes"
    unit = program.with_suffix(".cpp")
    parts = [agent / f"{name}.cpp" for name in sources]
    unit.write_text("".join(f'#include "{one}"\n' for one in (*parts, place / probe)))
    libraries = ["-DSPDLOG_SHARED_LIB", "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL", "-lspdlog", "-lfmt"]
    command = ["c++", "-std=c++20", "-g1", "-pthread", "-I", agent, "-I", LIBSES / "include"]
    done = subprocess.run(
        [*command, "-o", program, unit, *options, *libraries],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program
