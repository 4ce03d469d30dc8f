"""Each promise of the page about security names a test that there is."""

import re
from pathlib import Path

import pytest
from pages import names_a_test

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split(" | ")]
    for line in (ROOT / "docs/security.md").read_text().splitlines()
    if line.startswith("| ") and "`" in line and ".py" in line
]


def test_the_page_is_a_table() -> None:
    assert len(ROWS) > 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[-1][-60:])
def test_a_row_says_who_what_and_what_holds_and_its_test_is_there(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)
    match = re.fullmatch(r"`([\w/]+\.py(?:::\w+)?)`", row[-1])
    assert match is not None
    assert names_a_test(match[1])
