"""Documents that can fail a build: what they name exists, and what exists is named."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ontology/README.md", "examples/README.md")]
    + list((ROOT / "docs").rglob("*.md"))
)
COMMANDS = {
    "ses": "ses.cli",
    "ses-service": "ses_service.cli",
    "smed-monitor": "smed_monitor.cli",
    "ses-webface": "ses_webface.cli",
}


def targets() -> set[str]:
    """Return the targets `make` prints."""
    text = (ROOT / "Makefile").read_text()
    found = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert {"demo", "test", "bench", "check", "compose-test"} <= found
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_and_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text()
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (document.parent / link).exists()]
    tops = "libses|ses-service|smed-monitor|webface|ontology|tests|docs|examples|benchmarks|packaging"
    paths = re.findall(rf"`((?:{tops})/[A-Za-z0-9_./-]*)`", text)
    missing += [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"{document.name} names what does not exist: {missing}"


def test_every_make_target_a_document_names_exists_and_back() -> None:
    text = "\n".join(document.read_text() for document in DOCUMENTS)
    named = set(re.findall(r"(?:`|^\s*|&& )make ([a-z]+(?:-[a-z]+)*)", text, re.MULTILINE))
    assert named <= targets()
    assert targets() - {"help"} <= named, "a target no document names"


def test_make_alone_prints_every_target() -> None:
    out = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(f"make {target}" in out for target in targets())


def leaves(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    """Return every command below this one that does something, with its full name."""
    if isinstance(command, click.Group):
        found: list[tuple[str, click.Command]] = []
        for name, child in sorted(command.commands.items()):
            found += leaves(child, f"{path} {name}")
        return found
    return [(path, command)]


def every_command() -> list[tuple[str, click.Command]]:
    """Return all commands of all Python programs."""
    found: list[tuple[str, click.Command]] = []
    for program, module in COMMANDS.items():
        found += leaves(importlib.import_module(module).main, program)
    assert len(found) > 10
    return found


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs/commands.md").read_text()
    sections = dict(
        re.findall(r"^#+ `([a-z-]+(?: [a-z0-9-]+)*)[^`]*`$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    )
    common = re.search(r"^Every command but .*?(?=^###)", text, re.MULTILINE | re.DOTALL)
    assert common
    for name, command in every_command():
        assert name in sections, f"docs/commands.md has no section `{name}`"
        for parameter in command.params:
            for option in (o for o in parameter.opts if o.startswith("--")):
                if option not in ("--help", "--version", "--json"):
                    written = sections[name] + (common[0] if name.startswith("ses ") else "")
                    assert f"`{option}`" in written, f"{name} {option} is not documented"


def test_every_documented_command_and_option_exists() -> None:
    text = (ROOT / "docs/commands.md").read_text()
    commands = dict(every_command())
    for name, body in re.findall(
        r"^#+ `([a-z-]+(?: [a-z0-9-]+)*)[^`]*`$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL
    ):
        if name == "ses-agent":
            continue
        assert name in commands, f"docs/commands.md documents `{name}`, which does not exist"
        known = {o for p in commands[name].params for o in [*p.opts, *p.secondary_opts]}
        for option in re.findall(r"^\| `(--[a-z-]+)", body, re.MULTILINE):
            assert option in known | {"--json"}, f"{name} has no {option}"


def test_every_agent_option_is_documented_and_back() -> None:
    agent = ROOT / "build/libses/agent/ses-agent"
    assert agent.exists(), "build it first: make native"
    out = subprocess.run([agent, "--help"], capture_output=True, text=True, check=True).stdout
    real = set(re.findall(r"(--[a-z][a-z-]+)", out))
    text = (ROOT / "docs/commands.md").read_text()
    section = re.search(r"^#+ `ses-agent[^`]*`$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section
    named = set(re.findall(r"^\| `(--[a-z-]+)", section[1], re.MULTILINE))
    assert real - {"--help", "--version"} == named - {"--help", "--version"}


def test_every_environment_variable_is_documented_and_back() -> None:
    sources = [
        path
        for folder, patterns in {
            "libses": ("*.c", "*.h", "*.cpp", "*.hpp", "*.py"),
            "ses-service": ("*.py",),
            "smed-monitor": ("*.py",),
            "webface": ("*.py",),
        }.items()
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
    ]
    assert sources
    read = {
        name
        for path in sources
        for name in re.findall(
            r"""(?:getenv\(|environ\.get\(|environ\[|envvar=|setting\(|environment_value\()\s*"(SES_[A-Z_]+)""",
            path.read_text(),
        )
    }
    text = (ROOT / "docs/commands.md").read_text()
    named = set(re.findall(r"^\| `(SES_[A-Z_]+)`", text, re.MULTILINE))
    assert named, "docs/commands.md documents no environment variable"
    assert read <= named, f"not documented: {sorted(read - named)}"
    everything = "\n".join(path.read_text() for path in sources)
    assert all(name in everything for name in named), "a documented variable is read nowhere"
