"""Profiles: what each requires, who takes it up, and what files got of what was predicted for them."""

import re
from html import unescape

import pytest
from fake_selection import KINDS
from ses_client.messages.requirements import Subject, required
from ses_client.messages.vocabulary import MeasuredRun, Profile, Vocabulary

BAD = "<img src=x onerror=alert(1)>"
REQUIRED = (required("current-write-rate", 50.0, "MB/s"),)
SIMULATE = Profile(
    profile="alice:simulate",
    label="alice:simulate",
    definition="",
    requirements=REQUIRED,
    measured=MeasuredRun(read_bytes=2e8, written_bytes=9e7, seconds=9.0, processor_seconds=1.5, cores=2),
    modified_by="alice",
    modified_at=1.7e9,
)
CHECKPOINT = Profile(
    profile="checkpoint", label="checkpoint", definition=f"State {BAD}", requirements=REQUIRED
)
PAGE = "/profiles/alice:simulate"


@pytest.fixture
def used(site, clock, make_placement, make_received):
    """Alice's dd takes her profile up; then two jobs of it wrote files, and another program one."""
    site.words = Vocabulary(kinds=KINDS, profiles=(CHECKPOINT, SIMULATE))
    before, clock.now = clock.now, 1_799_999_005.0  # the first file of the site has ended
    site.replace_requirements("application", "alice:dd", (), profile="alice:simulate", revision=0)
    clock.now = before
    for number, program, achieved, verdict in (
        (1, "dd", 6.0, "missed"),
        (3, "dd", 30.0, "missed"),
        (4, "dd", 54.0, "nearly"),
        (5, "dd", 55.0, "met"),
        (6, "tar", 6.0, "missed"),
    ):
        if number > 1:
            site.records.append(
                make_placement(number, "alice", subject=Subject(user="alice", application=program, vo=None))
            )
        record = next(record for record in site.records if record.placement_id == f"{number:016x}")
        site.got[record.placement_id] = make_received(
            record, verdict, application=program, achieved=achieved, predicted=60.0
        )
        site.jobs[record.placement_id] = "471" if number in (1, 3) else "472"
    return site


def rows(text: str, by: str) -> list[list[str]]:
    """The cells of the table by something, as words."""
    table = text.partition(f'aria-label="By {by}, table"')[2].partition("</table>")[0]
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[hd]>", row)[:-1]]
        for row in re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    ]


def test_a_saved_profile_shows_predicted_against_measured_by_application_and_job(alice, used) -> None:
    text = alice.get(PAGE).text
    assert rows(text, "application") == [["dd", "70% of 2 files", "33%", "3"]]
    assert rows(text, "job") == [["471", "50% of 1 file", "0%", "1"], ["472", "90% of 1 file", "50%", "2"]]
    assert "Others came: 1 file" in text
    assert 'href="/files?whose=mine&amp;job=471"' in text


def test_the_run_it_was_measured_in_is_reported(alice, used) -> None:
    words = " ".join(unescape(alice.get(PAGE).text).split())
    assert "read 200 MB and wrote 90 MB in 9 s, with 1.5 s of processor time on at most 2 cores" in words
    assert "ses advise --profile alice:simulate" in words
    assert "Measured:" not in alice.get("/profiles/checkpoint").text


def test_a_default_speaks_for_programs_without_a_profile_of_their_own(alice, used, clock) -> None:
    before, clock.now = clock.now, 0.0
    used.replace_requirements("user", "alice", (), profile="checkpoint", revision=0)
    clock.now = before
    assert rows(alice.get("/profiles/checkpoint").text, "application") == [
        ["tar", "10% of 1 file", "0%", "1"]
    ]
    used.replace_requirements("site", "default", (), profile="checkpoint", revision=0)
    assert alice.get("/profiles/checkpoint").text.count("No file of yours has ended under it yet.") == 1


def test_files_of_others_are_not_counted(signed_in, used) -> None:
    used.replace_requirements("site", "default", (), profile="alice:simulate", revision=0)
    bob = signed_in("bob")
    text = bob.seen(bob.get(PAGE))
    assert "No file of yours has ended under it yet." in text
    assert "471" not in text


def test_a_profile_nobody_takes_up_says_how_to(alice, used) -> None:
    text = alice.get("/profiles/checkpoint").text
    assert "ses requirements set user alice --profile checkpoint" in text
    assert alice.get("/profiles/nothing").status_code == 404


def test_all_profiles_are_listed_with_who_takes_them_up(alice, used) -> None:
    text = alice.get("/profiles").text
    assert re.findall(r'href="(/profiles/[^"]+)"', text) == [
        "/profiles/checkpoint",
        "/profiles/alice:simulate",
    ]
    assert 'taken up by <a href="/requirements/application/alice:dd">Application dd</a>' in text
    assert "<img src=x" not in text
    assert 'href="/profiles/alice:simulate"' in alice.get("/requirements").text
    assert "/profiles" in alice.get("/requirements/user/alice").text


def test_without_profiles_it_says_how_to_store_one(alice) -> None:
    assert "ses profile --save profile alice:NAME -- PROGRAM" in alice.get("/profiles").text
