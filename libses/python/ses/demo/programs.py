"""The programs of the demonstration: nobody changed them, and nobody here links with libses but one.

Each writes one file of some megabytes and sees it to the device (``fsync`` of its own, or
``sync FILE`` right after it), so that the speed of the place is felt.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import said
from ses.demo.tools import tool

NOBODY = "nobody"
USERS = ("root", NOBODY, "daemon", "games")  # every Debian has these accounts
_LIMIT_SECONDS = 120.0
_SAID = 3  # lines of a program that failed: compilers name the cause before they give up
_MIB = 1 << 20
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Commands = Callable[[str], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Program:
    """One run.  ``commands`` gives, for the path of its file, what to run one after the other.

    ``measured`` is false where the file is too small for a rate to mean anything.
    """

    title: str
    user: str
    file: str
    commands: Commands
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took: seconds of wall time from ``started_at`` (since the epoch), bytes of the file."""

    program: Program
    path: Path
    started_at: float
    seconds: float
    size: int

    @property
    def rate(self) -> float:
        """MB/s from the program's start to the last byte on the device."""
        return self.size / 1e6 / self.seconds


def prepare_input(directory: Path, megabytes: int) -> None:
    """Write what the programs read: a data file, a tree to archive, a C source with the data in it."""
    tree = directory / "tree"
    tree.mkdir(parents=True)
    block = os.urandom(megabytes * _MIB // 8)
    for number in range(8):
        (tree / f"part-{number}.dat").write_bytes(block)
    (directory / "data.bin").write_bytes(block * 8)
    (directory / "model.c").write_text(
        f'__asm__(".section .rodata\\n.incbin \\"{directory}/data.bin\\"\\n.text");\n'
        "int main(void) { return 0; }\n"
    )
    for path in (directory, tree, *directory.iterdir(), *tree.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def programs(inputs: Path, figure3: Path, megabytes: int) -> tuple[Program, ...]:
    """Return the programs in the order they run; ``figure3`` is the built example."""
    python = f"import os\nwith open({{!r}}, 'wb') as f:\n    for _ in range({megabytes}):\n" \
             "        f.write(bytes(1 << 20))\n    f.flush()\n    os.fsync(f.fileno())"  # fmt: skip
    rows = (
        "PRAGMA page_size=65536; CREATE TABLE run(data BLOB); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        f"SELECT i+1 FROM n WHERE i<{megabytes}) INSERT INTO run SELECT zeroblob(1048576) FROM n;"
    )

    dd = _dd(megabytes)
    return (
        Program("dd", "root", "zeros.dat", dd),
        Program("tar", "root", "results.tar",
                lambda file: [["tar", "-cb", "256", "-f", file, "-C", str(inputs), "tree"], ["sync", file]]),
        Program("sqlite3", NOBODY, "runs.db", lambda file: [["sqlite3", file, rows]]),
        Program("cp", "root", "data.bin", lambda file: [["cp", f"{inputs}/data.bin", file], ["sync", file]]),
        Program("python3", "root", "array.npy",
                lambda file: [["/usr/bin/python3", "-c", python.format(file)]]),
        Program("dd", NOBODY, "frames.raw", dd),
        Program("gcc -o", "root", "model",
                lambda file: [["gcc", "-pipe", "-o", file, f"{inputs}/model.c"], ["sync", file]]),
        # the example names its file itself, in the directory it is run in
        Program("figure3 (C++)", "root", "fileName.dat", lambda _: [[str(figure3)]], measured=False),
    )  # fmt: skip


def simultaneous(megabytes: int) -> tuple[Program, ...]:
    """Return eight programs that are meant to run at the same time: two of each user, files of a size."""
    return tuple(
        Program("dd", user, f"part-{number}.dat", _dd(megabytes)) for number in (1, 2) for user in USERS
    )


def _dd(megabytes: int) -> Commands:
    return lambda file: [["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={megabytes}", "conv=fsync"]]


def build_example(source: Path, headers: Path, api: Path, into: Path) -> Path:
    """Compile the paper's Figure 3 against libses; returns the program."""
    program = into / "figure3"
    tool("g++", "-std=c++17", "-O2", f"-I{headers}", str(source), f"-L{api}", f"-Wl,-rpath,{api}", "-lses",
         "-o", str(program))  # fmt: skip
    return program


def run(program: Program, directory: Path, environment: Mapping[str, str], interrupts: Interrupts) -> Run:
    """Run a program so that its file is created in ``directory``, and measure it.

    ``environment`` is added to a plain one.  Raises DemoError when a command fails or does not end.
    """
    path = directory / program.file
    started_at, started = time.time(), time.monotonic()
    for command in program.commands(str(path)):
        _run_command(program, command, directory, environment, interrupts)
    seconds = time.monotonic() - started
    return Run(program, path, started_at, seconds, path.stat().st_size)


def run_together(
    todo: Sequence[Program], homes: Path, environment: Mapping[str, str], interrupts: Interrupts
) -> list[Run]:
    """Run programs at the same time, each in the home of its user; see :func:`run`."""
    with ThreadPoolExecutor(len(todo)) as pool:
        begun = [pool.submit(run, program, homes / program.user, environment, interrupts) for program in todo]
    return [future.result() for future in begun]


def _run_command(
    program: Program,
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    interrupts: Interrupts,
) -> None:
    argv = [*_as_user(program.user), *command]
    with subprocess.Popen(
        argv,
        cwd=directory,
        env={"PATH": PATH, "LC_ALL": "C", "HOME": "/", "TMPDIR": gettempdir(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            words = said(process, interrupts, _LIMIT_SECONDS)[1]
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        lines = words.decode("utf-8", "replace").strip().splitlines()
        why = " / ".join(lines[-_SAID:]) if lines else f"status {process.returncode}"
        raise DemoError(f"{program.title} as {program.user} failed: {why}")


def _as_user(user: str) -> list[str]:
    if user == "root":
        return []
    return ["setpriv", f"--reuid={user}", "--regid=65534", "--clear-groups", "--"]
