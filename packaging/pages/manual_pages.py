"""The manual pages: one per program, with all of its commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from programs import ROOT, Option, Program
from variables import Variable, every_variable

_READ_BY = {"ses-run": "library", "ses-supervisor": "library"}


def manual_pages(programs: Iterable[Program]) -> dict[str, str]:
    """Return the pages by their paths in the checkout."""
    programs = list(programs)
    names = [(program.name, program.section) for program in programs]
    return {
        f"{program.folder}/share/man/man{program.section}/{program.name}.{program.section}": _page(
            program, names
        )
        for program in programs
    }


def _page(program: Program, names: list[tuple[str, int]]) -> str:
    summary = program.summary.rstrip(".")
    if summary[1].islower():
        summary = summary[0].lower() + summary[1:]
    parts = [
        '.\\" Made by `make pages` from what the program says of itself: change it there.',
        f'.TH {program.name.upper()} {program.section} "" "QStorMan {_version()}"',
        f".SH NAME\n{_text(program.name)} \\- {_text(summary)}",
    ]
    shared = program.shared_options
    after: list[str] = []
    if program.compiled:
        command = program.commands[0]
        parts += [
            f".SH SYNOPSIS\n{_use(program.name, command.arguments)}",
            f".SH DESCRIPTION\n{_body(program.help)}",
        ]
        parts += [".SH OPTIONS", *map(_option, command.options)]
        if command.examples:
            after = [f".SH EXAMPLES\n{_lines(command.examples)}"]
    else:
        parts += [f".SH SYNOPSIS\n{_use(program.name, 'COMMAND [OPTIONS] [ARGUMENTS]')}"]
        parts += [f".SH DESCRIPTION\n{_body(program.help)}"]
        if shared:
            parts += [".SH OPTIONS\nOf most commands:", *map(_option, shared)]
        parts.append(".SH COMMANDS")
        for command in program.commands:
            parts += [f".SS {_quoted(f'{command.name} {command.arguments}'.strip())}", _body(command.help)]
            parts += [_option(option) for option in command.options if option not in shared]
            if command.examples:
                parts.append(f".PP\nFor example:\n.PP\n{_lines(command.examples)}")
            also = [entry.names[0] for entry in shared if entry in command.options]
            if also:
                parts.append(f".PP\nOptions of most commands: {_text(', '.join(also))}.")
    read = [entry for entry in every_variable() if _READ_BY.get(program.name, program.name) in entry.read_by]
    if read:
        parts += [".SH ENVIRONMENT", *map(_variable, read)]
    if program.epilog:
        parts.append(f".SH EXIT STATUS\n{_body(re.sub('^Exit (codes|status): ', '', program.epilog))}")
    parts += after
    others = [f".BR {_text(name)} ({section})" for name, section in names if name != program.name]
    return "\n".join([*parts, ".SH SEE ALSO", " ,\n".join(others)]) + "\n"


def _version() -> str:
    version = re.search(r"VERSION ([0-9.]+) ", (ROOT / "libses/CMakeLists.txt").read_text("utf-8"))
    assert version
    return version[1]


def _use(name: str, arguments: str) -> str:
    return f".B {_text(name)}\n{_text(arguments)}"


def _option(option: Option) -> str:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in option.names)
    value = f" \\fI{_text(option.value)}\\fR" if option.value else ""
    return f".TP\n{names}{value}\n{_text(option.help)}"


def _variable(variable: Variable) -> str:
    default = f"  [default: {variable.default}]" if variable.default else ""
    return f".TP\n\\fB{variable.name}\\fR\n{_text(variable.meaning + default)}"


def _body(text: str) -> str:
    parts = [f".nf\n{_text(part)}\n.fi" if "\n" in part else _text(part) for part in text.split("\n\n")]
    return "\n.PP\n".join(parts)


def _lines(lines: Iterable[str]) -> str:
    return "\n".join((".nf", *map(_text, lines), ".fi"))


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    """Return text with what troff would understand taken literally, a sentence a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    text = text.replace("`", "")
    lines = re.split(r"(?<=[a-z)\]]\.) +|\n", text)
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in lines)
