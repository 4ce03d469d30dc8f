"""The commands of docs/cluster.md have the options they are given there."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/cluster.md").read_text("utf-8")
BLOCKS = re.findall(r"^ *```sh\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line.strip() for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]


def _own(command: str) -> list[str]:
    """The words of a command of QStorMan's, also of one that is run on all nodes; empty for others."""
    words = shlex.split(command)
    if words[0] == "clush":
        words = [part for part in shlex.split(words[-1]) if "=" not in part.split("-")[0]] or [""]
    return words if re.fullmatch(r"ses|ses-\w+|smed-\w+", words[0]) else []


OWN = [words for command in COMMANDS if (words := _own(command))]


def test_commands_are_found() -> None:
    assert [words[:2] for words in OWN].count(["ses", "init"]) == 1
    assert ["ses", "doctor"] in [words[:2] for words in OWN]


@pytest.mark.parametrize("words", OWN, ids=" ".join)
def test_every_option_is_one_of_the_command(words: list[str]) -> None:
    names = [word for word in words if not word.startswith("-")]
    pages = [ROOT / f"docs/commands/{'-'.join(names[:count])}.md" for count in (2, 1)]
    page = next(path for path in pages if path.exists()).read_text("utf-8")
    for option in (word for word in words if word.startswith("--")):
        assert f"`{option}" in page, option


def test_packages_and_units_are_those_that_are_built() -> None:
    control = (ROOT / "packaging/debian/control").read_text("utf-8")
    ours = set(re.findall(r"^Package: (\S+)", control, re.MULTILINE))
    units = {path.stem for path in (ROOT / "packaging/systemd").glob("*.service")}
    for command in COMMANDS:
        words = shlex.split(command.replace("'", " ").replace("&&", " "))
        if "install" in words:
            named = [word for word in words if re.match(r"ses|libses|smed|qstorman|python3-ses", word)]
            assert set(named) - {"ses-agent"} <= ours, command
        if "enable" in words or "restart" in words:
            named = [word for word in words if re.match(r"ses-|smed-", word)]
            assert set(named) <= units | ours, command
