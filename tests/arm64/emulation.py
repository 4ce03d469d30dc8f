"""Programs for arm64, emulated beside the agent, the tables and the unions of this machine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from mergerfs_union import Union
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
ARM64 = ROOT / "build/arm64"
BUILT = ARM64 / "libses"
LIBRARIES = ARM64 / "libraries"
"""Its ``lib`` is that of the Debian for arm64.  With more of it, an emulated program would see its /proc."""
ARCHIVES = (
    *("src/libses_place", "src/libses_layout", "core/libses_core"),
    *("segment/libses_segment", "system/libses_system"),
)


@dataclass(frozen=True)
class Arm64:
    """Programs for arm64, each behind a script of its name that has it emulated."""

    directory: Path

    def inside(self, command: str) -> None:
        """Run a command where Debian's cross compiler is; the checkout is /src there."""
        ran([ROOT / "packaging/arm64.sh", "run", f"cd /src && {command}"])

    def program(self, file: Path, *preloaded: Path) -> Path:
        """The script for a program, and what is preloaded into it in any case."""
        script = self.directory / file.name
        emulated = Path(shutil.copy(file, self.directory / f"{file.name}.arm64"))
        given = f"-E LD_LIBRARY_PATH={BUILT}" + "".join(f" -E LD_PRELOAD={path}" for path in preloaded)
        script.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {LIBRARIES} {given} {emulated} "$@"\n')
        script.chmod(0o755)
        return script

    def agent(self) -> Path:
        """The script for the agent."""
        source = Path(__file__).parent / "probes/openat2.c"
        self.inside(
            "aarch64-linux-gnu-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC"
            f" -o build/arm64/openat2.so {source.relative_to(ROOT)}"
        )
        return self.program(BUILT / "agent/ses-agent", ARM64 / "openat2.so")

    def compile(self, name: str, *sources: Path, options: str = "") -> Path:
        """The script for a program of these sources, which lie in the checkout."""
        listed = " ".join(str(source.relative_to(ROOT)) for source in sources)
        self.inside(
            f"aarch64-linux-gnu-gcc -std=gnu11 -O1 -g {options} -o build/arm64/{name} {listed} -pthread"
        )
        return self.program(ARM64 / name)

    def torn(self) -> Path:
        """The script for tests/agent/probes/torn.cpp, with all of the agent but its main program."""
        agent = "build/arm64/libses/agent/CMakeFiles/ses-agent.dir/Unity/*.o"
        archives = " ".join(f"build/arm64/libses/{name}.a" for name in ARCHIVES)
        self.inside(
            "aarch64-linux-gnu-g++ -std=c++20 -O1 -pthread"
            " -Ilibses/agent -Ilibses -Ilibses/include -Ilibses/src"
            f" -o build/arm64/torn tests/agent/probes/torn.cpp {agent} {archives}"
            " -lspdlog -lfmt -lcpp-httplib -lssl -lcrypto"
        )
        return self.program(ARM64 / "torn")


class EmulatedUnion(Union):
    """A union whose programs run under emulation, which loads the library into them, not into itself."""

    def environment(self, *, library: bool = True, **extra: str) -> dict[str, str]:
        given = super().environment(library=False, **extra)
        return {**given, "QEMU_SET_ENV": f"LD_PRELOAD={self.wrapper}"} if library else given
