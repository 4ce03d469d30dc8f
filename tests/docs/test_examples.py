"""The help of every command that people type ends with examples, and programs take them."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
import pytest
from ran import ran
from ses.commands.options import Existing

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("ses", "ses-service", "smed-monitor", "ses-webface")
BECOME_OTHERS = ("ses copy", "ses migrate", "ses run")
COMPILED = {"ses-run": "run", "ses-copy": "copy", "ses-migrate": "copy"}


def loaded(program: str) -> click.Group:
    (entry,) = entry_points(group="console_scripts", name=program)
    main: click.Group = entry.load()
    return main


def leaves(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield every command below one that does something, with its whole name and its help."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            assert subcommand is not None
            yield from leaves(subcommand, f"{name} {child}")
    else:
        yield name, command.get_help(click.Context(command, info_name=name))


def examples(text: str) -> list[str]:
    match = re.search(r"^ *Examples?:\n((?: +\S.*\n?)+)", text, re.MULTILINE)
    return [line.strip() for line in match[1].splitlines()] if match else []


HELP = [leaf for program in PROGRAMS for leaf in leaves(loaded(program), program)]
IN_HELP = [(name, line) for name, text in HELP for line in examples(text)]


def test_every_command_has_examples_of_itself() -> None:
    assert len(HELP) > 80
    without = [name for name, text in HELP if not examples(text) and name not in BECOME_OTHERS]
    assert not without
    others = [line for name, line in IN_HELP if not f"{line} ".startswith(f"{name} ")]
    assert not others


@pytest.mark.parametrize(("name", "line"), IN_HELP, ids=[line for _, line in IN_HELP])
def test_a_command_takes_its_examples(name: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(click.Command, "invoke", lambda _self, context: called.append(context.command_path))
    for kind in (click.Path, Existing):
        monkeypatch.setattr(kind, "convert", lambda _self, value, _parameter, _context: Path(value))
    monkeypatch.setenv("COLUMNS", "80")
    program, *words = shlex.split(re.sub(r" [<>]\S+$", "", line))
    loaded(program).main(words, prog_name=program, standalone_mode=False)
    assert called[-1] == name


def compiled_examples() -> list[tuple[str, str]]:
    said = []
    for program, folder in COMPILED.items():
        asked = [ROOT / "build/libses" / folder / program, "--help"]
        text = ran(asked).stdout
        said += [(program, line) for line in examples(text)]
    return said


def test_compiled_programs_do_their_examples(tmp_path: Path) -> None:
    compiled = compiled_examples()
    assert {program for program, _ in compiled} == set(COMPILED)
    for folder in ("archive/run1", "srv/union/alice"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("input.dat", "archive/run1/a.dat", "srv/union/alice/output.dat"):
        (tmp_path / file).write_text("x")
    with (tmp_path / "srv/union/alice/large.dat").open("wb") as large:
        large.truncate(3 << 30)
    program = tmp_path / "simulation"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    folders = ":".join(str(ROOT / "build/libses" / part) for part in set(COMPILED.values()))
    environment: dict[str, Any] = {**os.environ, "PATH": f"{folders}:{os.environ['PATH']}"}
    for name, line in compiled:
        here = re.sub(r"(?<= )/", f"{tmp_path}/", line)
        done = subprocess.run(
            here, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )  # fmt: skip
        understood = (0, 1) if name == "ses-migrate" or "--check" in line else (0,)
        assert done.returncode in understood, f"{line}: {done.stderr}"
        assert "Try '" not in done.stderr
