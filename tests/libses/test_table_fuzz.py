"""Nothing that stands in a table or in claims makes a program fail, not even while it changes."""

import os
from pathlib import Path

from ran import ran

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
    ran(command)
    rank = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"}
    done = ran([fuzzer, str(ROUNDS), "1"], env={**os.environ, **rank})
    assert int(done.stdout.split()[0]) > ROUNDS
