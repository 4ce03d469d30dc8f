"""Names that are read otherwise than they are written are shown as what they are."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_selection import InMemorySelectionService
from ses_client.messages.selections import PlacementRecord
from ses_client.visible import visible

DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
HIDDEN = DIRECTIONS + "\u200b\ufeff\u2028\x1b\x7f\x85\xad"


@pytest.mark.parametrize("character", HIDDEN)
def test_what_cannot_be_seen_is_named(character: str) -> None:
    assert visible(f"a{character}b") == f"a{ascii(character)[1:-1]}b"


@pytest.mark.parametrize(
    "text", ["", "plain", "żółć/日本/שלום", "two\nlines\t", "کتاب\u200cخانه", "🧑\u200d🔬"]
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


def test_a_name_from_the_right_does_not_reorder_its_path(
    site: InMemorySelectionService,
    signed_in: Callable[[str], Any],
    make_placement: Callable[..., PlacementRecord],
) -> None:
    site.records.append(make_placement(3, "bob", path="/union/שלום/1.bin"))
    text = signed_in("bob").get(f"/files/{3:016x}").text
    assert "/<wbr>union/<wbr><bdi>שלום</bdi>/<wbr>1.bin" in text


def test_no_page_shows_a_name_reversed(
    site: InMemorySelectionService,
    signed_in: Callable[[str], Any],
    make_placement: Callable[..., PlacementRecord],
) -> None:
    name = "/union/bob/report\u202egpj.exe"
    site.records.append(make_placement(3, "bob", path=name, element="union/b\u20661"))
    bob = signed_in("bob")
    shown = 0
    for page in ("/files", f"/files/{3:016x}", f"/storage?show={name}", "/requirements"):
        text = bob.get(page).text
        assert not set(HIDDEN) & set(text), page
        shown += text.count("\\u202e")
    assert shown >= 2
