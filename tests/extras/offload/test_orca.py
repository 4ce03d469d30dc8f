"""Table I of the ORCA paper, by its names: a program that uses them compiles, and does what it says."""

import os
import subprocess
from pathlib import Path

from offload_programs import answers, run

HERE = Path(__file__).parent


def test_a_program_of_table_1_calls_functions_in_another_process(prefix: Path) -> None:
    library = next(prefix.glob("lib*/**/libses-offload.so")).parent
    strict = ["-Wall", "-Wextra", "-Werror", "-O2", f"-I{prefix}/include"]
    objects = []
    for source, compiler in (
        ("orca_main.c", ["gcc", "-std=gnu11"]),
        ("orca_types.cpp", ["g++", "-std=c++17"]),
    ):
        objects.append(prefix / f"{source}.o")
        subprocess.run([*compiler, *strict, "-c", HERE / source, "-o", objects[-1]], check=True)
    program = prefix / "orca"
    linked = [f"-L{library}", "-lses-offload", f"-Wl,-rpath,{library}"]
    subprocess.run(["g++", *objects, "-o", program, *linked], check=True)
    said = answers(run(program, "argument", HOME=os.environ.get("HOME", "/")))
    assert said == {
        "first": "0",
        "apart": "1",
        "words": "2",
        "list": "0 14",
        "names": "0 1",
        "unwritten": "5 14 the data do not fit the type, or cannot be written",
        "unknown": "10 no function of that name is registered there",
        "untyped": "1 no type of that name is registered",
        "again": "1 1",
    }
