"""Each invariant of the architecture names tests that keep it, and that there are."""

import re
from pathlib import Path

import pytest
from pages import names_a_test

PAGE = (Path(__file__).resolve().parents[2] / "docs/architecture.md").read_text()
INVARIANTS = re.split(
    r"^\d+\. ", PAGE.partition("## Invariants")[2].partition("\n## ")[0], flags=re.MULTILINE
)[1:]


def test_the_page_has_invariants() -> None:
    assert len(INVARIANTS) > 10


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda text: text[:60])
def test_an_invariant_names_the_tests_that_keep_it(invariant: str) -> None:
    named = re.findall(r"`([\w/]+\.py::\w+)`", invariant)
    assert named
    assert [test for test in named if not names_a_test(test)] == []
