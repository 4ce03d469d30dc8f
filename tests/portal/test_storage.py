"""The storage map."""

import html
import re

import pytest
from ses_webface.storage.services import (
    MAX_TILES,
    Map,
    Question,
    map_of_elements,
    map_of_groups,
    tile,
    wants_bundles,
)


def test_the_map_gives_number_colour_state_and_age(alice) -> None:
    text = alice.get("/storage").text
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
    assert f'<span class="number">{number}</span>' in alice.get(f"/storage?show={show}").text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"observed": "stale", "age_seconds": 12.0}, "old data"),
        ({"observed": "missing", "age_seconds": None}, "not monitored"),
        ({"state": "read-only"}, "read only"),
        ({"write_rate": None}, "load not seen"),
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


def many(make_element, count: int = 1000) -> list:
    """Elements of 10 servers in 2 tiers; each hundredth is drained."""
    return [
        make_element(
            f"b{number}", 50.0, id=f"union/b{number:05}", server=f"oss{number % 10}", pool="",
            tier="flash" if number % 10 < 3 else "disk", state="draining" if number % 100 == 0 else "active",
        )
        for number in range(count)
    ]  # fmt: skip


def build_map(site, asked: Question) -> Map:
    groups = site.element_groups(asked.chosen(), by=asked.by or None, measure=asked.show, limit=MAX_TILES)
    if wants_bundles(groups):
        return map_of_groups(groups, asked)
    first = (asked.page - 1) * MAX_TILES
    return map_of_elements(
        groups, site.elements(asked.chosen(), offset=first, limit=MAX_TILES).elements, asked
    )


def test_elements_are_grouped_as_asked_and_by_what_they_have(site, make_element) -> None:
    site.places = many(make_element, 20)
    drawn = build_map(site, Question(by="tier"))
    assert (drawn.choices, drawn.by) == (("tier", "server"), "tier")
    assert [(group.value, len(group.tiles)) for group in drawn.groups] == [("disk", 14), ("flash", 6)]
    assert build_map(site, Question(by="pool")).by == ""


def test_a_large_site_is_shown_in_groups_that_lead_to_their_elements(alice, site, make_element) -> None:
    site.places = many(make_element)
    drawn = build_map(site, Question())
    assert (drawn.by, drawn.shown, drawn.total, drawn.pages) == ("server", 1000, 1000, 1)
    bundle = drawn.groups[0].bundles[0]
    assert (bundle.title, bundle.total, bundle.usable, bundle.number) == (
        "server oss0",
        100,
        90,
        "4\u202f500\u00a0MB/s",
    )
    assert bundle.counts == (10, 0, 0, 90, 0, 0)
    text = alice.get("/storage").text
    assert text.count('class="tile bundle') == 10
    assert "10 not usable" in text
    address = html.unescape(re.search(r'href="([^"]*server=oss0[^"]*)"', text)[1])
    assert alice.get(address).text.count('class="tile heat-') == 100


def test_a_group_of_which_nothing_is_known_has_no_colour(site, make_element) -> None:
    site.places = [element.but(observation=None) for element in many(make_element)]
    bundle = build_map(site, Question(by="tier")).groups[0].bundles[0]
    assert (bundle.step, bundle.usable, bundle.number, bundle.share) == (0, 0, "–", None)


def test_elements_that_nothing_tells_apart_come_in_pages(alice, site, make_element) -> None:
    site.places = [element.but(server="", tier="") for element in many(make_element)]
    drawn = build_map(site, Question(page=3))
    assert (drawn.by, drawn.shown, drawn.pages) == ("", 1000 - 2 * MAX_TILES, 3)
    text = alice.get("/storage?page=2").text
    assert f"Page 2 of 3: {MAX_TILES} of 1\u202f000 elements" in text
    assert 'href="/storage?page=3"' in text
    for junk in ("0", "-1", "x", "99999999999"):
        assert alice.get(f"/storage?page={junk}").status_code == 200
    assert "Page 3 of 3: 200 of 1\u202f000 elements" in alice.get("/storage?page=99").text


def test_many_groups_come_in_pages(alice, site, make_element) -> None:
    site.places = [element.but(server=f"oss{element.id}", tier="") for element in many(make_element)]
    text = alice.get("/storage?page=9").text
    assert "Page 3 of 3: 200 of 1\u202f000 elements" in text
    assert text.count('class="tile bundle') == 1000 - 2 * MAX_TILES


def test_those_without_a_tier_can_be_shown_alone(alice, site, make_element) -> None:
    site.places = [make_element("b1", 9.0, tier="flash"), make_element("b2", 9.0, tier="")]
    text = alice.get("/storage?tier=-").text
    assert "union/b2" in text
    assert "union/b1" not in text


def test_one_storage_system_can_be_shown_alone(alice, site, make_element) -> None:
    site.places.append(make_element("o1", 9.0, id="scratch/o1", storage_system="scratch"))
    text = alice.get("/storage?system=scratch").text
    assert "scratch/o1" in text
    assert "union/b1" not in text


def test_the_map_alone_is_given_to_the_script(alice) -> None:
    text = alice.get("/storage", headers={"HX-Request": "true"}).text
    assert "<html" not in text
    assert 'class="tile' in text


def test_elements_that_are_full_soon_are_named_first(alice, site, make_element) -> None:
    site.places = [
        make_element("b1", 50.0, full_in_days=40.0, free_bytes_per_day=-1e9),
        make_element("b2", 50.0, full_in_days=11.6, free_bytes_per_day=-5e9),
        make_element("b3", 50.0, full_in_days=0.2, free_bytes_per_day=-9e9),
    ]
    text = " ".join(alice.get("/storage").text.split())
    outlook = re.search(r'aria-label="Space outlook">(.*?)</section>', text)[1]
    named = re.findall(r">union/(b\d)</a> ([^,.]*)", outlook)
    assert named == [("b3", "in less than a day"), ("b2", "in 12 days")]
    assert "in 40 days" in text
    page = " ".join(alice.get("/storage/union/b2").text.split())
    assert "Full in 12 days</b>, at the pace of the last weeks: 5 GB a day." in page
    assert "Space outlook" not in alice.get("/storage?tier=none").text


def test_an_element_is_found_by_its_name(alice, site, make_element) -> None:
    assert 'id="find"' not in alice.get("/storage").text, "few are found by looking"
    site.places = [make_element(f"b{number}", 50.0) for number in range(1, 60)]
    assert 'id="find"' in alice.get("/storage").text
    for name in ("b57", "union/b57", " b57 "):
        assert alice.get("/storage", query_string={"find": name}).location == "/storage/union/b57"
    missed = alice.get("/storage?find=b99", code=200)
    assert "There is no element “b99”" in missed.text
    assert 'value="b99"' in missed.text
