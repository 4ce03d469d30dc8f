"""The lines a page gives to ask for the same in a job are understood by the programs they are for."""

import shlex
import sys
from pathlib import Path

import pytest
from fake_selection import KINDS
from ran import ran
from ses_client.messages.requirements import required
from ses_client.messages.vocabulary import Vocabulary
from ses_webface.requirements.use import examples, left_out

ROOT = Path(__file__).resolve().parents[2]
ASKED = (
    required("average-read-rate", 1000, "MB/s"),
    required("current-write-rate", 0.25, "MB/s", weight=2.5, strictness="hard"),
    required("free-capacity", 1649.267441664, "GB", weight=1.0, strictness="hard", stated_unit="TiB"),
)


@pytest.fixture(scope="module")
def lines() -> dict[str, str]:
    """The lines by the title they stand under."""
    return {example.title: example.lines for example in examples(ASKED, Vocabulary(kinds=KINDS))}


def test_the_shell_line_is_understood_and_runs_the_program(lines: dict[str, str], tmp_path: Path) -> None:
    command = shlex.split(lines["Shell"])
    assert command[0] == "ses-run"
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$SES_REQUIRE"\n')
    program.chmod(0o755)
    run = str(ROOT / "build/libses/run/ses-run")
    said = ran([run, *command[1:]], cwd=tmp_path)
    assert said.stdout.strip() == command[2]
    assert "average-read-rate>=1000MB/s" in said.stdout
    assert "free-capacity>=1.5TiB!" in said.stdout


def test_the_job_script_asks_for_the_same_as_the_shell(lines: dict[str, str]) -> None:
    (option,) = shlex.split(lines["Slurm"].removeprefix("#SBATCH "))
    assert option == f"--storage={shlex.split(lines['Shell'])[2]}"


def test_the_lines_of_cpp_are_a_program(lines: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(lines["C++"] + "\nint main() { return create() < 0; }\n")
    include = str(ROOT / "libses/include")
    ran(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", include, str(source)])


def test_the_lines_of_python_say_what_was_asked(lines: dict[str, str], tmp_path: Path) -> None:
    text = lines["Python"] + "\nprint(policy)\n"
    said = ran(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={"SES_LIBRARY": str(ROOT / "build/libses/libses.so.0"), "PATH": "/usr/bin:/bin"},
    )
    assert "average_read_rate=1000.0, current_write_rate=0.25, capacity=1649.267441664" in said.stdout
    assert "CURRENT_WRITE_RATE.hard=True" in said.stdout
    assert (tmp_path / "results.dat").read_text() == "..."


def test_a_kind_that_programs_cannot_ask_for_is_named(lines: dict[str, str]) -> None:
    latency = required("latency", 2, "ms", at_most=True)
    assert left_out((*ASKED, latency)) == (latency,)
    assert examples((latency,), Vocabulary(kinds=KINDS)) == ()
    assert not any("latency" in text for text in lines.values())
