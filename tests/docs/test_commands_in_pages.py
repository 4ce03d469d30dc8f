"""Commands in pages exist, and have the options that they are given there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = (ROOT / "docs/commands", ROOT / "docs/reference")
PAGES = [
    page
    for page in sorted([ROOT / "README.md", *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")])
    if page.parent not in MADE
]
PAGES += sorted((ROOT / "webface/ses_webface/templates").rglob("*.html"))
EVERYWHERE = {"--help", "--version"}
BECOMES = {"ses copy": "ses-copy", "ses migrate": "ses-migrate", "ses run": "ses-run"}


def _known() -> dict[str, set[str]]:
    """Return the options of each command, as the pages say that are made from the programs."""
    options: dict[str, set[str]] = {}
    for page in sorted(MADE[0].glob("*.md")):
        sections = re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)
        usage = re.search(r"^Usage: `([a-z-]+)", sections[0], re.MULTILINE)
        if usage:
            options[usage[1]] = set(re.findall(r"`(--[a-z-]+)`", sections[0]))
        for section in sections[1:]:
            heading = re.match(r"`([a-z][a-z-]*(?: [a-z][a-z-]*)*)", section)
            if heading:
                options[heading[1]] = set(re.findall(r"`(--[a-z-]+)`", section))
    for name, program in BECOMES.items():
        options[name] = options[program]
    return options


KNOWN = _known()
PROGRAMS = {name.partition(" ")[0] for name in KNOWN}
GROUPS = {name.rpartition(" ")[0] for name in KNOWN if " " in name}


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of ours in a line of shell."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command: list[str] = []
    for word in [*words, ";"]:
        if re.fullmatch(r"[();<>|&]+", word):
            while command and re.match(r"[A-Z_]+=", command[0]):
                command = command[1:]
            if command and command[0] in PROGRAMS:
                yield command[: command.index("--")] if "--" in command else command
            command = []
        else:
            command.append(word)


def _in_page(page: Path) -> Iterator[list[str]]:
    """Yield every command of ours in blocks of shell, and in the text."""
    text = page.read_text("utf-8")
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            yield from _commands(line)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`((?:ses|smed)[^`]*)`", prose):
        yield from _commands(" ".join(span.replace("\\|", "|").split()))


def _name(command: list[str]) -> str:
    """Return the longest beginning of a command that is the name of one, or of a group."""
    names = [" ".join(command[:count]) for count in (3, 2, 1)]
    return next((name for name in names if name in KNOWN or name in GROUPS), command[0])


def _in_template(page: Path) -> Iterator[list[str]]:
    """Yield every command of ours that a page of the portal shows."""
    for span in re.findall(r"<code>(ses[^<]*)</code>|\"(ses [^\"]+)\"\)", page.read_text("utf-8")):
        yield from _commands(re.sub(r"\{\{.*?\}\}", "NAME", "".join(span)))


IN_PAGES = [
    (page, command)
    for page in PAGES
    for command in (_in_template(page) if page.suffix == ".html" else _in_page(page))
]


def test_commands_are_found() -> None:
    assert len(KNOWN) > 60
    assert len(IN_PAGES) > 200
    assert {"run-near", "share", "profile"} <= {command[1] for _, command in IN_PAGES if len(command) > 1}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_page_exists_with_its_options(page: Path) -> None:
    for command in (command for path, command in IN_PAGES if path == page):
        name = _name(command)
        if name in GROUPS and len(command) > len(name.split()):
            after = command[len(name.split())]
            assert name in KNOWN or not re.fullmatch(r"[a-z][a-z-]+", after), f"no such command: {command}"
        for option in (word.partition("=")[0] for word in command if re.match(r"--[a-z]", word)):
            known = EVERYWHERE.union(
                *(
                    options
                    for full_name, options in KNOWN.items()
                    if full_name == name or full_name.startswith(f"{name} ")
                )
            )
            assert option in known, " ".join(command)
