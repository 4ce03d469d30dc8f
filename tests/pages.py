"""What pages tell people to type, and what they show: the blocks of a page, in their order."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A block of a page.  ``language`` is empty where the page names none."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page; fails where there are none, or one of another form."""
    text = page.read_text("utf-8")
    matches = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert matches, f"{page} has no block"
    assert text.count("```") == 2 * len(matches), f"{page} has a block of another form"
    return [Block(language, text) for language, text in matches]


def shell(page: Path) -> list[str]:
    """Return the commands of a page, block by block."""
    return [block.text for block in blocks(page) if block.language == "sh"]


def patient(commands: str) -> str:
    """Return commands with those repeated that ask whether all is well, which takes a moment to become so."""
    asking = r"^(ses (?:doctor|explain|status)|smed-monitor check)\b"
    return re.sub(asking, r"until_well \1", commands, flags=re.MULTILINE)


def names_a_test(reference: str) -> bool:
    """Whether there is what a page names as ``folder/test_file.py`` or ``folder/test_file.py::test_name``."""
    file, _, name = reference.partition("::")
    path = Path(__file__).parent / file
    return path.is_file() and (not name or f"def {name}(" in path.read_text("utf-8"))
