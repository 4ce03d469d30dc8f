"""Nothing that stands in a plan makes a program fail, not even while it changes."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("answer", "backend", "backend_lustre", "backend_mergerfs", "lustre_default", "lustre_layout")
READER = ("log", "no_creator", "path", "plan", "require", "self", "settings")
ROUNDS = 20_000


def test_damaged_plans_are_survived(tmp_path: Path) -> None:
    fuzzer = tmp_path / "plan_fuzzer"
    source = ROOT / "libses/src"
    command: list[str | Path] = [
        os.environ.get("CC", "cc"),
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-g",
        "-O1",
        "-pthread",
    ]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"]
    command += ["-I", source, "-I", ROOT / "libses/include", Path(__file__).parent / "fuzz/plan_fuzzer.c"]
    command += [source / f"{name}.c" for name in SOURCES + READER] + ["-o", fuzzer]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [fuzzer, str(ROUNDS), "1"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > ROUNDS
