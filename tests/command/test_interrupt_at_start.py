"""Ctrl-C while a program is still being loaded ends it at once: shells say 130, and nothing is printed.

What a caller made of SIGCHLD hides no end of a child.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ran import ran
from smallest_monitor import MONITOR

INTERRUPT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
SERVICES = ("ses_service.commands.main", "smed_monitor.cli", "ses_webface.cli")
each_program = pytest.mark.parametrize("module", ["ses.cli", *SERVICES])
each_service = pytest.mark.parametrize("module", SERVICES)


def run(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return ran([sys.executable, "-c", program], code=None, env=environment)


def ended_by_the_signal(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@each_program
def test_while_modules_are_loaded(module: str, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(INTERRUPT)
    assert ended_by_the_signal(run(f"from {module} import main", PYTHONPATH=str(tmp_path)))


@pytest.mark.parametrize("command", ["experiment", "simulate"])
def test_while_a_command_of_another_distribution_is_loaded(command: str) -> None:
    loads = (
        "import importlib.metadata\n"
        f"def loads(_entry):\n    {INTERRUPT}\n"
        "importlib.metadata.EntryPoint.load = loads\n"
    )
    done = run(f"{loads}from ses.cli import main\nmain([{command!r}, '--help'])")
    assert ended_by_the_signal(done)


@each_program
def test_while_the_command_line_is_read(module: str) -> None:
    reads = f"def read(*_words, **_more):\n    {INTERRUPT}\n"
    assert ended_by_the_signal(run(f"from {module} import main\n{reads}main.make_context = read\nmain()"))


@each_service
def test_while_a_service_starts(module: str, tmp_path: Path) -> None:
    (tmp_path / "smed.toml").write_text(MONITOR)
    words = ["serve", "--state-dir", str(tmp_path / "state")]
    if module.startswith("smed_monitor"):
        words += ["--config", str(tmp_path / "smed.toml")]
    starts = (
        f"import ses_listen.tls\ndef starts(*_files):\n    {INTERRUPT}\nses_listen.tls.files_of = starts\n"
    )
    assert ended_by_the_signal(run(f"{starts}from {module} import main\nmain({words!r})"))


@each_service
def test_a_command_that_may_have_something_to_undo_ends_with_130_and_no_word(module: str) -> None:
    works = f"def works():\n    try:\n        {INTERRUPT}\n    finally:\n        print('undone')\n"
    done = run(f"from {module} import main\n{works}main.command('works')(works)\nmain(['works'])")
    assert (done.returncode, done.stdout, done.stderr) == (130, "undone\n", "\n")


@each_program
def test_the_end_of_a_child_is_seen_where_the_caller_ignores_children(module: str) -> None:
    begins = "import signal, subprocess\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    works = "def works(*_, **__):\n    raise SystemExit(subprocess.run(['sh', '-c', 'exit 7']).returncode)\n"
    done = run(f"{begins}from {module} import main\n{works}main.make_context = works\nmain()")
    assert (done.returncode, done.stderr) == (7, "")


@each_program
def test_a_process_that_called_the_command_keeps_the_exception_of_python(module: str) -> None:
    program = (
        f"import signal\nfrom {module} import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    assert run(program).stdout.endswith("\nTrue\n")


@each_program
def test_whoever_imports_the_command_keeps_the_exception_of_python(module: str) -> None:
    program = f"import signal, {module}; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert run(program).stdout == "True\n"
