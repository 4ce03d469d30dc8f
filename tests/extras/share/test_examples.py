"""The examples of shared values do what their heads say."""

import re
import subprocess
from pathlib import Path

import pytest
from ses.share import regions

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("example", "arguments", "line"),
    [
        (
            "select",
            ("5000", "20"),
            r"5000 records: [\d.]+ ms a query by shared memory, [\d.]+ ms by a socket",
        ),
        ("checkpoint", ("3", "300"), r"(strict|temporal)( +[\d.]+){5}"),
    ],
)
def test_example_does_what_its_head_says(
    build: Path, tmp_path: Path, example: str, arguments: tuple[str, str], line: str
) -> None:
    program = tmp_path / example
    source = [ROOT / f"libses/extras/examples/share/{example}.c", "-I", ROOT / "libses/extras/include"]
    library = ["-L", build, "-lses-share", f"-Wl,-rpath,{build}"]
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, *source, *library], check=True
    )
    with subprocess.Popen(
        [program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        output, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert re.search(rf"^{line}$", output, re.MULTILINE)
    assert f"{example}-{running.pid}" not in {region.name for region in regions()}, "it removes its region"
