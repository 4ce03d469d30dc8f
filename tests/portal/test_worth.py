"""After requirements are saved, their page says what files got since then."""

import pytest
from ses_client.messages.requirements import Subject, required

ASKED = (required("current-write-rate", 50.0, "MB/s"),)
DD, DEFAULT = "/requirements/application/alice:dd", "/requirements/user/alice"


@pytest.fixture
def used(site, clock, make_placement, make_received):
    """Four files of alice's dd, the first of them from before it was saved, and one of her tar."""
    before, clock.now = clock.now, 1_799_999_005.0  # the first file has ended
    site.replace_requirements("application", "alice:dd", ASKED, revision=0)
    site.replace_requirements("user", "alice", ASKED, revision=0)
    clock.now = before
    for number, program, verdict in (
        (1, "dd", "missed"), (3, "dd", "missed"), (4, "dd", "met"), (5, "dd", "met"), (6, "tar", "nearly"),
    ):  # fmt: skip
        if number > 1:
            site.records.append(
                make_placement(number, "alice", subject=Subject(user="alice", application=program, vo=None))
            )
        record = next(record for record in site.records if record.placement_id == f"{number:016x}")
        site.got[record.placement_id] = make_received(record, verdict, application=program)
    return site


def worth_of(visitor, page: str) -> str:
    text = " ".join(visitor.get(page).text.split())
    return text.partition('id="worth-title"')[2].partition("</section>")[0]


def test_an_application_says_what_its_files_got_since_it_was_saved(alice, used) -> None:
    said = worth_of(alice, DD)
    assert "<b>67%</b> of the 3 files that can be judged got all that was required: 2 met" in said
    link = said.partition('href="/files?')[2].partition('"')[0].replace("&amp;", "&")
    listed = alice.get(f"/files?{link}").text
    assert listed.count("dd</span>") == 3


def test_a_default_speaks_for_programs_without_requirements_of_their_own(alice, used) -> None:
    assert "<b>0%</b> of the 1 file that can be judged got all that was required" in worth_of(alice, DEFAULT)


def test_before_any_file_it_says_how_to_get_one(alice, site) -> None:
    assert worth_of(alice, DD) == "", "nothing is saved"
    site.replace_requirements("application", "alice:gzip", ASKED, revision=0)
    assert "<code>ses-run</code>" in worth_of(alice, "/requirements/application/alice:gzip")


def test_a_page_is_shown_while_nobody_knows_what_files_got(alice, used, monkeypatch) -> None:
    from ses_client.errors import UnavailableError

    def away(*_: object) -> None:
        raise UnavailableError("The database cannot be reached.")

    monkeypatch.setattr(type(used), "report", away)
    page = alice.get(DD, code=200)
    assert "worth-title" not in page.text
    assert "ranks first" in page.text, "the rest of it is known"


def test_given_requirements_show_files_of_nobody(alice, used) -> None:
    used.acting("root").replace_requirements("site", "default", ASKED, revision=0)
    assert worth_of(alice, "/requirements/site/default") == ""
