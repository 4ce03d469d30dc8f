"""Pages of large sites stay short: the worst and one's own are shown, and the rest is counted."""

from ses_client.messages.requirements import Subject, required
from ses_client.messages.vocabulary import Profile, Vocabulary

ASKED = (required("current-write-rate", 50.0, "MB/s"),)


def test_refused_elements_are_counted_by_reason_beyond_the_first(alice, site, make_element) -> None:
    site.places = [make_element(f"b{number}", 10.0) for number in range(1000)]
    fields = {"kind_current_write_rate-bound": "50", "kind_current_write_rate-unit": "MB/s"}
    fields["kind_current_write_rate-strictness"] = "hard"
    text = alice.post("/requirements/user/alice/preview", fields, page="/account").text
    assert text.count("below the hard minimum") == 20
    assert "And more: 980 hard requirement." in text


def test_a_summary_shows_the_worst_of_many_jobs(alice, site, make_placement, make_received) -> None:
    for number in range(10, 70):
        record = make_placement(number, "alice", subject=Subject(user="alice", application="dd", vo=None))
        site.records.append(record)
        site.got[record.placement_id] = make_received(record)
        site.jobs[record.placement_id] = str(number)
    text = alice.get("/files/summary").text
    assert text.count('href="/files?job=') == 50
    assert "The worst 50 of 61." in text, "and those of no job"


def test_ones_own_profiles_come_before_those_of_others(alice, site) -> None:
    names = ("bob:x", "alice:simulate", "%materials:shared", "checkpoint")
    profiles = tuple(Profile(profile=name, label=name, definition="", requirements=ASKED) for name in names)
    site.words = Vocabulary(kinds=site.words.kinds, profiles=profiles)
    ordered = ["checkpoint", "alice:simulate", "%materials:shared", "bob:x"]
    for page in ("/profiles", "/requirements/user/alice"):
        text = alice.get(page).text.partition("<main")[2]
        places = [text.index(f">{name}<") for name in ordered]
        assert places == sorted(places), page
    assert text.count("<optgroup") == 4


def test_names_of_any_length_stay_inside_on_a_phone(
    site, served, app, open_window, make_element, make_placement, make_received
) -> None:
    name, vo = "a-long-name-" * 16, "v" * 120
    site.home_vo["alice"] = vo
    site.places = [make_element(name, 40.0, tier=name, server=name, pool=name, write_rate=1e15)]
    site.replace_requirements("vo", vo, ASKED, revision=0)
    site.replace_requirements("application", f"alice:{'p' * 100}", ASKED, revision=0)
    for number in (7, 8):
        record = make_placement(
            number,
            "alice",
            element=f"union/{name}",
            path=f"/union/{name}/{name}",
            target=f"/{name}",
            subject=Subject(user="alice", application="p" * 100, vo=vo),
            bytes_written=(0.0, 1e18)[number - 7],
        )
        site.records.append(record)
        site.got[record.placement_id] = make_received(record, bytes_written=1e18)
    app.extensions["ses_webface"].accounts.add("u" * 64, None, vo=vo)
    of_alice = (
        "/requirements", f"/requirements/vo/{vo}", "/requirements/applied", "/storage",
        f"/storage/union/{name}", "/files", f"/files/{7:016x}", "/files/summary", "/history",
    )  # fmt: skip
    of_root = ("/people", f"/people/{'u' * 64}", f"/storage/union/{name}/change")
    for person, password, pages in (
        ("alice", "correct horse battery", of_alice),
        ("root", "may change the site", of_root),
    ):
        page = (window := open_window(viewport={"width": 390, "height": 844})).page
        window.sign_in(served, person, password)
        for path in pages:
            answer = page.goto(served + path)
            assert answer is not None
            assert answer.status == 200, path
            beyond = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
            assert beyond <= 0, path
