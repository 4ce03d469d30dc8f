"""Every example builds against what is installed, runs, and does what its head says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ran import ran
from stranger_programs import build_with_cmake

if TYPE_CHECKING:
    from conftest import Union

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="session")
def examples(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the built examples."""
    return build_with_cmake(EXAMPLES, tmp_path_factory.mktemp("examples"), installed)


def test_figure_3_of_the_paper_places_its_file(union: Union, examples: Path) -> None:
    union.agent.choose = lambda _: 1
    out = union.run(examples / "figure3", library=False).stdout
    assert out == "fileName.dat is on union/b2, distance 0\n"
    assert union.copies(union.path / "fileName.dat") == [1]
    assert (union.path / "fileName.dat").read_text() == "data\n"
    (ask,) = union.agent.asks
    assert ask.requirements == ((2, False, 50.0, 1.0), (5, False, 100.0, 1.0))


def test_figure_3_is_the_paper_s_text() -> None:
    text = (EXAMPLES / "figure3.cpp").read_text()
    figure = re.search(r"// Figure 3\n(.*?)// end of Figure 3", text, re.DOTALL)
    assert figure
    assert [line.strip() for line in figure[1].splitlines() if line.strip()] == [
        "LustreManager manager;",
        "StoragePolicy policy;",
        "policy.setAverageReadTransferRate(50);",
        "policy.setCapacity(100);",
        'int descriptor = manager.createFile("fileName.dat", &policy);',
    ]


def test_figure_3_works_without_an_agent(examples: Path, tmp_path: Path) -> None:
    done = ran([examples / "figure3"], cwd=tmp_path)
    assert done.stdout.startswith("fileName.dat was not placed: ")
    assert (tmp_path / "fileName.dat").read_text() == "data\n"


RUN_NOTEBOOK = """
import json, sys
names = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
"""


def run_notebook(cwd: Path, build: Path, **environment: str) -> str:
    """Run the cells of the notebook one after the other; what they printed."""
    done = ran(
        [sys.executable, "-c", RUN_NOTEBOOK, EXAMPLES / "place_files.ipynb"],
        cwd=cwd,
        env={**os.environ, "SES_LIBRARY": str(build / "libses.so.0"), **environment},
    )
    return done.stdout


def test_the_notebook_places_its_files(union: Union, build: Path) -> None:
    union.agent.choose = lambda _: 1
    said = run_notebook(union.path, build, **union.environment(library=False))
    union.agent.settle()
    assert "StoragePolicy(average_read_rate=50.0, capacity=100.0, AVERAGE_READ_RATE.weight=2.0)\n" in said
    assert "capacity: '100 apples' is not understood" in said
    assert "numbers.csv is on union/b2, distance 0\n" in said
    assert "the file existed already and stays where it is\n" in said
    assert said.endswith("placed 4194304\n")
    assert union.copies(union.path / "numbers.csv") == union.copies(union.path / "checkpoint.bin") == [1]
    assert (union.path / "numbers.csv").read_text() == "run,seconds\n0,0.0\n1,0.5\n2,1.0\n3,1.5\n"


def test_the_notebook_works_without_an_agent(build: Path, tmp_path: Path) -> None:
    said = run_notebook(tmp_path, build, SES_AGENT_SOCKET=str(tmp_path / "no-agent.sock"))
    assert "numbers.csv was not placed: " in said
    assert said.endswith("not placed 4194304\n")


def test_the_notebook_is_stored_without_what_a_run_printed() -> None:
    notebook = json.loads((EXAMPLES / "place_files.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def create_placed(
    examples: Path, cwd: Path, *arguments: str, data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [examples / "create_placed", *arguments],
        cwd=cwd,
        input=data,
        env={**os.environ, "SES_AGENT_SOCKET": str(cwd / "no-agent.sock")},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_create_placed_copies_its_input_and_leaves_an_existing_file_alone(
    examples: Path, tmp_path: Path
) -> None:
    data = os.urandom(3_000_000)
    assert create_placed(examples, tmp_path, "copy", "20", data=data).returncode == 0
    assert (tmp_path / "copy").read_bytes() == data
    again = create_placed(examples, tmp_path, "copy", "20", data=b"other")
    assert (again.returncode, again.stderr) == (1, b"copy: File exists\n")
    assert (tmp_path / "copy").read_bytes() == data


@pytest.mark.parametrize("rate", ["nan", "-1", "inf", "1e30"])
def test_create_placed_refuses_a_rate_nobody_can_mean(examples: Path, tmp_path: Path, rate: str) -> None:
    done = create_placed(examples, tmp_path, "copy", rate)
    assert done.returncode == 2
    assert done.stderr.startswith(f"create_placed: {rate}: the value is ".encode())
    assert not (tmp_path / "copy").exists()


def test_the_checkpoint_in_fortran_is_written_where_it_was_placed(union: Union, examples: Path) -> None:
    union.agent.choose = lambda _: 2
    assert union.run(examples / "checkpoint", "state.bin", "80", library=False).stdout == (
        "state.bin is on union/b3\n"
    )
    assert union.copies(union.path / "state.bin") == [2]
    assert np.fromfile(union.path / "state.bin").tolist() == [1.0] * 1000
    (ask,) = union.agent.asks
    assert ask.requirements == ((3, False, 80.0, 1.0),)
    refused = union.run(examples / "checkpoint", "other.bin", "-1", library=False, check=False)
    assert (refused.returncode, refused.stdout) == (
        2,
        "-1: the value is negative, or the weight is not above 0\n",
    )
    missing = union.run(examples / "checkpoint", "missing/state.bin", "1", library=False, check=False)
    assert (missing.returncode, missing.stdout) == (1, "missing/state.bin: No such file or directory\n")


def test_what_binds_tells_the_rates_of_the_paper_s_formulas(examples: Path) -> None:
    def said(nodes: str) -> subprocess.CompletedProcess[str]:
        return ran([examples / "what_binds", nodes], code=None)

    assert said("4").stdout == "p2ps 76.0 MB/s, bound by the I/O bus\nread2 96.7 MB/s, bound by the I/O bus\n"
    assert said("four").returncode == 2


def test_every_example_is_in_the_readme_and_back() -> None:
    named = set(
        re.findall(
            r"`([a-z0-9_]+\.(?:cpp|c|f90|py|ipynb|json|txt))`",
            (EXAMPLES / "README.md").read_text(),
            re.IGNORECASE,
        )
    )
    present = {path.name for path in EXAMPLES.iterdir() if path.is_file() and path.suffix != ".md"}
    assert present == named
