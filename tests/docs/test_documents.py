"""Documents that can fail a build: what they name exists, and what exists is named."""

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from ran import ran
from ses.cli import main as ses

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("libses/*/README.md"),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
COMMANDS = ("ses", "ses-service", "smed-monitor", "ses-webface")
COMPILED = (
    "agent/ses-agent",
    "copy/ses-copy",
    "copy/ses-migrate",
    "run/ses-run",
    "run/ses-supervisor",
    "extras/share/ses-share-agent",
    "extras/sampler/smed-mirror",
    "extras/sampler/smed-sampler",
)


def targets() -> set[str]:
    """Return the targets `make` prints."""
    text = (ROOT / "Makefile").read_text()
    names = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert {"demo", "test", "bench", "check", "compose-test"} <= names
    return names


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_and_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text()
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (document.parent / link).exists()]
    tops = "libses|ses-service|smed-monitor|webface|ontology|tests|docs|examples|benchmarks|packaging"
    paths = re.findall(rf"`((?:{tops})/[A-Za-z0-9_./-]*)`", text)
    missing += [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"{document.name} names what does not exist: {missing}"


def headings(document: Path) -> set[str]:
    """Return what can follow `#` in a link to a document."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_to_a_heading_finds_it() -> None:
    checked, wrong = 0, []
    for document in DOCUMENTS:
        for name, heading in re.findall(r"\]\(([^)\s#:]*\.md)?#([^)\s]+)\)", document.read_text()):
            checked += 1
            if heading not in headings(document.parent / name if name else document):
                wrong.append(f"{document.relative_to(ROOT)}: {name}#{heading}")
    assert checked > 10
    assert not wrong


def test_every_make_target_a_document_names_exists_and_back() -> None:
    text = "\n".join(document.read_text() for document in DOCUMENTS)
    named = set(re.findall(r"(?:`|^\s*|&& )make ([a-z]+(?:-[a-z]+)*)", text, re.MULTILINE))
    assert named <= targets()
    assert targets() - {"help"} <= named, "a target no document names"


def test_make_alone_prints_every_target() -> None:
    out = ran(["make"], cwd=ROOT).stdout
    assert all(f"make {target}" in out for target in targets())


def children(group: click.Group) -> list[tuple[str, click.Command]]:
    """Return the commands of a group by their names."""
    context = click.Context(group)
    commands = [(name, group.get_command(context, name)) for name in sorted(group.list_commands(context))]
    assert None not in dict(commands).values()
    return [(name, command) for name, command in commands if command is not None]


def leaves(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    """Return every command below this one that does something, with its full name."""
    if isinstance(command, click.Group):
        commands: list[tuple[str, click.Command]] = []
        for name, child in children(command):
            commands += leaves(child, f"{path} {name}")
        return commands
    return [(path, command)]


def every_command() -> list[tuple[str, click.Command]]:
    """Return all commands of all Python programs."""
    commands: list[tuple[str, click.Command]] = []
    for program in COMMANDS:
        (entry,) = entry_points(group="console_scripts", name=program)
        commands += leaves(entry.load(), program)
    assert len(commands) > 10
    return commands


def test_every_command_and_option_says_what_it_is_for() -> None:
    for name, command in every_command():
        assert command.help, f"{name} --help says nothing"
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts[0]} has no help"


def every_help(command: click.Command, name: str, parent: click.Context | None = None) -> dict[str, str]:
    """Return what `--help` prints of a command, and of all below it."""
    context = click.Context(command, info_name=name, parent=parent)
    said = {context.command_path: command.get_help(context)}
    if isinstance(command, click.Group):
        for child, subcommand in children(command):
            said |= every_help(subcommand, child, context)
    return said


def test_help_cuts_no_sentence_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said: dict[str, str] = {}
    for program in COMMANDS:
        (entry,) = entry_points(group="console_scripts", name=program)
        said |= every_help(entry.load(), program)
    assert len(said) > 60
    for program in COMPILED:
        asked = ran([Path(program).name, "--help"], executable=ROOT / "build/libses" / program)
        said[program] = asked.stdout
    wide = [f"{name}: {line}" for name, text in said.items() for line in text.splitlines() if len(line) > 80]
    assert not wide
    commands = {name: text.partition("\nCommands:\n")[2] for name, text in said.items()}
    cut = [name for name, text in commands.items() if "..." in text]
    assert not cut
    assert sum(map(bool, commands.values())) > 8, "groups list their commands"


def test_what_ses_says_of_its_commands_is_what_they_say() -> None:
    context = click.Context(ses)
    listed = dict(ses.sentences(context))
    said = {name: command.get_short_help_str(1000) for name, command in children(ses)}
    assert len(said) > 20
    assert listed == said


# What takes long to load: no help needs any of it.
HEAVY = ("cryptography", "flask", "matplotlib", "numpy", "pydantic", "pyoxigraph", "rdflib", "rich",
         "sqlalchemy", "structlog", "urllib3")  # fmt: skip


@pytest.mark.parametrize("program", COMMANDS)
def test_help_loads_nothing_that_takes_long(program: str) -> None:
    (entry,) = entry_points(group="console_scripts", name=program)
    script = f"""
import sys
from {entry.module} import {entry.attr} as main
try:
    main(["--help"])
except SystemExit as end:
    assert not end.code
print("loaded:", *{{name.partition(".")[0] for name in sys.modules}})
"""
    said = ran([sys.executable, "-c", script]).stdout
    help_text, _, loaded = said.partition("loaded:")
    assert "Commands:" in help_text
    assert "click" in loaded.split()
    assert not set(HEAVY) & set(loaded.split())


def test_every_program_says_its_version() -> None:
    built = ROOT / "build/libses"
    programs = [Path(sys.executable).parent / name for name in COMMANDS]
    programs += [built / name for name in COMPILED]
    version = re.search(r"VERSION ([0-9.]+) ", (ROOT / "libses/CMakeLists.txt").read_text())
    assert version
    for program in programs:
        said = ran([program, "--version"]).stdout
        assert said == f"{program.name} {version[1]}\n", program
