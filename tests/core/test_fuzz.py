"""Whatever bytes a table holds, the core stays within it and its answer is one that can be used."""

import subprocess
from pathlib import Path

from ran import ran

ROOT = Path(__file__).resolve().parents[2]


def test_any_table_is_judged_within_its_bounds(tmp_path: Path) -> None:
    program = tmp_path / "fuzz_core"
    sources = sorted((ROOT / "libses" / "core").glob("*.c"))
    checks = "address,undefined,float-cast-overflow"
    subprocess.run(
        [
            *("gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-math-errno"),
            *(f"-fsanitize={checks}", "-fno-sanitize-recover=all", "-I", ROOT / "libses" / "include"),
            *("-o", program, Path(__file__).with_name("fuzz_core.c"), *sources),
        ],
        check=True,
    )
    for seed in ("1", "2", "3"):
        ran([program, seed, "5000"])
