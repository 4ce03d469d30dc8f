"""The storage map, the list of placements and the explanation of one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ses_webface.errors import RefusedError
from ses_webface.files_model import Received
from ses_webface.placements.pictures import busy_line, rate_line
from ses_webface.selection_model import Candidate, Prediction, Storage
from ses_webface.shortfalls import expectation, misses
from ses_webface.storage.services import MAX_TILES, build_map, tile
from ses_webface.vocabulary import Kind, Vocabulary


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
    site.elements = [make_element(f"b{number}", 50.0, id=f"union/b{number:05}") for number in range(1000)]
    shown = build_map(Storage(0.0, tuple(site.elements), ()), "write", "")
    assert (shown.shown, shown.total) == (MAX_TILES, 1000)
    assert f"The first {MAX_TILES} of 1000 elements are shown" in alice.get("/storage").get_data(as_text=True)


def test_one_storage_system_can_be_shown_alone(alice, site, make_element) -> None:
    site.elements.append(make_element("o1", 9.0, id="scratch/o1", storage_system="scratch"))
    text = alice.get("/storage?system=scratch").get_data(as_text=True)
    assert "scratch/o1" in text
    assert "union/b1" not in text


def test_the_map_alone_is_given_to_the_script(alice) -> None:
    text = alice.get("/storage", headers={"HX-Request": "true"}).get_data(as_text=True)
    assert "<html" not in text
    assert 'class="tile' in text


def test_everybody_sees_their_own_placements_only(alice, signed_in) -> None:
    text = alice.get("/placements?user=bob").get_data(as_text=True)
    assert "/union/alice/1.bin" in text
    assert "/union/bob/2.bin" not in text
    everything = signed_in("root").get("/placements").get_data(as_text=True)
    assert "/union/alice/1.bin" in everything
    assert "/union/bob/2.bin" in everything


def test_somebody_elses_placement_looks_like_none(alice, signed_in) -> None:
    theirs, none = alice.get("/placements/0000000000000002"), alice.get("/placements/00000000000000ff")
    assert theirs.status_code == none.status_code == 404
    assert alice.seen(theirs) == alice.seen(none)
    assert signed_in("root").get("/placements/0000000000000002").status_code == 200


def test_placements_can_be_narrowed(alice, site, make_placement) -> None:
    site.records.append(
        make_placement(3, "alice", element="union/b2", state="open", ended_at=None, end_reason=None)
    )
    for query, expected in (
        ("element=union/b2", ["3"]),
        ("state=ended", ["1"]),
        ("path=/union/alice/3.bin", ["3"]),
        ("state=nonsense", ["3", "1"]),
    ):
        text = alice.get(f"/placements?{query}").get_data(as_text=True)
        assert re.findall(r"(\d)\.bin</th>", text) == expected
    assert "No placement fits" in alice.get("/placements?element=union/b7").get_data(as_text=True)


def test_a_filter_the_service_refuses_is_explained(alice, site, monkeypatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise RefusedError("The request cannot be right.", (("query.element", "too short"),))

    monkeypatch.setattr(site, "placements", refuse)
    answer = alice.get("/placements?element=b1")
    assert answer.status_code == 422
    assert "These filters cannot be used: The request cannot be right.; too short" in answer.text
    assert 'value="b1"' in answer.text


def test_what_was_decided_in_vain_is_left_out_and_counted(alice, site, make_placement) -> None:
    in_vain = {"path": None, "opened_at": None, "bytes_written": None}
    for number in (6, 7):
        site.records.append(make_placement(number, "alice", end_reason="unused", **in_vain))
    text = alice.get("/placements").get_data(as_text=True)
    assert "/union/alice/1.bin" in text
    assert "never used" not in text
    assert "2 decisions of which no file came are left out" in text
    everything = alice.get("/placements?state=all").get_data(as_text=True)
    assert everything.count("never used") == 2
    assert "left out" not in everything


def test_an_explanation_says_what_was_asked_expected_and_refused(alice) -> None:
    text = alice.get("/placements/0000000000000001").get_data(as_text=True)
    for words in (
        "union/b1 was expected to give 40\u00a0MB/s of the 50\u00a0MB/s asked for (current write rate).",
        "VO materials",
        "union/b3",
        "b3 is being emptied by its administrator.",
        "80\u00a0MB, 40\u00a0MB/s while it was open",
        "file closed",
    ):
        assert words in text


WORDS = Vocabulary(
    (
        Kind("current-write-rate", "current write rate", "", "MB/s", (("MB/s", 1.0),)),
        Kind("free-capacity", "free capacity", "", "GB", (("GB", 1.0),)),
        Kind("latency", "latency", "", "ms", (("ms", 1.0),), at_most=True),
    )
)
RATE = Prediction("current-write-rate", 40.0, "MB/s", 50.0, 0.2)
SPACE = Prediction("free-capacity", 3.0, "GB", 4.0, 0.25)
LATENCY = Prediction("latency", 12.0, "ms", 10.0, 1 / 6)
MET = Prediction("free-capacity", 9.0, "GB", 4.0, 0.0)
HARDLY = Prediction("current-write-rate", 49.9, "MB/s", 50.0, 0.002)
UNKNOWN = Prediction("current-write-rate", None, "MB/s", 50.0, 1.0)


@pytest.mark.parametrize(
    ("predicted", "short", "sentence"),
    [
        ((), "meets everything", "e was expected to give everything asked for."),
        ((MET,), "meets everything", "e was expected to give everything asked for."),
        (
            (SPACE, RATE),
            "current write rate 20% short, free capacity 25% short",
            "e was expected to give 40 MB/s of the 50 MB/s asked for (current write rate) and 3 GB of the "
            "4 GB asked for (free capacity).",
        ),
        (
            (RATE, MET),
            "current write rate 20% short",
            "e was expected to give 40 MB/s of the 50 MB/s asked for (current write rate), and to meet the "
            "rest.",
        ),
        (
            (LATENCY, MET),
            "latency 20% over",
            "e was expected to give 12 ms where at most 10 ms was asked for (latency), and to meet the rest.",
        ),
        (
            (HARDLY,),
            "current write rate under 1% short",
            "e was expected to give 49.9 MB/s of the 50 MB/s asked for (current write rate).",
        ),
        (
            (UNKNOWN,),
            "current write rate unknown",
            "e was expected to give an unknown part of the 50 MB/s asked for (current write rate).",
        ),
    ],
)
def test_every_kind_that_is_missed_is_named_with_its_own_numbers(
    make_placement, predicted: tuple[Prediction, ...], short: str, sentence: str
) -> None:
    distance = max((one.shortfall for one in predicted), default=0.0)
    made = make_placement(8, "alice", predicted=predicted, distance=distance * 0.9)
    assert misses(made, WORDS) == short
    assert expectation("e", predicted, WORDS).replace("\u00a0", " ") == sentence


def test_a_list_shows_what_is_missed_and_not_the_distance(alice, site, make_placement) -> None:
    site.records = [make_placement(9, "alice", predicted=(RATE, SPACE), distance=0.18)]
    text = alice.get("/placements").get_data(as_text=True)
    assert "current write rate 20% short, free capacity 25% short" in text
    assert "18%" not in text


def test_a_choice_that_did_not_rank_first_is_not_called_the_best(alice, site, make_placement) -> None:
    ranked = tuple(
        Candidate(rank, name, 0.0, 90.0, 90.0, 1.0, (), 0.4, "monitor+ledger")
        for rank, name in ((1, "union/b2"), (2, "union/b1"))
    )
    site.records.append(make_placement(5, "alice", candidates=ranked, distance=0.0))
    text = alice.get("/placements/0000000000000005").get_data(as_text=True)
    assert "It ranked 2 of 2" in text
    assert "ranked first" not in text


def test_paths_are_text_and_never_markup(alice, site, make_placement) -> None:
    site.records.append(make_placement(4, "alice", path="/union/<img src=x onerror=alert(1)>"))
    for page in ("/placements", "/placements/0000000000000004"):
        text = alice.get(page).get_data(as_text=True)
        assert "<img src=x" not in text
        assert "&lt;img src=x" in text


def received(verdict: str = "missed", why: str = "Others came: from 1 to 9 streams.") -> Received:
    kind = {
        "kind": "current-write-rate", "unit": "MB/s", "required": 50.0, "predicted": 60.0, "achieved": 20.0,
        "at_least": 20.0, "verdict": verdict, "why": "",
    }  # fmt: skip
    told = {
        "verdict": verdict, "why": why, "kinds": [kind], "doubts": [], "samples": [[0, 0, 0], [10, 2e8, 0]],
        "load": [[0, 0.5, 1], [10, 1.0, 9]],
    }  # fmt: skip
    return Received.read(told)


def test_a_person_goes_from_a_missed_requirement_to_its_cause(alice, site) -> None:
    site.files = {"0000000000000001": received()}
    overview = alice.get("/placements").get_data(as_text=True)
    assert '<span class="verdict bad">missed</span>' in overview
    page = alice.get("/placements/0000000000000001").get_data(as_text=True)
    for said in (
        "What it got",
        "Others came: from 1 to 9 streams.",
        "20\u00a0MB/s",
        "60\u00a0MB/s",
        "How busy",
    ):
        assert said in page
    assert page.count("<polyline") == 2
    site.files = {}
    assert "What it got" not in alice.get("/placements/0000000000000001").get_data(as_text=True)


def test_pictures_are_drawn_from_what_is_known_only() -> None:
    line = rate_line(received())
    assert line is not None
    assert (line.top, line.unit, line.seconds, line.points) == (20.0, "MB/s", 10.0, "0.0,0.0 600.0,0.0")
    busy = busy_line(received())
    assert busy is not None
    assert busy.points == "0.0,60.0 600.0,0.0"
    nothing = replace(received(), samples=((0.0, 0.0, 0.0),), load=((0.0, -1.0, 0.0), (5.0, -1.0, 1.0)))
    assert rate_line(nothing) is None
    assert busy_line(nothing) is None
