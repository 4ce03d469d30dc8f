"""The external two-pass sort: it reads and writes twice, is predicted, and leaves nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ran import ran
from ses_experiment.papers.two_pass import EXAMPLE

SES = Path(sys.executable).parent / "ses"
RECORD, KEY, MIB = 128, 16, 2**20


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sort") / "two_pass_sort"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", made, EXAMPLE], check=True)
    return made


def _records(data: bytes) -> list[bytes]:
    return [data[at : at + RECORD] for at in range(0, len(data), RECORD)]


@pytest.mark.parametrize("pages", [0, 1, 3 * 256, 3 * 256 + 7])
def test_records_are_sorted_by_reading_and_writing_twice(program: Path, tmp_path: Path, pages: int) -> None:
    data = os.urandom(4096 * pages)
    (tmp_path / "input").write_bytes(data)
    words = [program, tmp_path / "input", tmp_path / "output", "1"]
    done = ran(words)
    result = (tmp_path / "output").read_bytes()
    records, made = _records(data), _records(result)
    assert sorted(made) == sorted(records)
    assert [record[:KEY] for record in made] == sorted(record[:KEY] for record in records)
    moved = [(line.split()[0], *map(int, line.split()[3:])) for line in done.stdout.splitlines()]
    assert moved == [("runs", len(data), len(data)), ("merge", len(data), len(data))]
    assert {file.name for file in tmp_path.iterdir()} == {"input", "output"}


def test_what_cannot_be_sorted_is_refused(program: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(bytes(100))
    assert subprocess.run([program, tmp_path / "odd", tmp_path / "output", "1"]).returncode == 2
    assert subprocess.run([program, tmp_path / "none", tmp_path / "output", "1"]).returncode == 1
    assert not (tmp_path / "output").exists()


@pytest.mark.root
@pytest.mark.long
def test_it_is_predicted_before_it_runs_and_near_it_sends_each_byte_at_most_once(traces) -> None:  # type: ignore[no-untyped-def]
    """Times of so short a run on a busy machine mean little, so none is asked for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    done = ran(
        [SES, "experiment", "sort", "--size", "16", "--json"], env={**environment, "TMPDIR": str(traces.base)}
    )
    result = json.loads(done.stdout)
    for each in result["passes"]:
        assert (each["binding"], each["read_bytes"], each["written_bytes"]) == ("disk", 16 * MIB, 16 * MIB)
        assert each["predicted"] > 0
    assert result["near"]["same_output"]
    assert result["sent_for_each_byte"] <= 1.1
    assert traces.files() == []
    assert traces.mounts() == []
