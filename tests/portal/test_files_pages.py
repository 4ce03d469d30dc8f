"""Files: the list and its filters, sums, downloads, and the explanation of one."""

import csv
import io
import re

import pytest
from ses_client.errors import RefusedError
from ses_client.messages.requirements import Subject
from ses_client.messages.selections import Candidate, Prediction, Rates
from ses_webface.files.pictures import busy_line, rate_line


def test_everybody_sees_their_own_files_only(alice, signed_in) -> None:
    assert paths(alice.get("/files?user=bob").text) == ["1"]
    assert paths(signed_in("root").get("/files").text) == ["2", "1"]
    assert paths(signed_in("root").get("/files?whose=mine").text) == []


def test_somebody_elses_placement_looks_like_none(alice, signed_in) -> None:
    ids = "0000000000000002", "00000000000000ff"
    theirs, none = (alice.get(f"/files/{placement_id}") for placement_id in ids)
    assert theirs.status_code == none.status_code == 404
    assert alice.seen(theirs).replace(ids[0], ids[1]) == alice.seen(none)
    assert f"There is no file {ids[1]}." in none.text
    assert signed_in("root").get("/files/0000000000000002").status_code == 200


def test_notes_of_the_decision_are_on_the_page_of_the_file(alice, site, make_placement) -> None:
    note = "The node was offline; the last answer of the service was 9.0 s old."
    site.records.append(make_placement(6, "alice", notes=(note,)))
    assert note in alice.get(f"/files/{site.records[-1].placement_id}").text


@pytest.fixture
def full(site, make_placement, make_received):
    """Alice's three files besides the first: one that is open, and two whose job ended."""
    for number, verdict, element in (
        (3, None, "union/b2"),
        (4, "met", "union/b2"),
        (5, "missed", "union/b1"),
    ):
        ended = {} if verdict else {"state": "open", "ended_at": None, "end_reason": None}
        site.records.append(make_placement(number, "alice", element=element, **ended))
        if verdict:
            site.got[site.records[-1].placement_id] = make_received(site.records[-1], verdict)
            site.jobs[site.records[-1].placement_id] = f"47{number}"
    return site


def paths(text: str) -> list[str]:
    return re.findall(r"(\d)\.bin</a></th>", text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "3541"),
        ("element=union/b2", "34"),
        ("state=open", "3"),
        ("state=ended&verdict=met", "4"),
        ("verdict=missed", "5"),
        ("path=e/5", "5"),
        ("application=dd", "3541"),
        ("application=tar", ""),
        ("job=475", "5"),
        ("since=2027-01-15T07:43:28&until=2027-01-15T07:43:28", "3"),
        ("since=2027-01-15T07:43:27", "354"),
    ],
)
def test_files_can_be_narrowed(alice, full, query: str, expected: str) -> None:
    assert paths(alice.get(f"/files?{query}").text) == list(expected)


def test_times_of_filters_are_those_of_the_readers_clock(alice, full) -> None:
    alice.client.set_cookie("ses_webface_zone", "Europe/Warsaw")
    assert paths(alice.get("/files?since=2027-01-15T08:43:27").text) == ["3", "5", "4"]
    wrong = alice.get("/files?since=tomorrow", code=422)
    assert "Ended from: Write a date and a time" in wrong.text
    assert 'value="tomorrow"' in wrong.text
    assert alice.get("/files/download.csv?since=tomorrow").status_code == 400


def test_a_list_goes_on_where_its_page_ends_with_the_same_filters(
    alice, site, make_placement, monkeypatch
) -> None:
    monkeypatch.setattr("ses_webface.files.views.LISTED", 2)
    site.records = [make_placement(number, "alice") for number in range(1, 6)]
    seen, address = [], "/files?element=union/b1"
    while address:
        text = alice.get(address).text
        seen += paths(text)
        further = re.search(r'href="([^"]+)" rel="next"', text)
        address = further and further[1].replace("&amp;", "&")
        assert not address or "element=union/b1" in address
    assert seen == list("54321")
    assert "Latest files" in text


def test_empty_lists_say_why_they_are_empty(alice, site) -> None:
    assert "No file fits these filters" in alice.get("/files?element=union/b7").text
    assert "No file that fits these filters has ended" in alice.get("/files/summary?element=union/b7").text
    site.records = []
    assert "No file has been placed yet" in alice.get("/files").text
    assert "No file has ended yet" in alice.get("/files/summary").text


def test_downloads_hold_all_files_of_the_filter(alice, full, monkeypatch) -> None:
    monkeypatch.setattr("ses_webface.files.downloads.MAX_AT_ONCE", 2)
    page = alice.get("/files?element=union/b1").text
    (address,) = re.findall(r'href="(/files/download.csv[^"]+)"', page)
    download = alice.get(address)
    assert download.mimetype == "text/csv"
    assert "attachment" in download.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(download.text)))
    assert [row["path"] for row in rows] == ["/union/alice/5.bin", "/union/alice/1.bin"]
    assert (rows[0]["verdict"], rows[0]["achieved"], rows[1]["achieved"]) == ("missed", "20.0", "")
    everything = alice.get("/files/download.json").get_json()["files"]
    assert [row["path"][-5] for row in everything] == list("3541")
    assert alice.get("/files/download.json?element=union/b7").get_json() == {"files": []}
    assert alice.get("/files/download.xml").status_code == 404


def test_no_name_of_a_file_is_a_formula_of_a_spreadsheet(alice, site, make_placement) -> None:
    site.records = [make_placement(1, "alice", path="=HYPERLINK(0)")]
    (row,) = csv.DictReader(io.StringIO(alice.get("/files/download.csv").text))
    assert row["path"] == "'=HYPERLINK(0)"


def test_a_download_that_cannot_be_begun_says_so(alice, site) -> None:
    assert " download>" not in alice.get("/files").text, "a browser would only say that it failed"
    site.down = "The selection service cannot be reached."
    answer = alice.get("/files/download.csv", code=503)
    assert site.down in answer.text
    assert "attachment" not in answer.headers.get("Content-Disposition", "")


def test_sums_by_application_and_job_lead_to_their_files(alice, full) -> None:
    text = alice.get("/files/summary").text
    assert "<b>50%</b> of the 2 files that can be judged" in text
    assert "Others came: 1 file<" in text
    jobs = text.partition("By job, worst first")[2].partition("By element")[0]
    assert re.findall(r'href="(/files\?[^"]+)"', jobs) == ["/files?job=475", "/files?job=474"], (
        "the worst first"
    )
    assert paths(alice.get("/files?job=475").text) == ["5"]


def test_managers_see_files_of_their_vo_and_edit_what_it_requires(
    app, full, signed_in, make_placement
) -> None:
    full.records.append(
        make_placement(6, "carol", subject=Subject(user="carol", application="dd", vo="biology"))
    )
    full.home_vo["mia"] = "materials"
    password = "looks after the lab"
    app.extensions["ses_webface"].accounts.add("mia", password, vo="materials", is_manager=True)
    mia = signed_in("mia", password)
    assert paths(mia.get("/files").text) == []
    assert paths(mia.get("/files?whose=vo").text) == ["3", "5", "4", "2", "1"]
    assert paths(mia.get("/files?whose=vo&user=bob").text) == ["2"]
    assert paths(mia.get("/files?whose=all").text) == []
    assert paths(mia.get("/files?user=carol").text) == []
    assert mia.get("/files/0000000000000005").status_code == 200
    assert mia.get("/files/0000000000000006").status_code == 404
    assert mia.get("/requirements/vo/materials").text.count("Save") > 0
    mia.post("/requirements/vo/materials", {"revision": "0", "kind_free_capacity-bound": "3"}, code=303)
    assert mia.get("/requirements/vo/biology").status_code == 403


def test_nobody_else_sees_files_of_a_vo(alice, full) -> None:
    for query in ("whose=vo", "whose=all", "user=bob"):
        assert "bob" not in alice.seen(alice.get(f"/files?{query}"))
        assert "bob" not in alice.get(f"/files/download.csv?{query}").text


def test_what_a_file_got_outlives_why_it_was_placed(alice, full) -> None:
    full.records = [record for record in full.records if not record.path.endswith("5.bin")]
    text = alice.get("/files/0000000000000005").text
    assert "Why it did is no longer kept" in text
    assert "Others came: from 1 to 9 streams." in text
    assert "How the places ranked" not in text


def test_a_filter_the_service_refuses_is_explained(alice, site, monkeypatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise RefusedError("The request cannot be right.", 422, (("query.element", "too short"),))

    monkeypatch.setattr(site, "files", refuse)
    answer = alice.get("/files?element=b1", code=422)
    assert "These filters cannot be used: The request cannot be right.; too short" in answer.text
    assert 'value="b1"' in answer.text


def test_an_explanation_says_what_was_asked_expected_and_refused(alice) -> None:
    text = alice.get("/files/0000000000000001").text
    for words in (
        "union/b1 was expected to give 40\u00a0MB/s of the 50\u00a0MB/s asked for (current write rate).",
        "VO materials",
        "union/b3",
        "b3 is being emptied by its administrator.",
        "80\u00a0MB, 40\u00a0MB/s while it was open",
        "file closed",
    ):
        assert words in text


def test_an_open_file_says_what_it_gets_from_now_on(alice, site, make_placement) -> None:
    now = (Prediction(kind="current-write-rate", value=12.5, unit="MB/s", minimum=50.0, shortfall=0.75),)
    site.records.append(make_placement(5, "alice", state="open", ended_at=None, predicted_now=now))
    open_one, ended = (alice.get(f"/files/{number:016x}").text for number in (5, 1))
    assert "From now on" in open_one
    assert "12.5\u00a0MB/s" in open_one
    assert "From now on" not in ended


def test_a_choice_that_did_not_rank_first_is_not_called_the_best(alice, site, make_placement) -> None:
    ranked = tuple(
        Candidate(
            rank=rank,
            element=name,
            distance=0.0,
            free_gb=1.0,
            predicted=(),
            age_seconds=0.4,
            basis="monitor+ledger",
            available=Rates(read_mb_s=90.0, write_mb_s=90.0),
        )
        for rank, name in ((1, "union/b2"), (2, "union/b1"))
    )
    site.records.append(make_placement(5, "alice", candidates=ranked, distance=0.0))
    text = alice.get("/files/0000000000000005").text
    assert "It ranked 2 of 2" in text
    assert "ranked first" not in text


def test_paths_are_text_and_never_markup(alice, site, make_placement) -> None:
    site.records.append(make_placement(4, "alice", path="/union/<img src=x onerror=alert(1)>"))
    for page in ("/files", "/files/0000000000000004"):
        text = alice.get(page).text
        assert "<img src=x" not in text
        assert "&lt;img src=x" in text


def test_a_person_goes_from_a_missed_requirement_to_its_cause(alice, site, make_received) -> None:
    site.got = {"0000000000000001": make_received(site.records[0])}
    overview = alice.get("/files").text
    assert '<span class="verdict bad">missed</span> <span class="muted small">others came</span>' in overview
    page = alice.get("/files/0000000000000001").text
    for said in (
        "What it got",
        "Others came: from 1 to 9 streams.",
        "20\u00a0MB/s",
        "60\u00a0MB/s",
        "How busy",
    ):
        assert said in page
    assert page.count("<polyline") == 2
    site.got = {}
    assert "What it got" not in alice.get("/files/0000000000000001").text


def test_pictures_are_drawn_from_what_is_known_only(make_placement, make_received) -> None:
    known = make_received(make_placement(1, "alice"))
    line = rate_line(known)
    assert line is not None
    assert (line.top, line.unit, line.seconds) == (30.0, "MB/s", 10.0)
    assert line.points.startswith("0.0,0.0 240.0,0.0 240.0,")
    busy = busy_line(known)
    assert busy is not None
    assert busy.points == "0.0,60.0 600.0,0.0"
    nothing = known.but(samples=((0.0, 0.0, 0.0),), load=((0.0, -1.0, 0.0), (5.0, -1.0, 1.0)))
    assert rate_line(nothing) is None
    assert busy_line(nothing) is None
