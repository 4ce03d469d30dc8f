"""The storage map."""

from __future__ import annotations

import re

import pytest
from ses_client.answers.elements import Inventory, Source
from ses_webface.storage.services import MAX_TILES, build_map, tile


def test_the_map_gives_number_colour_state_and_age(alice) -> None:
    text = alice.get("/storage").get_data(as_text=True)
    tiles = re.findall(r'<li class="tile heat-(\d)">(.*?)</li>', text, re.S)
    assert [step for step, _ in tiles] == ["3", "5", "0"]
    assert "40\u00a0MB/s" in tiles[0][1]
    assert "active" in tiles[0][1]
    assert "0.4\u00a0s old" in tiles[0][1]
    assert "draining" in tiles[2][1]


@pytest.mark.parametrize(
    ("show", "number"), [("write", "40\u00a0MB/s"), ("free", "200\u00a0MB"), ("junk", "40\u00a0MB/s")]
)
def test_the_measure_can_be_chosen(alice, show: str, number: str) -> None:
    assert f'<span class="number">{number}</span>' in alice.get(f"/storage?show={show}").get_data(
        as_text=True
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"observed": "stale", "age_seconds": 12.0}, "old data"),
        ({"observed": "missing", "age_seconds": None}, "not monitored"),
        ({"state": "read-only"}, "read only"),
    ],
)
def test_numbers_that_mean_little_have_no_colour(
    make_element, changes: dict[str, object], words: str
) -> None:
    made = tile(make_element("b9", 50.0, **changes), "write")
    assert (made.step, made.words) == (0, words)


@pytest.mark.parametrize(
    ("write", "step"), [(0.0, 1), (19.0, 1), (20.0, 2), (59.0, 3), (99.0, 5), (140.0, 5)]
)
def test_colours_follow_the_share_that_is_left(make_element, write: float, step: int) -> None:
    assert tile(make_element("b9", write), "write").step == step


def test_a_large_site_is_cut_and_says_so(alice, site, make_element) -> None:
    site.places = [make_element(f"b{number}", 50.0, id=f"union/b{number:05}") for number in range(1000)]
    shown = build_map(
        Inventory(tuple(site.places), Source("monitor", True), Source("knowledge base", True)), "write", ""
    )
    assert (shown.shown, shown.total) == (MAX_TILES, 1000)
    assert f"The first {MAX_TILES} of 1000 elements are shown" in alice.get("/storage").get_data(as_text=True)


def test_one_storage_system_can_be_shown_alone(alice, site, make_element) -> None:
    site.places.append(make_element("o1", 9.0, id="scratch/o1", storage_system="scratch"))
    text = alice.get("/storage?system=scratch").get_data(as_text=True)
    assert "scratch/o1" in text
    assert "union/b1" not in text


def test_the_map_alone_is_given_to_the_script(alice) -> None:
    text = alice.get("/storage", headers={"HX-Request": "true"}).get_data(as_text=True)
    assert "<html" not in text
    assert 'class="tile' in text
