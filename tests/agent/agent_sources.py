"""Programs of tests with sources of the agent in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBSES = ROOT / "libses"
COMMAND = [
    *("c++", "-std=c++20", "-g1", "-pthread", "-I", LIBSES / "agent"),
    *("-I", LIBSES, "-I", LIBSES / "include"),
    *("-DSPDLOG_SHARED_LIB", "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL"),
]
LOGGING = ("-lspdlog", "-lfmt")


def link(program: Path, probe: Path, *options: str | Path) -> Path:
    """Compile PROBE, and link it with all that the agent was built from but its main program."""
    built = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    objects = sorted((built / "agent/CMakeFiles/ses-agent.dir/Unity").glob("*.o"))
    assert objects, f"no agent was built in {built}: run `make native` first"
    libraries = [
        built / "core/libses_core.a",
        built / "segment/libses_segment.a",
        built / "net/libses_net.a",
        *LOGGING,
    ]
    return _compiled(program, probe, *objects, *options, *libraries, "-lcpp-httplib", "-lssl", "-lcrypto")


def build(program: Path, probe: str | Path, sources: Iterable[str], *options: str | Path) -> Path:
    """Compile PROBE with SOURCES of the agent (no endings) as one unit, so that headers are read once."""
    agent = LIBSES / "agent"
    place = Path(__file__).parent / "probes"
    unit = program.with_suffix(".cpp")
    parts = [agent / f"{name}.cpp" for name in sources]
    unit.write_text("".join(f'#include "{one}"\n' for one in (*parts, place / probe)))
    return _compiled(program, unit, *options, *LOGGING)


def _compiled(program: Path, *parts: str | Path) -> Path:
    done = subprocess.run(
        [*COMMAND, "-o", program, *parts], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return program
