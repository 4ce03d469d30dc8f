"""Each class of programs that the page of coverage names has a test, and that test has its case."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/coverage.md").read_text("utf-8")
CLASSES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("## Which programs")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| class of program")
]
WAYS = {"library", "supervisor", "directory", "steering"}


def test_the_page_has_thirty_classes_each_once() -> None:
    assert len({row[0] for row in CLASSES}) == len(CLASSES) >= 30


@pytest.mark.parametrize("row", CLASSES, ids=lambda row: row[0])
def test_a_class_is_reached_by_a_known_way_and_tested(row: list[str]) -> None:
    _, way, _, test = row
    assert set(way.split(", ")) <= WAYS
    cases, file = re.findall(r"\[(.+)\]\(\.\./(tests/.+)\)", test)[0]
    text = (ROOT / file).read_text("utf-8")
    assert [case for case in cases.split(", ") if case not in text] == []
