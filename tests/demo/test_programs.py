"""The demonstration's programs, run plainly: real ones, each leaving one whole file."""

import os
import sqlite3
import tarfile

import pytest
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.programs import NOBODY, USERS, Program, prepare_input, programs, run, run_together, simultaneous

MIB = 1 << 20


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("demo") / "input"
    prepare_input(directory, 2)
    return directory


def mine(inputs, title):
    """The program of that title that runs as whoever runs the tests."""
    titled = [program for program in programs(inputs, inputs / "figure3", 2) if program.title == title]
    program = titled[0]
    return Program(program.title, "root", program.file, program.commands, program.measured)


def test_the_set_has_six_known_programs_two_users_and_the_example(inputs):
    every = programs(inputs, inputs / "figure3", 2)
    assert {"dd", "cp", "tar", "python3", "gcc -o", "sqlite3"} <= {program.title for program in every}
    assert {program.user for program in every} == {"root", NOBODY}
    assert len({(program.user, program.file) for program in every}) == len(every)


@pytest.mark.parametrize("title", ["dd", "cp", "tar", "python3", "gcc -o", "sqlite3"])
def test_each_program_writes_its_whole_file(inputs, tmp_path, title):
    with Interrupts() as interrupts:
        done = run(mine(inputs, title), tmp_path, {}, interrupts)
    assert done.size >= 2 * MIB
    assert done.rate > 0
    assert list(tmp_path.iterdir()) == [done.path]
    if title == "tar":
        with tarfile.open(done.path) as archive:
            assert len([member for member in archive if member.isfile()]) == 8
    if title == "sqlite3":
        with sqlite3.connect(done.path) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert database.execute("SELECT count(*) FROM run").fetchone() == (2,)
    if title == "gcc -o":
        assert os.access(done.path, os.X_OK)


def test_eight_programs_of_four_users_have_a_file_each():
    every = simultaneous(1)
    assert len({(program.user, program.file) for program in every}) == 8
    assert {program.user for program in every} == set(USERS)


@pytest.mark.root
def test_programs_that_run_together_each_write_their_file(tmp_path):
    two = [program for program in simultaneous(1) if program.user == "root"]
    (tmp_path / "root").mkdir()
    with Interrupts() as interrupts:
        done = run_together(two, tmp_path, {}, interrupts)
    assert [outcome.size for outcome in done] == [MIB, MIB]
    assert len({outcome.path for outcome in done}) == 2


def test_a_program_that_fails_is_named_with_its_last_words(tmp_path):
    words = "echo 1 >&2; echo ld: no room >&2; echo collect2: ld failed >&2; echo sorry >&2; exit 3"
    broken = Program("broken", "root", "x", lambda _: [["sh", "-c", words]])
    said = "broken as root failed: ld: no room / collect2: ld failed / sorry$"
    with Interrupts() as interrupts, pytest.raises(DemoError, match=said):
        run(broken, tmp_path, {}, interrupts)


def test_programs_keep_what_is_temporary_where_the_demonstration_does(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/somewhere")
    tells = Program("tells", "root", "where", lambda file: [["sh", "-c", f'printf %s "$TMPDIR" >{file}']])
    with Interrupts() as interrupts:
        assert run(tells, tmp_path, {}, interrupts).path.read_text() == "/somewhere"
