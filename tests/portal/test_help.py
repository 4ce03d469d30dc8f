"""The help page: its words are those of the documentation, its commands exist."""

import re
from pathlib import Path

from ses_webface.help import WORDS

ROOT = Path(__file__).parents[2]


def test_words_are_those_of_the_glossary() -> None:
    glossary = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
    known = {word.strip() for words in glossary for word in words.split(",")}
    assert {word for word, _meaning in WORDS} <= known


def test_every_page_leads_to_it(alice) -> None:
    assert 'href="/help"' in alice.get("/files").text
    page = alice.get("/help").text
    for word, meaning in WORDS:
        assert f"<dt>{word}</dt>" in page
        assert len(meaning) > 20
