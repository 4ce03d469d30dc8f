"""`make bench` as a whole: everything can be measured, and the file has what readers of it expect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD
from ran import ran

ROOT = Path(__file__).parents[2]
NAMES = {
    "open-existing",
    "create-offpolicy-absolute",
    "create-offpolicy-relative",
    "create-placed",
    "create-hung-agent",
    "create-table-hit",
    "create-table-hit-fewest",
    "create-table-hit-agent",
    "metadata-storm",
    "table-choice-8",
    "table-choice-64",
    "table-loads-8",
    "table-loads-64",
    "exec-true",
    "core-choice-64",
    "core-choice-1000",
    "core-choice-10000",
    "selection-24",
    "selection-1000",
    "selection-10000",
    "node-selection-1",
    "node-selection-64",
    "selection-beside-samples",
    "first-start-10000",
    "deciders-100-per-second",
    "deciders-100-per-second-among-1000",
    "agents-20",
    "claims-20",
    "node-among-4",
    "page-storage",
    "page-element",
    "page-requirements",
    "page-files",
    "page-summary",
    "page-health",
}


def bench(output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "benchmarks/run.py", "--quick", "--build", BUILD, "--output", output]
    command += ["--scratch", output.parent]
    return ran([*command, *arguments], code=None)


@pytest.mark.long
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a union needs root")
def test_every_name_is_measured_and_in_the_file(tmp_path: Path) -> None:
    done = bench(tmp_path / "bench.json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["name"]: row for row in json.loads((tmp_path / "bench.json").read_text())}
    assert set(rows) >= NAMES
    for row in rows.values():
        assert row["value"] > 0
        assert row["baseline"] > 0
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        assert row["p50"] <= row["p99"]
        assert row["unit"] in ("ns", "us", "ms", "s")
        assert row["name"] in done.stdout
    assert "only 100 elements" in rows["selection-10000"]["note"]
    assert "20 connected" in rows["deciders-100-per-second"]["note"]
    assert "files/s" in rows["claims-20"]["note"]
    assert "of a CPU" in rows["deciders-100-per-second"]["note"]
    assert "CPUs, Linux" in done.stdout
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


def test_what_cannot_be_measured_is_said_and_ends_with_1(tmp_path: Path) -> None:
    done = bench(tmp_path / "bench.json", "--only", "creates", "--build", str(tmp_path / "nothing-built"))
    assert done.returncode == 1
    assert "creates: not all measured: " in done.stderr
    assert "make native" in done.stderr
    assert json.loads((tmp_path / "bench.json").read_text()) == []
