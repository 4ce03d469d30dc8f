"""Programs of tests with sources of the agent in them."""

from pathlib import Path

from built import BUILD
from ran import ran

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
    objects = sorted((BUILD / "agent/CMakeFiles/ses-agent.dir/Unity").glob("*.o"))
    assert objects, f"no agent was built in {BUILD}: run `make native` first"
    archives = [BUILD / f"{name}/libses_{name}.a" for name in ("core", "segment", "system")]
    archives.append(BUILD / "src/libses_layout.a")
    parts = [Path(__file__).parent / "probes" / probe, *objects, *options, *archives]
    ran([*COMMAND, "-o", program, *parts, *LIBRARIES])
    return program
