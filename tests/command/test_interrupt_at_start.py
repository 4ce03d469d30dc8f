"""Ctrl-C while the command is still being loaded ends it at once: shells say 130, and nothing is printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

INTERRUPT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


def run(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )


def ended_by_the_signal(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_while_modules_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(INTERRUPT)
    assert ended_by_the_signal(run("from ses.cli import main", PYTHONPATH=str(tmp_path)))


def test_while_the_command_line_is_read() -> None:
    reads = f"def read(*_words, **_more):\n    {INTERRUPT}\n"
    assert ended_by_the_signal(run(f"from ses.cli import main\n{reads}main.make_context = read\nmain()"))


def test_a_process_that_called_the_command_keeps_the_exception_of_python() -> None:
    program = (
        "import signal\nfrom ses.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    assert run(program).stdout.endswith("\nTrue\n")


def test_whoever_imports_the_command_keeps_the_exception_of_python() -> None:
    program = "import signal, ses.cli; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert run(program).stdout == "True\n"
