"""Requirements that hold for a time: typed in the reader's zone, kept, shown as what they are."""

from __future__ import annotations

import pytest
from ses_client.messages.requirements import Requirement, required
from ses_webface.portal import ZONE_COOKIE

WRITE = "kind_current_write_rate"
PATH = "/requirements/user/alice"
DATA = {"revision": "0", f"{WRITE}-bound": "20", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
FROM, UNTIL = f"{WRITE}-valid_from", f"{WRITE}-valid_until"
PAST = required(
    "current-write-rate", 80, "MB/s", weight=1, strictness="hard", valid_until="2026-01-01T00:00:00Z"
)
COMING = required("current-read-rate", 30, "MB/s", valid_from="2027-06-01T00:00:00Z")


def _state(site, level: str, name: str, *requirements: Requirement) -> None:
    site.replace_requirements(level, name, requirements, revision=0)


@pytest.fixture
def in_warsaw(alice):
    alice.client.set_cookie(ZONE_COOKIE, "Europe/Warsaw")
    return alice


def test_a_window_is_typed_as_clocks_show_it_and_stored_in_utc(in_warsaw, site) -> None:
    page = in_warsaw.get(PATH).get_data(as_text=True)
    assert 'name="zone" value="Europe/Warsaw"' in page
    assert "Times as clocks show them in Europe/Warsaw" in page
    data = {**DATA, "zone": "Europe/Warsaw", FROM: "2027-07-01T14:00", UNTIL: "2027-12-01T14:00"}
    assert in_warsaw.post(PATH, data).status_code == 303
    (saved,) = site.requirement_set("user", "alice").requirements
    assert (saved.valid_from, saved.valid_until) == ("2027-07-01T12:00:00Z", "2027-12-01T13:00:00Z")
    assert f'name="{FROM}" value="2027-07-01T14:00"' in in_warsaw.get(PATH).get_data(as_text=True)
    overview = in_warsaw.get("/requirements").get_data(as_text=True)
    assert "from 2027-07-01 14:00 CEST until 2027-12-01 14:00 CET" in overview


def test_the_zone_of_the_page_counts_not_that_of_the_moment(alice, site) -> None:
    """Somebody types in Warsaw and sends from New York."""
    alice.client.set_cookie(ZONE_COOKIE, "America/New_York")
    data = {**DATA, "zone": "Europe/Warsaw", FROM: "2027-07-01T14:00"}
    assert alice.post(PATH, data).status_code == 303
    (saved,) = site.requirement_set("user", "alice").requirements
    assert saved.valid_from == "2027-07-01T12:00:00Z"


def test_for_ever_can_be_read_and_edited_east_of_greenwich(in_warsaw, site) -> None:
    """Where the last moment a time can name is in the year 10000."""
    ever = required("current-write-rate", 20, "MB/s", valid_until="9999-12-31T23:59:59Z")
    _state(site, "user", "alice", ever)
    for path in ("/requirements", PATH, "/requirements/applied"):
        page = in_warsaw.get(path)
        assert page.status_code == 200, path
        assert "9999-12-31" in page.get_data(as_text=True)


def test_without_a_known_zone_times_are_utc(alice) -> None:
    alice.client.set_cookie(ZONE_COOKIE, "<script>alert(1)</script>")
    page = alice.get(PATH).get_data(as_text=True)
    assert "Times as clocks show them in UTC" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        (FROM, "soon", "Write a date and a time"),
        (UNTIL, "2027-03-28T02:30", "clocks go forward"),
        (UNTIL, "2027-01-01T00:00", "not after the time it is valid from"),
    ],
)
def test_a_wrong_time_is_named_and_kept(in_warsaw, site, field: str, typed: str, says: str) -> None:
    data = {**DATA, "zone": "Europe/Warsaw", FROM: "2027-02-01T00:00", field: typed}
    answer = in_warsaw.post(PATH, data)
    text = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert f'id="{field}-error"' in text
    assert says in text
    assert f'value="{typed}"' in text
    assert site.requirement_set("user", "alice").revision == 0


def test_what_is_over_or_not_yet_is_shown_so_and_does_not_count(alice, site) -> None:
    _state(site, "user", "alice", PAST, COMING)
    for page in ("/requirements", PATH):
        text = alice.get(page).get_data(as_text=True)
        assert ">expired</span>" in text
        assert ">not yet</span>" in text
    ranking = alice.get(PATH).get_data(as_text=True)
    assert "below the hard minimum" not in ranking, "what is over refuses nothing"
    assert "Not counted here: Current write rate, whose time is over." in ranking
    assert "Not counted here: Current read rate, which holds from 2027-06-01 00:00 UTC." in ranking


def test_what_is_over_lets_the_next_level_count(alice, site) -> None:
    _state(site, "user", "alice", PAST)
    _state(site, "site", "default", required("current-write-rate", 5, "MB/s"))
    page = alice.get("/requirements/applied").get_data(as_text=True)
    assert "Does not count: not valid any more." in page
    assert page.index("80\u00a0MB/s") < page.index("Applies.")
    assert "at least <b>5\u00a0MB/s</b></p>" in page


def test_an_emptied_time_is_gone(alice, site) -> None:
    _state(site, "user", "alice", PAST)
    assert alice.post(PATH, {**DATA, "revision": "1", UNTIL: ""}).status_code == 303
    (saved,) = site.requirement_set("user", "alice").requirements
    assert saved.valid_until is None
