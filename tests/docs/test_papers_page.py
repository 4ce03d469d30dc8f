"""Each claim of the papers has one outcome, and what shows it exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
OUTCOMES = set(re.findall(r"\*\*([a-z]+)\*\*", PAGE.partition("\n## ")[0]))
CLAIMS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("\n## ")[2].splitlines()
    if line.startswith("| ") and not line.startswith("| claim")
]
COMMANDS = {
    heading
    for page in (ROOT / "docs/commands").glob("*.md")
    for heading in re.findall(r"^#+ `([a-z-]+(?: [a-z0-9-]+)*)", page.read_text("utf-8"), re.MULTILINE)
}


def test_the_five_papers_are_gone_through() -> None:
    assert len(re.findall(r"^## ", PAGE, re.MULTILINE)) == 5
    assert len(CLAIMS) > 70


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim[0][:40])
def test_a_claim_has_one_outcome_and_what_shows_it(claim: list[str]) -> None:
    _, shown_by, outcome = claim
    verdict, _, reason = outcome.partition("**: ")
    assert re.findall(r"\*\*([a-z]+)", verdict)[0] in OUTCOMES
    assert reason or verdict == "**there**"
    if not verdict.startswith("**absent"):
        assert shown_by
    for span in re.findall(r"`([^`]+)`", shown_by):
        if "/" in span.partition(" ")[0]:
            assert (ROOT / span).exists(), span
        else:
            words = span.partition(" --")[0]
            assert words in COMMANDS or words == "make bench", span
