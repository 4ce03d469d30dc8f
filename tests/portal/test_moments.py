"""Times as people type them where they are, and as the service keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_client.messages.requirements import required
from ses_webface.moments import UnreadableTimeError, from_field, in_words, phase, to_field, zone_named

WARSAW = ZoneInfo("Europe/Warsaw")
ZONES = [ZoneInfo(name) for name in ("UTC", "Europe/Warsaw", "America/New_York", "Asia/Kathmandu")]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("2027-07-01T14:00", "2027-07-01T12:00:00Z"),
        ("2027-01-01 14:00", "2027-01-01T13:00:00Z"),
        (" 2027-01-01T14:00:30 ", "2027-01-01T13:00:30Z"),
        ("2027-10-31T02:30", "2027-10-31T00:30:00Z"),  # there twice: the first
    ],
)
def test_local_times_are_stored_in_utc(typed: str, stored: str) -> None:
    assert from_field(typed, WARSAW) == stored


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("tomorrow", "Write a date and a time"),
        ("2027-01-01T14:00Z", "without a zone"),
        ("0001-01-01T00:00", "Write a year"),
        ("9999-12-31T23:59", "Write a year"),
        ("2027-03-28T02:30", "clocks go forward"),
    ],
)
def test_what_is_no_time_is_explained(typed: str, says: str) -> None:
    with pytest.raises(UnreadableTimeError, match=says):
        from_field(typed, WARSAW)


@given(
    st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.sampled_from(ZONES)
)
def test_what_is_shown_and_typed_again_looks_the_same(moment: datetime, zone: ZoneInfo) -> None:
    shown = to_field(moment.isoformat(), zone)
    again = from_field(shown, zone)
    assert to_field(again, zone) == shown
    apart = moment.replace(microsecond=0) - datetime.fromisoformat(again)
    assert apart in (timedelta(), timedelta(hours=1)), "only an hour that is there twice may move"


@pytest.mark.parametrize(
    "name", [None, "", "Nowhere/City", "../../etc/passwd", "localtime", "x" * 100, "ŁÓDŹ"]
)
def test_a_zone_nobody_knows_is_none(name: str | None) -> None:
    assert zone_named(name) is None


def test_times_are_worded_with_their_zone() -> None:
    moment = datetime(2027, 7, 1, 12, tzinfo=UTC)
    assert in_words(moment, WARSAW) == "2027-07-01 14:00 CEST"
    assert in_words(moment, ZoneInfo("Asia/Kathmandu"), seconds=True) == "2027-07-01 17:45:00 UTC+05:45"


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_first_and_the_last_time_there_is_are_shown_everywhere(text: str, zone: ZoneInfo) -> None:
    assert to_field(text, zone)
    assert in_words(datetime.fromisoformat(text), zone)


def test_a_requirement_applies_from_its_first_moment_until_before_its_last() -> None:
    def at(now: str) -> str:
        wanted = required(
            "k", 1, "u", valid_from="2027-01-01T00:00:00Z", valid_until="2027-02-01T00:00:00+00:00"
        )
        return phase(wanted, datetime.fromisoformat(now).timestamp())

    assert at("2026-12-31T23:59:59Z") == "future"
    assert at("2027-01-01T00:00:00Z") == "now"
    assert at("2027-01-31T23:59:59Z") == "now"
    assert at("2027-02-01T00:00:00Z") == "over"
    assert phase(required("k", 1, "u"), 0) == "now"
