"""Nothing that stands in a table or in claims makes a program fail, not even while it changes."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("backends", "choice", "log", "lustre", "request", "runtime", "settings")
ROUNDS = 8_000


def test_damaged_tables_and_claims_are_survived(tmp_path: Path) -> None:
    fuzzer = tmp_path / "table_fuzzer"
    source = ROOT / "libses/src"
    command: list[str | Path] = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1"]
    command += ["-pthread", "-fno-math-errno", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += ["-Wall", "-Wextra", "-Werror", "-I", source, "-I", ROOT / "libses/include"]
    command += [Path(__file__).parent / "fuzz/table_fuzzer.c", *sorted((ROOT / "libses/core").glob("*.c"))]
    command += [part for name in FOLDERS for part in sorted((source / name).glob("*.c"))]
    command += [source / "segments/slot.c", source / "segments/table_find.c", "-o", fuzzer]
    built = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert built.returncode == 0, built.stderr
    rank = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"}
    done = subprocess.run(
        [fuzzer, str(ROUNDS), "1"], env={**os.environ, **rank}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > ROUNDS
