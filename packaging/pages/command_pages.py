"""The pages of commands in Markdown: one per program, and where a program has many commands one
per group and per long command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from programs import Command, Option, Program

MADE = "<!-- Made by `make pages` from what programs say of themselves: change it there. -->\n\n"
_MAX_LINES = 250
_STATUSES = """\
| exit status | of | it says |
|---|---|---|
| 0 | all | Done. |
| 1 | all | Something failed, or what was checked is not right. |
| 2 | all but `ses-run` and `ses-supervisor` | The command line was not understood: options, numbers, units. |
| 3 | `ses` | The selection service is not reachable. |
| 4 | `ses` | The service does not accept the token, or does not let its owner do this. |
| 5 | `ses` | What was named does not exist (an element, a storage system, a profile, a file), \
or nothing is left to choose from. |
| 125 | `ses-run`, `ses-supervisor` | They were used wrongly. |
| 126 | what runs a program | The program cannot be run. |
| 127 | what runs a program | There is no such program. |
| 128 and the number of a signal | all | The signal ended it, or the program that it ran; 130 is Ctrl-C. |

A program is run by `ses-run`, `ses-supervisor`, `ses profile`, `ses run-near` and `ses advise`; all but
the last exit with its status. `ses map-near` exits with the highest of its tasks, and with 1 when it gives
one up. `ses-copy` and `ses-migrate` exit with 1 when a file does not exist, and go on with the others.
Services exit with 2 when a file that an option names does not exist.
"""
_known: set[str] = set()  # names of commands, shown as code
_ALWAYS = ("--help", "--version")


def command_pages(programs: Iterable[Program]) -> dict[str, str]:
    """Return the pages by their names below ``docs``."""
    _known.update(command.name for entry in programs for command in entry.commands)
    _known.update(name for entry in programs for name, _ in entry.groups)
    pages = {"commands/README.md": _index(list(programs))}
    for program in programs:
        pages |= _program(program)
    return pages


def _index(programs: list[Program]) -> str:
    rows = "".join(
        f"| [`{program.name}`]({program.name}.md) | {marked(program.summary)} |\n" for program in programs
    )
    return (
        f"{MADE}# Commands\n\n"
        "Each program answers `--help` with the text of its page, and `--version`. Each has a manual page,\n"
        "and those that people start have completion for bash, zsh and fish.\n\n"
        f"{_STATUSES}\n"
        "Tables fit the terminal; a narrow one shows fewer columns, and `--wide` all of them. In a pipe\n"
        "each row is one whole line, in UTF-8.\n"
        "There `COLUMNS` asks for a width from 80 to 200. Programs best read `--json`.\n\n"
        f"| program | what it does |\n|---|---|\n{rows}\n"
        "Further lists: [environment variables](../reference/environment.md),\n"
        "[settings of the monitor](../reference/monitor-settings.md), [metrics](../reference/metrics.md).\n"
        "[Which files are placed, and what they need](../placement-rules.md) is a page of its own.\n"
    )


def _program(program: Program) -> dict[str, str]:
    shared = program.shared_options
    head = f"# {program.name}\n\n{_text(program.help)}\n\n"
    tail = f"\n{_text(program.epilog)}\n" if program.epilog else ""
    if program.compiled:
        command = program.commands[0]
        head += f"Usage: `{program.name} {command.arguments}`\n\n"
        named = [option for option in command.options if option.names[0] not in _ALWAYS]
        examples = f"\n{_shell(command)}" if command.examples else ""
        return {
            f"commands/{program.name}.md": MADE
            + head
            + (_table(named) + tail if named else tail.lstrip("\n"))
            + examples
        }
    head += tail.lstrip("\n") + "\n" if tail else ""
    if shared:
        head += f"Options of most commands:\n\n{_table(shared)}\n"
    whole = MADE + head + _sections(program.commands, shared)
    if len(whole.splitlines()) <= _MAX_LINES:
        return {f"commands/{program.name}.md": whole}
    pages: dict[str, str] = {}
    links = ""
    common = f"Options of most commands are those of [`{program.name}`]({program.name}.md).\n\n"
    for name, says in program.groups:
        within = [entry for entry in program.commands if entry.name.startswith(f"{name} ")]
        pages |= _split(name, f"# {name}\n\n{_text(says)}\n\n{common}", "", within, program)
        links += f"| [`{name}`]({_page(name)}) | {marked(Command(name, '', says, ()).summary)} |\n"
    own = [entry for entry in program.commands if entry.name.count(" ") == 1]
    return pages | _split(program.name, head, links, own, program)


def _page(name: str) -> str:
    return name.replace(" ", "-") + ".md"


def _split(name: str, head: str, links: str, own: list[Command], program: Program) -> dict[str, str]:
    """Return a page of these commands, the longest ones on pages of their own until it is short enough."""
    shared = program.shared_options
    pages: dict[str, str] = {}
    common = f"Options of most commands are those of [`{program.name}`]({program.name}.md).\n\n"
    while len((whole := _own_page(head, links, own, shared)).splitlines()) > _MAX_LINES:
        longest = max(own, key=lambda command: len(_sections([command], shared).splitlines()))
        own.remove(longest)
        page = _page(longest.name)
        pages[f"commands/{page}"] = f"{MADE}# {longest.name}\n\n{common}{_sections([longest], shared)}"
        links += f"| [`{longest.name}`]({page}) | {marked(longest.summary)} |\n"
    return {**pages, f"commands/{_page(name)}": whole}


def _own_page(head: str, links: str, own: list[Command], shared: tuple[Option, ...]) -> str:
    if links:
        head += f"Commands with pages of their own:\n\n| commands | what they do |\n|---|---|\n{links}\n"
    return f"{MADE}{head}{_sections(own, shared)}"


def _sections(commands: Iterable[Command], shared: tuple[Option, ...]) -> str:
    parts = []
    for command in commands:
        part = f"## `{command.name}{' ' if command.arguments else ''}{command.arguments}`\n\n"
        part += f"{_text(command.help)}\n"
        part += f"\n{_shell(command)}" if command.examples else ""
        own = [option for option in command.options if option not in shared]
        if own:
            part += f"\n{_table(own)}"
        also = [f"`{entry.names[0]}`" for entry in shared if entry in command.options]
        if also:
            part += f"\n{'Also' if own else 'Options:'} {', '.join(also)}.\n"
        parts.append(part)
    return "\n".join(parts)


def _shell(command: Command) -> str:
    return "```sh\n" + "".join(f"{example}\n" for example in command.examples) + "```\n"


def _table(options: Iterable[Option]) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for option in options:
        if option.names[0] in _ALWAYS:
            continue
        names = ", ".join(f"`{name}`" for name in option.names)
        value = f" {marked(option.value)}" if option.value else ""
        rows.append(f"| {names}{value} | {marked(option.help)} |")
    return "\n".join(rows) + "\n"


def _text(text: str) -> str:
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if "\n" in paragraph:
            paragraphs.append(f"```\n{paragraph}\n```")
        else:
            paragraphs.append(wrapped(marked(paragraph)))
    return "\n\n".join(paragraphs)


def wrapped(text: str, width: int = 118) -> str:
    """Break lines between words, never within a link or code."""
    lines, line = [], ""
    for word in re.findall(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+", text):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def marked(text: str) -> str:
    """Return help text as Markdown: options, variables and commands as code, documents as links."""
    text = re.sub(r"\.  +", ". ", text)
    names = "|".join(re.escape(entry) for entry in sorted(_known, key=len, reverse=True) if " " in entry)
    parts = re.split(r"(`[^`]*`)", text)
    for number, part in enumerate(parts):
        if number % 2 == 0:
            part = re.sub(r"([|*<>])", r"\\\1", part)
            part = re.sub(r"(?<![\w`/-])(--[a-z][a-z-]*[a-z])", r"`\1`", part)
            part = re.sub(rf"(?<![\w-])({names})(?![\w-])", r"`\1`", part) if names else part
            part = re.sub(r"\b(SES_[A-Z_]*[A-Z])\b", r"`\1`", part)
            part = re.sub(r"\bdocs/([a-z/-]+)\.md\b", r"[docs/\1.md](../\1.md)", part)
            part = re.sub(r"(?<!docs/)\b((?:benchmarks|packaging)/[a-z/]+(?:README\.md)?)", _link, part)
            parts[number] = part
    return "".join(parts)


def _link(match: re.Match[str]) -> str:
    return f"[{match[1]}](../../{match[1]})"
