"""The way of a created file, from its claim to its row, is the one that the page lists."""

import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
SECTION = PAGE.partition("### From a claim to its row, file by file")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| `(\S+)` \| `(\S+)` \|", SECTION, re.MULTILINE)
LAST = ("ses-service/ses_service/store/upsert.py", "")


def text_of(name: str) -> str:
    """A file, in C and C++ with its header."""
    file = ROOT / name
    header = file.with_suffix(".h")
    return file.read_text("utf-8") + (header.read_text("utf-8") if header.exists() else "")


def test_the_walk_has_an_end_at_either_side() -> None:
    assert ROWS[0][0].startswith("libses/src/calls/")
    assert ROWS[-1] == ("ses-service/ses_service/store/writer.py", "upsert")


@pytest.mark.parametrize(("row", "following"), [*itertools.pairwise([*ROWS, LAST])], ids=lambda row: row[0])
def test_each_file_hands_on_to_the_next_by_what_is_named(
    row: tuple[str, str], following: tuple[str, str]
) -> None:
    name, by = row
    for file in (name, following[0]):
        assert re.search(rf"\b{re.escape(by)}\b", text_of(file)), f"{file} has no {by}"
