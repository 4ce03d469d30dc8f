"""The processes of the demonstration: ready, dead, and stopped for certain."""

import os
import socket
import sys
import urllib.request
from pathlib import Path

import pytest
from patience import wait_until
from ses.demo import processes as module
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import Processes, answers, free_port, is_socket


@pytest.fixture
def processes(tmp_path):
    with Interrupts() as interrupts:
        started = Processes(tmp_path / "logs", interrupts)
        yield started
        started.stop_all()


def python(*lines):
    return [sys.executable, "-c", "\n".join(lines)]


def test_a_process_is_ready_when_it_answers(processes, tmp_path):
    port = free_port()
    serve = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", str(tmp_path)]
    processes.start("files", serve, answers(f"http://127.0.0.1:{port}/"))
    processes.wait_ready()
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).status == 200


def test_a_port_is_kept_for_who_was_told_of_it():
    with socket.socket() as another, pytest.raises(OSError, match="in use"):
        another.bind(("127.0.0.1", free_port()))


def test_one_that_dies_is_named_with_the_end_of_its_log(processes):
    processes.start("teller", python("print('first')", "raise SystemExit('the reason')"), lambda: False)
    with pytest.raises(DemoError, match=r"teller ended \(status 1\)(.|\n)*the reason"):
        processes.wait_ready()


def test_one_that_is_never_ready_is_named(processes, monkeypatch):
    monkeypatch.setattr(module, "_READY_SECONDS", 0.2)
    processes.start("sleeper", python("import time", "time.sleep(600)"), lambda: False)
    with pytest.raises(DemoError, match="sleeper was not ready"):
        processes.wait_ready()


def test_a_program_that_does_not_exist_is_a_fault(processes):
    with pytest.raises(DemoError, match="nobody cannot be started"):
        processes.start("nobody", ["/nonexistent/program"], lambda: True)


def test_all_are_stopped_also_one_that_will_not(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_STOP_SECONDS", 0.3)
    for name in ("gentle", "stubborn"):
        ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if name == "stubborn" else "pass"
        script = python("import os, signal, time", ignoring,
                        f"open({str(tmp_path / name)!r} + '.part', 'w').write(str(os.getpid()))",
                        f"os.rename({str(tmp_path / name)!r} + '.part', {str(tmp_path / name)!r})",
                        "time.sleep(600)")  # fmt: skip
        processes.start(name, script, (tmp_path / name).exists)
    processes.wait_ready()
    processes.stop_all()
    for name in ("gentle", "stubborn"):
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / name).read_text()), 0)
    processes.check()


def test_children_of_one_that_died_are_not_left(processes, tmp_path):
    pid = tmp_path / "child"
    script = python("import os, subprocess, sys", "sleeper = subprocess.Popen(['sleep', '600'])",
                    f"open({str(pid)!r}, 'w').write(str(sleeper.pid))", "os._exit(1)")  # fmt: skip
    processes.start("parent", script, lambda: False)
    with pytest.raises(DemoError, match="parent ended"):
        processes.wait_ready()
    processes.stop_all()
    wait_until(lambda: not running(int(pid.read_text())))


def running(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


def test_a_socket_file_nobody_listens_on_is_not_ready(tmp_path):
    assert not is_socket(tmp_path / "none")()
    (tmp_path / "file").write_text("")
    assert not is_socket(tmp_path / "file")()
