"""SES_LOG: one line for each create, where it was asked for, and nothing else that a program could notice."""

import os
import re
import resource
import sys
from pathlib import Path

import pytest
from fake_agent import UNAVAILABLE, answer
from mergerfs_union import Union

WRITE = str(os.O_CREAT | os.O_WRONLY)
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ([^ ]+)\[(\d+)\] (?:\(\d+ lines left out\) )?(.*)")
CREATE = "import sys\nfor path in sys.argv[1:]:\n    open(path, 'w').close()\n"


def create(union: Union, *paths: str | Path, **extra: str) -> None:
    done = union.run(sys.executable, "-c", CREATE, *paths, **{"SES_APPLICATION": "app", **extra})
    assert (done.stdout, done.stderr) == ("", "")


def said(log: Path) -> list[str]:
    lines = log.read_text().splitlines()
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), lines
    return [match[3] for match in matches if match]


def test_each_create_is_reported_with_its_reason(union: Union, tmp_path: Path) -> None:
    log = tmp_path / "log"
    extra = {"SES_LOG": str(log), "SES_EXCLUDE": "*.tmp"}
    create(union, "file", "file", "file.tmp", tmp_path / "elsewhere", "bad\nname", **extra)
    union.agent.reply = lambda *_: answer(placement_id=1, status=UNAVAILABLE)
    create(union, "late", **extra)
    create(union, "alone", SES_AGENT_SOCKET=str(tmp_path / "nowhere"), **extra)
    assert said(log) == [
        "file: placed on union/b1, chosen by the agent, distance 0.000",
        "file: plain: the name exists",
        "file.tmp: plain: excluded",
        f"{tmp_path}/elsewhere: plain: not on a storage system that the site describes",
        "bad?name: placed on union/b1, chosen by the agent, distance 0.000",
        "late: plain: no element is left (ses rank says why), or the agent lacks data",
        "alone: plain: no candidate table to choose from, and no agent to ask",
    ]
    assert log.stat().st_mode & 0o7777 == 0o600


def test_line_names_program_and_process_and_each_can_have_a_file(union: Union, tmp_path: Path) -> None:
    create(union, "a", SES_LOG=str(tmp_path / "log-%p-%d"))
    create(union, "b", SES_LOG=str(tmp_path / "log-%p-%d"))
    logs = sorted(tmp_path.glob("log-*"))
    assert len(logs) == 2
    for log in logs:
        match = LINE.fullmatch(log.read_text().strip())
        assert match
        assert (match[1], f"log-{match[2]}-%d") == ("app", log.name)


def test_names_that_are_too_long_are_left_out_whole(union: Union, tmp_path: Path) -> None:
    log = tmp_path / "log"
    create(union, "a", SES_LOG=str(log), SES_APPLICATION="é" * 32, SLURM_JOB_ID="1" * 64)
    text = log.read_text()
    assert f"SES_APPLICATION is ignored, longer than 63 bytes: {'é' * 32}\n" in text
    assert f"files count for no job, its name is longer than 63 bytes: {'1' * 64}\n" in text


def test_program_sees_no_descriptor_of_it(union: Union, probes: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = union.run(
        *(probes / "create", "open", WRITE, "0640", "022", union.path / "file"), SES_LOG=str(log)
    )
    assert "fd=3 errno=4321" in done.stdout
    assert "open=0,1,2,3," in done.stdout
    assert len(said(log)) == 1


def test_nothing_is_written_to_descriptors_0_to_2(union: Union, probes: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert union.run(probes / "process", "closed", union.path, SES_LOG=str(log)).stderr == ""
    assert not log.exists() or log.read_text() == ""


@pytest.mark.parametrize(
    "kind", ["link", "pipe", "directory", "relative", "missing", "/dev/stderr", "/dev/null"]
)
def test_only_a_regular_file_is_written_to(union: Union, tmp_path: Path, kind: str) -> None:
    log = tmp_path / "log"
    target = tmp_path / "target"
    target.write_text("")
    if kind == "link":
        log.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(log)
    elif kind == "directory":
        log.mkdir()
    path = {"relative": "log", "missing": str(tmp_path / "no/log")}.get(kind, str(log))
    if kind == "pipe":
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        create(union, "file", SES_LOG=path)
        assert os.read(reader, 10) == b""
        os.close(reader)
    else:
        create(union, "file", SES_LOG=kind if kind.startswith("/") else path)
    assert len(union.agent.asks) == 1
    assert target.read_text() == ""
    assert not (union.path / "log").exists()


def test_file_size_limit_of_the_program_is_kept(union: Union, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "for number in range(60):\n"
        "    open(f'file{number}', 'x').close()\n"
        "print('done')\n"
    )
    assert union.run(sys.executable, "-c", code, SES_LOG=str(log)).stdout == "done\n"
    assert 0 < log.stat().st_size < 2000
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_storm_of_creates_is_not_written_out(union: Union, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import os, time\n"
        "begun = time.time()\n"
        "for number in range(3000):\n"
        "    os.close(os.open(f'elsewhere{number}', os.O_CREAT | os.O_WRONLY))\n"
        "print(int(time.time() - begun) + 2)\n"
        "second = int(time.time())\n"
        "while int(time.time()) == second:\n"
        "    pass\n"
        "os.close(os.open('last', os.O_CREAT | os.O_WRONLY))\n"
    )
    (tmp_path / "storm").mkdir()
    done = union.run(sys.executable, "-c", code, cwd=tmp_path / "storm", SES_LOG=str(log))
    assert 1 <= len(said(log)) <= 20 * (int(done.stdout) + 2)
    left_out = sum(int(number) for number in re.findall(r"\((\d+) lines left out\)", log.read_text()))
    assert left_out + len(said(log)) == 3001
