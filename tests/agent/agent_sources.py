"""Programs of tests with sources of the agent in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBSES = ROOT / "libses"
COMMAND = [
    *("c++", "-std=c++20", "-g1", "-pthread", "-I", LIBSES / "agent"),
    *("-I", LIBSES, "-I", LIBSES / "include"),
    *("-DSPDLOG_SHARED_LIB", "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL"),
]
LIBRARIES = ("-lspdlog", "-lfmt", "-lcpp-httplib", "-lssl", "-lcrypto")


def link(program: Path, probe: str | Path, *options: str | Path) -> Path:
    """Compile PROBE, a path or the name of one of ``probes``, with all of the agent but its main program."""
    built = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    objects = sorted((built / "agent/CMakeFiles/ses-agent.dir/Unity").glob("*.o"))
    assert objects, f"no agent was built in {built}: run `make native` first"
    archives = [built / f"{name}/libses_{name}.a" for name in ("core", "segment", "system")]
    parts = [Path(__file__).parent / "probes" / probe, *objects, *options, *archives]
    done = subprocess.run(
        [*COMMAND, "-o", program, *parts, *LIBRARIES],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program
