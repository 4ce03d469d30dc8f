"""`ses-run --check` says who can place a program's files."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from program_ways import Programs

NOBODY = 65534
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
BPF_RET, SECCOMP_RET_ALLOW = 0x06, 0x7FFF0000


def check(ses_run: Path, program: str | Path, user: int | None = None) -> tuple[int, dict[str, Any]]:
    """The exit status and the report on a program."""
    done = subprocess.run(
        [ses_run, "--check", "--json", program],
        capture_output=True, text=True, timeout=60, check=False, user=user, group=user,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("way", "source", "kind"),
    [
        ("dynamic", "touch.c", "dynamic"),
        ("rust", "touch.rs", "dynamic"),
        ("asan", "touch.c", "dynamic"),
        ("static", "touch.c", "static"),
        ("static-pie", "touch.c", "static"),
        ("rust-static", "touch.rs", "static"),
        ("musl-static", "touch.c", "static"),
        ("musl", "touch.c", "musl"),
        ("go", "touch.go", "go"),
        ("go-stripped", "touch.go", "go"),
        ("32-bit", "end.c", "32-bit"),
    ],
)
def test_kind_of_a_program_is_seen(
    ses_run: Path, programs: Programs, way: str, source: str, kind: str
) -> None:
    status, report = check(ses_run, programs.build(way, source))
    assert report["kind"] == kind
    assert (status == 0) == (report["reach"] == "library") == (kind in ("dynamic", "musl"))
    assert report["asan"] == (way == "asan")


@pytest.mark.parametrize(
    ("line", "last", "kind"),
    [
        ("#!/bin/sh", "/bin/sh", "dynamic"),
        ("#! /bin/sh -e", "/bin/sh", "dynamic"),
        ("#!/usr/bin/env sh", "sh", "dynamic"),
        ("#!/usr/bin/env -S sh -e", "sh", "dynamic"),
        ("#!/usr/bin/env -Ssh -e", "sh", "dynamic"),
        ("#!/usr/bin/env -S X=1 -u Y sh", "sh", "dynamic"),
        ("#!/usr/bin/env -iS sh", "sh", "clears-environment"),
        ("#!/usr/bin/env -S -i sh", "sh", "clears-environment"),
        ("echo no first line", "/bin/sh", "dynamic"),
        ("#!", "/bin/sh", "dynamic"),
        ("", "/bin/sh", "dynamic"),
    ],
)
def test_script_is_as_its_interpreter(ses_run: Path, tmp_path: Path, line: str, last: str, kind: str) -> None:
    script = tmp_path / "script"
    script.write_text(line + "\n")
    script.chmod(0o755)
    _, report = check(ses_run, script)
    assert report["kind"] == kind
    assert Path(report["interpreters"][-1]).name == Path(last).name


def test_script_of_a_static_interpreter_is_static(ses_run: Path, programs: Programs, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(f"#!{programs.build('static', 'touch.c')}\n")
    second.write_text(f"#!{first} with an argument\n")
    for script in (first, second):
        script.chmod(0o755)
    status, report = check(ses_run, second)
    assert (status, report["kind"]) == (1, "static")
    assert report["interpreters"] == [str(first), str(programs.build("static", "touch.c"))]


@pytest.mark.parametrize("line", ["#!/nowhere/sh", "#!/usr/bin/env no-such-program"])
def test_interpreter_that_does_not_exist_is_named(ses_run: Path, tmp_path: Path, line: str) -> None:
    script = tmp_path / "script"
    script.write_text(line + "\n")
    script.chmod(0o755)
    status, report = check(ses_run, script)
    assert (status, report["kind"]) == (1, "missing")
    assert line.split()[-1].removeprefix("#!") in report["message"]


def test_script_that_names_itself_comes_to_an_end(ses_run: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{script}\n")
    script.chmod(0o755)
    assert check(ses_run, script)[1]["kind"] == "missing"


def test_other_processors_program_is_seen(ses_run: Path, programs: Programs, tmp_path: Path) -> None:
    program = tmp_path / "program"
    content = bytearray(programs.build("dynamic", "touch.c").read_bytes())
    content[18:20] = (22).to_bytes(2, "little")  # e_machine: S390
    program.write_bytes(content)
    program.chmod(0o755)
    assert check(ses_run, program)[1]["kind"] == "other-machine"


@pytest.mark.parametrize("length", [4, 20, 60, 64, 100, 200, 800, 2000])
def test_broken_file_is_no_reason_to_break(
    ses_run: Path, programs: Programs, tmp_path: Path, length: int
) -> None:
    program = tmp_path / "program"
    program.write_bytes(programs.build("dynamic", "touch.c").read_bytes()[:length])
    program.chmod(0o755)
    status, report = check(ses_run, program)
    assert status in (0, 1)
    assert report["program"] == str(program)


@pytest.mark.skipif(os.geteuid() != 0, reason="making programs with other users' rights needs root")
@pytest.mark.parametrize("right", ["setuid", "setgid", "capability"])
def test_program_with_more_rights_is_seen(
    ses_run: Path, programs: Programs, tmp_path: Path, right: str
) -> None:
    program = Path(shutil.copy(programs.build("dynamic", "touch.c"), ses_run.parent / right))
    program.chmod({"setuid": 0o4755, "setgid": 0o2755, "capability": 0o755}[right])
    if right == "capability":
        value = bytes.fromhex("0100000200040000000000000000000000000000")  # cap_net_bind_service=ep
        os.setxattr(program, "security.capability", value)
    status, report = check(ses_run, program, user=NOBODY)
    assert (status, report["kind"], report["reach"]) == (1, "setuid", "nothing")
    assert check(ses_run, program)[1]["kind"] == "dynamic", "root has those rights anyway"


def test_unreachable_program_is_said_and_run(ses_run: Path, programs: Programs, tmp_path: Path) -> None:
    static, dynamic = programs.build("static", "touch.c"), programs.build("dynamic", "touch.c")
    done = subprocess.run([ses_run, static, tmp_path / "file"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert "static" in done.stderr
    quiet = [ses_run, dynamic, tmp_path / "file"]
    assert subprocess.run(quiet, capture_output=True, text=True, check=True).stderr == ""
    loud = [ses_run, "--verbose", dynamic, tmp_path / "file"]
    assert "preload library" in subprocess.run(loud, capture_output=True, text=True, check=True).stderr


def test_32_bit_program_gets_no_library_it_would_complain_of(ses_run: Path, programs: Programs) -> None:
    done = subprocess.run(
        [ses_run, programs.build("32-bit", "end.c")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "ld.so" not in done.stderr


def allow_everything() -> None:
    """Put this process under a seccomp filter that forbids nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    rule = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET, 0, 0, SECCOMP_RET_ALLOW))
    program = ctypes.create_string_buffer(struct.pack("HP", 1, ctypes.addressof(rule)))
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) == 0


def test_under_a_filter_of_somebody_else_nothing_is_said_to_be_placed(ses_run: Path) -> None:
    """As in a container: the library asks nobody there, and so makes the original calls."""
    done = subprocess.run(
        [ses_run, "--check", "--json", "/bin/sh"],
        capture_output=True, text=True, timeout=60, check=False, preexec_fn=allow_everything,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert (done.returncode, report["reach"], report["filter"]) == (1, "nothing", "other")
    assert "started under a seccomp filter" in report["message"]
    assert "--library" not in report["message"]
    loud = subprocess.run(
        [ses_run, "/bin/sh", "-c", "exit 3"],
        capture_output=True, text=True, timeout=60, check=False, preexec_fn=allow_everything,
    )  # fmt: skip
    assert loud.returncode == 3
    assert "started under a seccomp filter" in loud.stderr


def ignore_ends_of_children() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@pytest.mark.parametrize("start", [None, ignore_ends_of_children])
def test_under_a_supervisor_that_is_who_may_place(ses_run: Path, start: Callable[[], None] | None) -> None:
    """Also for a daemon that ignores the ends of its children, and whose programs do so then."""
    done = subprocess.run(
        [ses_run, "--supervise", ses_run, "--check", "--json", "/bin/sh"],
        capture_output=True, text=True, timeout=60, check=False, preexec_fn=start,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert (done.returncode, report["reach"], report["filter"]) == (0, "supervisor", "listener"), done.stderr
    assert "started under a supervisor" in report["message"]
