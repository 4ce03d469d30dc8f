"""What is fuzzed, of which sources each target is built, and from which inputs it starts.

A target is a file of `targets/` with `LLVMFuzzerTestOneInput`.  Run as a program, this builds all of them
with clang into the folder that is named: `python tests/fuzz/fuzz_targets.py build/fuzz`.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBSES = ROOT / "libses"
HERE = Path(__file__).parent
AGENT = tuple(sorted(path for path in (LIBSES / "agent").iterdir() if path.is_dir()))  # without main.cpp
CORE = tuple(f"core/{path.name}" for path in sorted((LIBSES / "core").glob("*.c")))
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1", "-pthread")


@dataclass(frozen=True)
class Target:
    name: str
    sources: tuple[str, ...]  # below libses
    includes: tuple[str, ...] = ()  # below libses
    libraries: tuple[str, ...] = ()
    place: Path = HERE / "targets"
    seeds: Path | None = None  # seeds/NAME
    limits: tuple[str, ...] = ()

    @property
    def source(self) -> Path:
        return next(iter(sorted(self.place.glob(f"{self.name}.c*"))))

    @property
    def corpus(self) -> Path:
        return self.seeds or HERE / "seeds" / self.name


def agent(name: str, *limits: str) -> Target:
    sources = (*CORE, "system/munge.c", "segment/segment.c")
    libraries = ("spdlog", "fmt", "cpp-httplib", "ssl", "crypto", "dl", "stdc++")
    return Target(name, sources, ("agent", "src"), libraries, limits=limits)


def offload(name: str, *included: str) -> Target:
    """All of the library but the files that the target includes."""
    parts = sorted(path.name for path in (LIBSES / "extras/offload").glob("*.c") if path.name not in included)
    sources = (*(f"extras/offload/{part}" for part in parts), "api/command.c")
    return Target(name, sources, ("extras/offload", "extras/include", "api"), ("zmq", "msgpackc"))


TARGETS = (
    agent("agent_answers"),
    agent("agent_claims"),
    agent("agent_connections", "-detect_leaks=0"),  # but at the end, when its threads have ended
    agent("agent_receive"),
    agent("agent_socket"),
    Target(
        "layout_fuzzer",
        ("src/lustre/layout.c",),
        ("src",),
        place=ROOT / "tests/lustre/fuzz",
        seeds=ROOT / "tests/lustre/corpus",
    ),
    offload("offload"),
    offload("offload_client", "start.c"),
    Target(
        "share",
        (
            *(f"extras/share/{name}.c" for name in ("items", "lock", "records", "region", "values")),
            *(f"extras/share/remote/{name}.c" for name in ("memory", "proof", "remote")),
            *("src/runtime/self.c", "segment/segment.c", "extras/net/tcp.c", "system/munge.c"),
        ),
        ("extras/share", "extras/include", "extras", "src", "."),
        ("dl",),
    ),
    Target(
        "slurm",
        (
            *("slurm/request.c", "slurm/published.c", "src/settings/require.c"),
            *("src/settings/require_wrong.c", "src/rules/pattern.c"),
        ),
        ("slurm", "src", "."),
        ("m",),
    ),
)


def build(targets: tuple[Target, ...], place: Path) -> None:
    """Make the programs PLACE/NAME."""
    place.mkdir(parents=True, exist_ok=True)
    common = ["clang-14", *CHECKS, "-D_GNU_SOURCE", f"-I{LIBSES}", f"-I{LIBSES / 'include'}"]
    common += [f"-I{HERE / 'targets'}", "-fsanitize=fuzzer-no-link"]
    cplusplus = ["-std=c++20", f"-I{LIBSES / 'agent'}"]
    cplusplus += ['-DSES_AGENT_VERSION="fuzz"', *flags_of("spdlog", "cpp-httplib")]
    of_agent = any(target.name.startswith("agent") for target in targets)
    sources = {place / f"agent-{part.name}.o": as_one(part, place) for part in AGENT if of_agent}
    objects = list(sources)
    sources |= {
        place / f"{target.name}.o": target.source for target in targets if target.source.suffix == ".cpp"
    }
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as compiling:
        commands = ([*common, *cplusplus, "-c", source, "-o", made] for made, source in sources.items())
        list(compiling.map(run, commands))
    for target in targets:
        in_cplusplus = target.source.suffix == ".cpp"
        command: list[str | Path] = [*common, "-std=gnu11", "-fno-math-errno", "-o", place / target.name]
        command += [f"-I{LIBSES / include}" for include in target.includes]
        command += [place / f"{target.name}.o", *objects] if in_cplusplus else [target.source]
        command += [LIBSES / source for source in target.sources]
        command += ["-fsanitize=fuzzer", "-fsanitize-link-c++-runtime"]
        run([*command, *(f"-l{library}" for library in target.libraries)])


def flags_of(*libraries: str) -> list[str]:
    """What their headers are read with where the agent is built: some declare less without."""
    done = subprocess.run(["pkg-config", "--cflags", *libraries], check=True, capture_output=True, text=True)
    return done.stdout.split()


def as_one(folder: Path, place: Path) -> Path:
    """One file for all of a folder, as the agent is built: a header is read once a folder."""
    unit = place / f"agent-{folder.name}.cpp"
    unit.write_text("".join(f'#include "{path}"\n' for path in sorted(folder.glob("*.cpp"))))
    return unit


def run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")


if __name__ == "__main__":
    build(
        tuple(target for target in TARGETS if target.name in sys.argv[2:] or not sys.argv[2:]),
        Path(sys.argv[1]),
    )
