"""Requirement sets in the portal: whose they are, what is typed, what is saved."""

from html import unescape

import pytest
from fake_selection import KINDS
from ses_client.errors import RefusedError
from ses_client.messages.requirements import Requirement, required
from ses_client.messages.vocabulary import Profile, Vocabulary
from ses_webface.requirements.forms import field_of

READ, WRITE = "kind_current_read_rate", "kind_current_write_rate"


def _stored(site, level: str, name: str):
    return site.requirement_set(level, name)


def _state(site, level: str, name: str, *requirements: Requirement, by: str = "root"):
    revision = _stored(site, level, name).revision
    return site.acting(by).replace_requirements(level, name, requirements, revision=revision)


def test_what_is_typed_is_saved_in_canonical_units_for_the_person(alice, site) -> None:
    answer = alice.post(
        "/requirements/application/alice:dd",
        {"revision": "0", f"{WRITE}-bound": "1,5", f"{WRITE}-unit": "GB/s", f"{WRITE}-strictness": "hard",
         f"{WRITE}-weight": "2"},
    )  # fmt: skip
    assert answer.status_code == 303
    saved = _stored(site, "application", "alice:dd")
    assert saved.requirements == (
        required("current-write-rate", 1500.0, "MB/s", weight=2.0, strictness="hard", stated_unit="GB/s"),
    )
    assert saved.modified_by == "alice"
    shown = alice.get("/requirements?application=dd").text
    assert "1.5\u00a0GB/s" in shown
    assert "application dd" in shown


def test_emptying_every_field_removes_the_set(alice, site) -> None:
    _state(site, "user", "alice", required("current-write-rate", 20, "MB/s"))
    emptied = {"revision": "1", f"{WRITE}-bound": " "}
    assert alice.post("/requirements/user/alice", emptied).status_code == 303
    assert _stored(site, "user", "alice").requirements == ()


def test_a_kind_that_was_not_on_the_page_is_kept(alice, site) -> None:
    """A page made before a kind was described says nothing of it."""
    _state(site, "user", "alice", required("current-read-rate", 20, "MB/s"))
    assert alice.post("/requirements/user/alice", {"revision": "1", f"{WRITE}-bound": ""}).status_code == 303
    assert [requirement.kind for requirement in _stored(site, "user", "alice").requirements] == [
        "current-read-rate"
    ]


def test_the_effective_set_names_the_level_of_each(alice, site) -> None:
    _state(site, "site", "default", required("free-capacity", 1, "GB"))
    _state(site, "vo", "materials", required("current-read-rate", 30, "MB/s"))
    _state(site, "user", "alice", required("current-write-rate", 20, "MB/s"))
    shown = alice.get("/requirements").text
    for words in ("your default", "VO materials", ">site<"):
        assert words in shown


@pytest.mark.parametrize("page", ["/requirements", "/requirements/applied"])
def test_the_service_says_whose_member_somebody_is(app, visitor, site, page: str) -> None:
    """What an account says comes last there, and not first because a page asks for it."""
    app.extensions["ses_webface"].accounts.add("carol", "correct horse battery", vo="physics")
    site.home_vo["carol"] = "materials"
    _state(site, "vo", "materials", required("current-read-rate", 31, "MB/s"))
    _state(site, "vo", "physics", required("current-read-rate", 57, "MB/s"))
    visitor.sign_in("carol", "correct horse battery")
    shown = visitor.get(page).text
    assert "VO materials" in shown
    assert "physics" not in shown


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        ("bound", "fast", "Write a number"),
        ("bound", "-3", "negative"),
        ("bound", "0", "Leave the field empty"),
        ("weight", "x", "Write a number"),
        ("weight", "5000000", "at most 1000000"),
        ("unit", "parsec", "Choose one of"),
        ("strictness", "maybe", "Choose what happens"),
    ],
)
def test_a_wrong_field_is_named_kept_and_not_saved(alice, site, field: str, typed: str, says: str) -> None:
    data = {
        "revision": "0",
        f"{WRITE}-bound": "20",
        "kind_free_capacity-bound": "7",
        f"{WRITE}-{field}": typed,
    }
    data.setdefault(f"{WRITE}-unit", "MB/s")
    data.setdefault(f"{WRITE}-strictness", "soft")
    data |= {
        "kind_free_capacity-unit": "GB",
        "kind_free_capacity-strictness": "soft",
        "kind_free_capacity-weight": "1",
    }
    answer = alice.post("/requirements/user/alice", data)
    text = answer.text
    assert answer.status_code == 422
    assert says in text
    assert f'id="{WRITE}-{field}-error"' in text
    assert 'aria-invalid="true"' in text
    assert 'value="7"' in text, "what was right must stay, too"
    assert _stored(site, "user", "alice").revision == 0


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("path", ["user/bob", "application/bob:dd", "application/alice2:dd", "vo/physics"])
def test_other_peoples_sets_are_refused(alice, site, method: str, path: str) -> None:
    url = f"/requirements/{path}"
    answer = alice.get(url) if method == "get" else alice.post(url, {"revision": "0"}, page="/account")
    assert answer.status_code == 403
    assert not site.requirement_sets("bob").sets


@pytest.mark.parametrize("path", ["vo/materials", "site/default"])
def test_what_is_given_can_be_read_and_not_changed(alice, site, path: str) -> None:
    page = alice.get(f"/requirements/{path}", code=200)
    assert "Only administrators" in page.text
    assert alice.post(f"/requirements/{path}", {"revision": "0"}, page="/account").status_code == 403
    assert alice.post(f"/requirements/{path}/preview", {}, page="/account").status_code == 403


def test_an_administrator_edits_vo_and_site_but_not_people(signed_in, site) -> None:
    root = signed_in("root")
    data = {"revision": "0", f"{WRITE}-bound": "5", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    for path in ("vo/materials", "site/default"):
        assert root.post(f"/requirements/{path}", data).status_code == 303
    assert root.post("/requirements/user/alice", data, page="/account").status_code == 403
    assert _stored(site, "vo", "materials").modified_by == "root"


@pytest.mark.parametrize(
    "path", ["team/x", "site/other", "application/alice", "application/alice:", "user/a:b"]
)
def test_sets_that_cannot_exist_are_not_found(alice, path: str) -> None:
    assert alice.get(f"/requirements/{path}").status_code == 404


def test_a_conflict_shows_both_versions_and_loses_none(alice, site) -> None:
    _state(site, "user", "alice", required("current-read-rate", 33, "MB/s"), by="alice")
    data = {"revision": "0", f"{WRITE}-bound": "44", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    data["kind_current_read_rate-bound"] = ""
    answer = alice.post("/requirements/user/alice", data)
    text = answer.text
    assert answer.status_code == 409
    assert "33\u00a0MB/s" in text
    assert "44\u00a0MB/s" in text
    assert 'value="44"' in text
    assert [requirement.bound for requirement in _stored(site, "user", "alice").requirements] == [33]
    assert 'name="revision" value="1"' in text, "saving again must be a decision about the version shown"
    assert alice.post("/requirements/user/alice", data | {"revision": "1"}).status_code == 303
    assert [requirement.bound for requirement in _stored(site, "user", "alice").requirements] == [44]


def test_the_service_being_down_keeps_what_was_typed(alice, site) -> None:
    token = alice.token("/requirements/user/alice")
    site.down = "The selection service cannot be reached."
    data = {f"{WRITE}-bound": "44", f"{WRITE}-unit": "GiB/s", f"{WRITE}-strictness": "hard"}
    data |= {f"{WRITE}-weight": "3", "revision": "0", "csrf_token": token}
    answer = alice.client.post("/requirements/user/alice", data=data)
    text = answer.text
    assert answer.status_code == 503
    assert "Not saved: The selection service cannot be reached." in text
    for kept in ('value="44"', "<option selected>GiB/s", '<option value="hard" selected>', 'value="3"'):
        assert kept in text
    site.down = None
    assert alice.client.post("/requirements/user/alice", data=data).status_code == 303


def test_every_page_says_when_the_service_is_down(alice, site) -> None:
    site.down = "The selection service did not answer within 4 s."
    for page in ("/requirements", "/requirements/user/alice", "/storage", "/files", "/files/1"):
        answer = alice.get(page, code=503)
        assert site.down in answer.text


def test_a_refusal_of_the_service_is_reported_and_nothing_lost(alice, site, monkeypatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        located = (("json.requirements.0.minimum", "Value error, too much"), ("json", "no, at line 3"))
        raise RefusedError("The set is not acceptable.", 422, located)

    monkeypatch.setattr(site, "replace_requirements", refuse)
    data = {"revision": "0", f"{WRITE}-bound": "44", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    answer = alice.post("/requirements/user/alice", data)
    text = answer.text
    assert answer.status_code == 422
    assert f'id="{WRITE}-bound-error">Too much.</span>' in text
    assert f'<a href="#{WRITE}-bound">Current write rate</a>: Too much.' in text
    assert "Not saved: The set is not acceptable.; json: no, at line 3" in text, "what no field fits to"
    assert 'value="44"' in text


def test_requirements_of_unknown_kinds_survive_an_edit(alice, site, monkeypatch) -> None:
    latency = required("latency", 2, "ms")
    _state(site, "user", "alice", required("current-write-rate", 20, "MB/s"))
    site._sets["user", "alice"] = site._sets["user", "alice"].but(requirements=(latency,))
    sent = []
    monkeypatch.setattr(
        site,
        "replace_requirements",
        lambda level, name, requirements, **_: sent.append(requirements) or site._sets[level, name],
    )
    data = {"revision": "1", f"{WRITE}-bound": "44", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    assert alice.post("/requirements/user/alice", data).status_code == 303
    assert [requirement.kind for requirement in sent[0]] == ["current-write-rate", "latency"]


def test_the_form_works_without_script(alice) -> None:
    data = {"revision": "0", f"{WRITE}-bound": "80", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "hard",
            "action": "preview"}  # fmt: skip
    answer = alice.post("/requirements/application/alice:dd", data)
    text = answer.text
    assert answer.status_code == 200
    assert "<b>union/b2</b> ranks first" in text
    assert "below the hard minimum" in text
    assert 'value="80"' in text


def test_a_preview_that_answers_late_takes_nothing_back(alice) -> None:
    address = "/requirements/user/alice"
    late = alice.post(f"{address}/preview", {"revision": "0"}, page="/account", code=200)
    assert "Set-Cookie" not in late.headers
    assert "Set-Cookie" in alice.get("/account").headers  # pages keep a session going


def test_the_preview_replaces_the_set_being_edited(alice, site) -> None:
    """A requirement taken out of the form no longer counts, though it is still stored."""
    _state(site, "user", "alice", required("current-write-rate", 80, "MB/s", weight=1, strictness="hard"))
    for level in ("user/alice", "application/alice:dd"):
        text = alice.post(f"/requirements/{level}/preview", {"revision": "1"}, page="/account").text
        hard = "below the hard minimum" in text
        assert hard == (level != "user/alice"), "only the default below an application still applies"


def test_the_preview_leaves_out_what_cannot_be_read(alice) -> None:
    data = {f"{WRITE}-bound": "8x", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    text = alice.post("/requirements/user/alice/preview", data, page="/account").text
    assert "Fields that cannot be read are left out" in text
    assert "ranks first" in text


def test_what_is_not_understood_or_not_measured_is_never_green(alice, site, make_element) -> None:
    def shown(read_bound: str) -> str:
        fields = {f"{WRITE}-bound": "20", f"{WRITE}-unit": "MB/s", f"{READ}-bound": read_bound}
        data = {**fields, f"{READ}-unit": "MB/s"}
        return alice.post("/requirements/user/alice/preview", data, page="/account").text

    assert 'class="verdict good">meets everything' in shown("20")
    unread = shown("12 parsec")
    assert "ranks first and meets what could be read" in unread
    assert "verdict good" not in unread
    assert "meets everything" not in unread
    for lost in ({"observation": None}, {"observed": "stale", "age_seconds": 900.0}):
        site.places = [make_element("b1", 40.0, **lost)]
        unmeasured = shown("20")
        assert "verdict good" not in unmeasured
        assert "by what is described" in unmeasured


@pytest.mark.parametrize("name", ["<script>alert(1)<x", '"><img src=x onerror=alert(1)>'])
def test_names_are_text_and_never_markup(alice, site, name: str) -> None:
    _state(site, "application", f"alice:{name}", required("current-write-rate", 1, "MB/s"), by="<b>eve</b>")
    pages = [alice.get("/requirements"), alice.get(f"/requirements/application/alice:{name}")]
    for page in pages:
        text = page.text
        assert page.status_code == 200
        assert name not in text
        assert "<b>eve</b>" not in text
        assert "&lt;b&gt;eve" in text


def test_typed_markup_comes_back_as_text(alice) -> None:
    bad = '"><script>alert(1)</script>'
    answer = alice.post(
        "/requirements/user/alice", {"revision": bad, f"{WRITE}-bound": bad, f"{WRITE}-weight": bad}, code=422
    )
    assert "<script>alert" not in answer.text


def test_a_session_that_ended_while_typing_loses_nothing(visitor, site) -> None:
    """The form is posted after sign-out; after signing in it is back, and not saved behind one's back."""
    path = "/requirements/user/alice"
    data = {"revision": "0", f"{WRITE}-bound": "44", f"{WRITE}-unit": "GB/s", f"{WRITE}-strictness": "soft"}
    posted = visitor.client.post(path, data=data, headers={"Origin": "http://localhost"})
    assert posted.status_code == 303
    assert "What you typed is kept" in visitor.get(posted.headers["Location"]).text
    assert (
        visitor.post(
            "/sign-in", {"name": "alice", "password": "correct horse battery", "next": path}
        ).headers["Location"]
        == path
    )
    text = visitor.get(path).text
    assert 'value="44"' in text
    assert "<option selected>GB/s" in text
    assert _stored(site, "user", "alice").revision == 0
    assert 'value="44"' not in visitor.get(path).text, "it comes back once"


def test_a_form_that_is_full_survives_the_sign_in(visitor, site) -> None:
    path = "/requirements/user/alice"
    data = {"revision": "0", "zone": "Europe/Warsaw", "profile": "checkpoint"}
    for place, kind in enumerate(KINDS):
        data |= {
            f"{field_of(kind)}-bound": f"{place}.12345", f"{field_of(kind)}-unit": kind.unit,
            f"{field_of(kind)}-strictness": "hard", f"{field_of(kind)}-weight": f"{place}.5",
            f"{field_of(kind)}-valid_from": f"2027-01-0{place + 1}T10:00",
            f"{field_of(kind)}-valid_until": f"2028-01-0{place + 1}T10:00",
        }  # fmt: skip
    visitor.client.post(path, data=data, headers={"Origin": "http://localhost"})
    visitor.sign_in("alice")
    text = visitor.get(path).text
    for kept in ("0.12345", "4.12345", "3.5", "2028-01-05T10:00"):
        assert f'value="{kept}"' in text


def test_a_form_from_elsewhere_is_not_carried_over_the_sign_in(visitor) -> None:
    path = "/requirements/user/alice"
    visitor.client.post(path, data={f"{WRITE}-bound": "44"}, headers={"Origin": "https://evil.example"})
    visitor.sign_in("alice")
    assert 'value="44"' not in visitor.get(path).text


def test_programs_seen_placing_files_are_offered(alice) -> None:
    text = alice.get("/requirements").text
    assert "/requirements/application/alice:dd" in text


def test_a_new_application_opens_its_form(alice) -> None:
    assert (
        alice.get("/requirements/open?name=tar").headers["Location"] == "/requirements/application/alice:tar"
    )
    assert alice.get("/requirements/open?name=a/b").headers["Location"] == "/requirements"


CHECKPOINT = Profile(
    profile="checkpoint",
    label="checkpoint",
    definition="Saves its state.",
    requirements=(required("current-write-rate", 200.0, "MB/s"),),
)


def test_a_profile_is_chosen_shown_and_what_it_requires_applies(alice, site) -> None:
    site.words = Vocabulary(kinds=KINDS, profiles=(CHECKPOINT,))
    page = alice.get("/requirements/user/alice").text
    assert '<option value="checkpoint">checkpoint: Saves its state.</option>' in page
    assert (
        alice.post("/requirements/user/alice", {"revision": "0", "profile": "checkpoint"}).status_code == 303
    )
    assert _stored(site, "user", "alice").profile == "checkpoint"
    assert '<option value="checkpoint" selected>' in alice.get("/requirements/user/alice").text
    overview = alice.get("/requirements").text
    assert "200\u00a0MB/s" in overview
    assert 'the profile <a href="/profiles/checkpoint">checkpoint</a>' in overview
    assert alice.post("/requirements/user/alice", {"revision": "1", "profile": ""}).status_code == 303
    assert _stored(site, "user", "alice").profile is None


def test_a_chosen_profile_stays_when_the_list_cannot_be_had(alice, site, monkeypatch) -> None:
    site.words = Vocabulary(kinds=KINDS, profiles=(CHECKPOINT,))
    alice.post("/requirements/user/alice", {"revision": "0", "profile": "checkpoint"})
    site.words = Vocabulary(kinds=KINDS)
    assert '<option value="checkpoint" selected>' in alice.get("/requirements/user/alice").text


def test_the_ranking_while_typing_counts_the_profile(alice, site) -> None:
    site.words = Vocabulary(kinds=KINDS, profiles=(CHECKPOINT,))
    fields = {"revision": "0", "profile": "checkpoint"}
    shown = alice.post("/requirements/user/alice/preview", fields).text
    assert "200\u00a0MB/s" in shown


def test_saving_keeps_times_and_maximums_set_elsewhere(alice, site) -> None:
    timed = required("current-write-rate", 20, "MB/s", valid_until="2027-12-24T12:00:00.250000Z")
    latency = required("latency", 2, "ms", at_most=True)
    _state(site, "user", "alice", timed, latency)
    shown = alice.get("/requirements").text
    assert "until 2027-12-24 12:00 UTC" in shown
    assert "≤ 2\u00a0ms" in shown
    typed = {"revision": "1", f"{WRITE}-bound": "30", f"{WRITE}-unit": "MB/s"}
    typed[f"{WRITE}-valid_until"] = "2027-12-24T12:00"
    assert alice.post("/requirements/user/alice", typed).status_code == 303
    changed, kept = _stored(site, "user", "alice").requirements
    assert (changed.bound, changed.valid_until) == (30.0, "2027-12-24T12:00:00.250000Z")
    assert kept == latency
    assert kept.as_json() == {
        "kind": "latency", "maximum": 2, "unit": "ms", "strictness": "soft"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "chosen", "number", "unit"),
    [
        ("1000 MB/s", "GB/s", "1000", "MB/s"),
        ("0.5GiB/s", "MB/s", "0.5", "GiB/s"),
        ("1000", "MB/s", "1000", "MB/s"),
    ],
)
def test_a_requirement_comes_back_in_the_unit_it_was_typed_in(
    alice, typed: str, chosen: str, number: str, unit: str
) -> None:
    data = {"revision": "0", f"{WRITE}-bound": typed, f"{WRITE}-unit": chosen, f"{WRITE}-strictness": "soft"}
    assert alice.post("/requirements/user/alice", data).status_code == 303
    page = alice.get("/requirements/user/alice").text
    assert f'name="{WRITE}-bound" value="{number}"' in page
    assert f"<option selected>{unit}</option>" in page
    assert f"{number}\u00a0{unit}" in alice.get("/requirements").text


def test_while_typing_it_is_said_what_a_unit_is_understood_as(alice) -> None:
    def understood(typed: str) -> str:
        data = {f"{WRITE}-bound": typed, f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
        page = alice.post("/requirements/user/alice/preview", data, page="/account").text
        return page.split(f'id="{WRITE}-understood"')[1].split("</span>")[0]

    assert "Understood as <b>2\u00a0GB/s</b>" in understood("2 GB/s")
    assert "counts bits" in understood("2 Gb/s")
    assert 'class="error"' in understood("2 Gb/s")
    assert "Understood" not in understood("2")


def test_what_no_element_gives_is_said_with_the_one_that_comes_nearest(alice) -> None:
    data = {f"{WRITE}-bound": "900", f"{WRITE}-unit": "GB/s"}
    for strictness in ("soft", "hard"):
        page = alice.post(
            "/requirements/user/alice/preview", {**data, f"{WRITE}-strictness": strictness}, page="/account"
        ).text
        assert "no element gives 900\u00a0GB/s at the moment" in page
        assert "comes nearest with" in page
    data = {f"{WRITE}-bound": "1", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
    page = alice.post("/requirements/user/alice/preview", data, page="/account").text
    assert "no element gives" not in page


def test_a_set_is_copied_to_another_application_and_saved_there_only_when_asked(alice, site) -> None:
    _state(
        site,
        "application",
        "alice:dd",
        required("current-write-rate", 20, "MB/s", weight=2.0, strictness="hard"),
    )
    answer = alice.get("/requirements/application/alice:dd/copy?to=tar", code=303)
    page = alice.get(answer.headers["Location"]).text
    assert "Nothing is saved yet" in page
    assert f'name="{WRITE}-bound" value="20"' in page
    assert _stored(site, "application", "alice:tar").requirements == ()
    data = {"revision": "0", f"{WRITE}-bound": "20", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "hard"}
    assert alice.post("/requirements/application/alice:tar", data).status_code == 303
    assert _stored(site, "application", "alice:tar").requirements[0].bound == 20


@pytest.mark.parametrize("source", ["user/bob", "application/bob:dd", "nowhere/x", "", "user/"])
def test_nothing_is_copied_from_a_set_one_may_not_see(alice, site, source: str) -> None:
    _state(site, "user", "bob", required("current-write-rate", 77, "MB/s"))
    _state(site, "application", "bob:dd", required("current-write-rate", 77, "MB/s"))
    page = alice.seen(alice.get(f"/requirements/application/alice:tar?copied={source}"))
    assert "77" not in page.split("<main")[1]
    assert "Filled in" not in page


def test_a_set_says_how_to_ask_for_the_same_in_a_job(alice, site) -> None:
    _state(site, "user", "alice", required("current-write-rate", 20, "MB/s", weight=2.0, strictness="hard"))
    page = unescape(alice.get("/requirements/user/alice").text)
    assert "ses-run --require 'current-write-rate>=20MB/s!,weight=2' -- ./program" in page
    assert "#SBATCH --storage='current-write-rate>=20MB/s!,weight=2'" in page
    assert "Use it in a job" not in alice.get("/requirements/application/alice:none").text
