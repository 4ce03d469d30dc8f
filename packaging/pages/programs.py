"""What a program says of itself: its commands and options, as its own ``--help`` prints them.

Programs in Python are asked through click, compiled ones by running them with ``--help``.
"""

from __future__ import annotations

import inspect
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = re.compile("Examples?:\n")
_OPTION = re.compile(r"^ {2,6}(-\S(?:.*?\S)?)(?: {2,}(\S.*))?$")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its names, the word for its value (empty for a flag), and what it does."""

    names: tuple[str, ...]
    value: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command that does something; ``help`` is paragraphs separated by empty lines."""

    name: str
    arguments: str
    help: str
    options: tuple[Option, ...]
    examples: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return re.split(r"(?<=\.)\s", " ".join(self.help.split("\n\n")[0].split()))[0].rstrip(".") + "."


@dataclass(frozen=True, slots=True)
class Program:
    """One program, the section of the manual it belongs to, and the folder whose ``share`` is installed.

    ``by_hand`` is false of a program that only other programs start: it needs no completion.
    """

    name: str
    section: int
    folder: str
    help: str
    epilog: str
    commands: tuple[Command, ...]
    groups: tuple[tuple[str, str], ...] = ()
    compiled: bool = False
    by_hand: bool = True

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return Command(self.name, "", self.help, ()).summary

    @property
    def shared_options(self) -> tuple[Option, ...]:
        """The options that at least half of the commands have, word for word."""
        counts = Counter(option for command in self.commands for option in command.options)
        return tuple(entry for entry, count in counts.items() if count >= max(3, len(self.commands) / 2))


_PYTHON = (
    ("ses", 1, "libses/python"),
    ("ses-service", 8, "ses-service"),
    ("smed-monitor", 8, "smed-monitor"),
    ("ses-webface", 8, "webface"),
)
_COMPILED = (
    ("ses-run", 1, "libses", "build/libses/run/ses-run"),
    ("ses-supervisor", 8, "libses", "build/libses/run/ses-supervisor"),
    ("ses-copy", 1, "libses", "build/libses/copy/ses-copy"),
    ("ses-migrate", 1, "libses", "build/libses/copy/ses-migrate"),
    ("ses-agent", 8, "libses", "build/libses/agent/ses-agent"),
    ("ses-share-agent", 8, "libses/extras/share", "build/libses/extras/share/ses-share-agent"),
    ("smed-mirror", 1, "libses/extras/sampler", "build/libses/extras/sampler/smed-mirror"),
    ("smed-sampler", 1, "libses/extras/sampler", "build/libses/extras/sampler/smed-sampler"),
)
_STARTED_BY_PROGRAMS = ("ses-supervisor",)


def every_program() -> list[Program]:
    """Return all programs; raises FileNotFoundError for one that was not built."""
    python = [_of_click(name, section, folder, click_main(name)) for name, section, folder in _PYTHON]
    return python + [_of_help(*entry) for entry in _COMPILED]


def click_main(name: str) -> click.Group:
    """Return the command of a program in Python."""
    (entry,) = entry_points(group="console_scripts", name=name)
    main: click.Group = entry.load()
    return main


def _of_click(name: str, section: int, folder: str, main: click.Group) -> Program:
    return Program(
        name,
        section,
        folder,
        _plain(main.help),
        _plain(main.epilog),
        tuple(_commands(main, click.Context(main, info_name=name))),
        tuple(
            (f"{name} {key}", _plain(entry.help))
            for key, entry in _children(main)
            if isinstance(entry, click.Group)
        ),
    )


def _children(group: click.Group) -> list[tuple[str, click.Command]]:
    context = click.Context(group)
    commands = ((name, group.get_command(context, name)) for name in sorted(group.list_commands(context)))
    return [(name, entry) for name, entry in commands if entry is not None and not entry.hidden]


def _commands(group: click.Group, context: click.Context) -> Iterator[Command]:
    for name, entry in _children(group):
        below = click.Context(entry, info_name=name, parent=context)
        if isinstance(entry, click.Group):
            yield from _commands(entry, below)
            continue
        arguments = [each.make_metavar(below) for each in entry.params if isinstance(each, click.Argument)]
        options = [
            _option(each, below)
            for each in entry.params
            if isinstance(each, click.Option) and not each.hidden
        ]
        shown = _examples(_plain(entry.epilog))[1]
        yield Command(below.command_path, " ".join(arguments), _plain(entry.help), tuple(options), shown)


def _option(option: click.Option, context: click.Context) -> Option:
    record = option.get_help_record(context)
    assert record is not None
    names = (*sorted(option.opts, key=len, reverse=True), *option.secondary_opts)
    value = "" if option.is_flag else option.make_metavar(context)
    if value == "TEXT":
        value = names[0].rpartition("-")[2].upper()
    elif value in ("INTEGER", "FLOAT", "INTEGER RANGE", "FLOAT RANGE"):
        value = "N"
    return Option(names, value, _said(record[1]))


def _said(text: str) -> str:
    """Return click's line of help, its notes on range and default in words."""
    text = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", " ".join(text.split()))
    text = re.sub(r"x>=([\d.]+)", r"at least \1", text)
    text = re.sub(r"\[default: \((.*?)\)\]", r"[default: \1]", text)
    return re.sub(r"\.0(?=[\];, ])", "", text).replace("env var: ", "environment: ")


def _plain(text: str | None) -> str:
    """Return paragraphs of one line each; blocks click is not to wrap keep their lines."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text or "").partition("\f")[0])
    kept = [
        paragraph.removeprefix("\b\n")
        if _EXAMPLES.match(paragraph) or paragraph.startswith("\b")
        else " ".join(paragraph.split())
        for paragraph in paragraphs
        if paragraph.strip()
    ]
    return "\n\n".join(kept)


def _examples(epilog: str) -> tuple[str, tuple[str, ...]]:
    """Return the epilog without its examples, and these."""
    paragraphs = epilog.split("\n\n")
    shown = [paragraph for paragraph in paragraphs if _EXAMPLES.match(paragraph)]
    lines = [line.strip() for entry in shown for line in entry.splitlines()[1:]]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph not in shown), tuple(lines)


def _of_help(name: str, section: int, folder: str, built: str) -> Program:
    text = subprocess.run(
        [ROOT / built, "--help"], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    ).stdout
    head, separator, rest = text.partition("Options:\n")
    usage = re.search(rf"^Usage: (?:\S*/)?{re.escape(name)} (.*)$", head, re.MULTILINE)
    assert separator, f"{name} --help lists no options"
    assert usage, f"{name} --help has no line of usage"
    help_text = _plain(head.replace(usage[0], ""))
    options: list[Option] = []
    lines = rest.splitlines()
    while lines and lines[0].strip():
        line = lines.pop(0)
        if begun := _OPTION.match(line):
            options.append(Option(_longest_first(begun[1]), _value(begun[1]), begun[2] or ""))
        else:
            last = options.pop()
            options.append(Option(last.names, last.value, f"{last.help} {line.strip()}".strip()))
    epilog, examples = _examples(_plain("\n".join(lines)))
    command = Command(name, usage[1].strip(), help_text, tuple(options), examples)
    by_hand = name not in _STARTED_BY_PROGRAMS
    return Program(name, section, folder, help_text, epilog, (command,), compiled=True, by_hand=by_hand)


def _longest_first(head: str) -> tuple[str, ...]:
    return tuple(sorted(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", head), key=len, reverse=True))


def _value(head: str) -> str:
    return " ".join(word for word in re.split(r"[ ,]+", head) if not word.startswith("-"))
