"""Single elements: their past, and changes by administrators that are shown before they are made."""

from __future__ import annotations

import re

import pytest
from answers import text_of
from ses_client.errors import RefusedError, UnavailableError
from ses_client.messages.elements import History, HistoryPoint
from ses_webface.storage.pictures import load_of

B1 = "/storage/union/b1"


def test_an_element_says_what_it_is_and_what_it_did(alice, site, clock) -> None:
    site.past["union/b1"] = tuple(
        HistoryPoint(at=clock.now - 30 * ago, read_mb_s=10.0, write_mb_s=20.0 + ago) for ago in (3, 2, 1)
    )
    page = text_of(alice.get(B1))
    assert "40 MB/s" in page
    assert "/branches/b1" in page
    assert "Written: on average 22 MB/s, at most 23 MB/s." in page
    assert page.count('<polyline class="write"') == 1
    assert page.count('<th scope="row">2027') == 3
    assert "Drain or change" not in page
    none = alice.get("/storage/union/none")
    assert (none.status_code, "There is no element union/none." in text_of(none)) == (404, True)


def test_a_directory_of_a_set_is_shown_by_its_path(alice, site) -> None:
    site.places[0] = site.places[0].but(backend="directories", mount_point="", target="/scratch1")
    page = text_of(alice.get(f"/storage/{site.places[0].id}"))
    assert "<dt>Storage system</dt><dd>union (directories)</dd>" in page
    assert '<dt>Directory</dt><dd class="path">/scratch1</dd>' in page


def test_an_element_shows_what_the_link_of_its_server_carries(alice, site) -> None:
    assert "Link of the server" not in text_of(alice.get(B1))
    site.places[0] = site.places[0].but(server_link_mb_s=250.0)
    page = text_of(alice.get(f"/storage/{site.places[0].id}"))
    assert "<dt>Link of the server</dt><dd>250 MB/s for all of its elements</dd>" in page


def test_a_past_that_nobody_knows_is_not_drawn(alice, site) -> None:
    assert "the monitor does not answer" in text_of(alice.get(B1))
    site.past["union/b1"] = ()
    assert "remembers nothing of it over the last day" in text_of(alice.get(f"{B1}?span=day"))


def test_a_gap_in_what_is_known_is_a_gap_in_the_line() -> None:
    steps = tuple(HistoryPoint(at=float(at), read_mb_s=None, write_mb_s=5.0) for at in (10, 20, 60, 70))
    load = load_of(
        History(since=0.0, until=100.0, step_seconds=10.0, source="memory", detail="", points=steps)
    )
    assert load is not None
    assert [len(piece.split()) for piece in load.write] == [2, 2]
    assert load.read == ()
    assert (
        load_of(
            History(since=0.0, until=100.0, step_seconds=10.0, source="memory", detail="", points=steps[:1])
        )
        is None
    )


@pytest.mark.parametrize("path", [f"{B1}/change", "/storage/add"])
def test_only_administrators_change_elements(alice, root, site, path: str) -> None:
    assert alice.get(path).status_code == 403
    assert root.get(path).status_code == 200
    for address in (f"{B1}/drain", f"{B1}/set", f"{B1}/remove", f"{B1}/undrain", "/storage/add"):
        answer = alice.post(address, {"confirmed": "yes", "tier": "x"}, page="/account")
        assert answer.status_code == 403
    assert site.extra_changes == []


def test_draining_is_shown_then_done_and_kept_in_the_history(root, site) -> None:
    fields = {"reason": "disk 4 fails", "until": "2027-03-01T08:00"}
    shown = text_of(root.post(f"{B1}/drain", fields, page=f"{B1}/change"))
    assert "Nothing is changed yet" in shown
    assert "VO materials" in shown
    assert "union/b2" in shown
    assert site.places[0].state == "active"
    done = root.post(f"{B1}/drain", {**fields, "confirmed": "yes"}, page=f"{B1}/change")
    assert (done.status_code, done.location) == (303, "/history/101")
    assert (site.places[0].state, site.places[0].state_until) == ("draining", "2027-03-01T08:00:00Z")
    assert site.acted_for[-1] == "root"
    change = text_of(root.get("/history/101"))
    assert "union/b1 takes no further files. This is change 101." in change
    assert "disk 4 fails" in change
    assert 'href="/history/101/undo"' in change
    page = text_of(root.get(B1))
    assert "draining" in page
    assert "Until 2027-03-01 08:00 UTC" in page
    again = root.post(f"{B1}/undrain", {"confirmed": "yes"}, page=f"{B1}/change")
    assert again.status_code == 303
    assert site.places[0].state == "active"
    refused = root.post(f"{B1}/undrain", {"confirmed": "yes"}, page=f"{B1}/change")
    assert refused.status_code == 422
    assert "is not being drained" in text_of(refused)


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        (f"{B1}/drain", {"reason": "disk 4 fails", "until": "2027-03-01T08:00"}),
        (f"{B1}/set", {"tier": "flash", "write_rate": "1.5 GB/s"}),
        ("/storage/add", {"system": "union", "name": "b9", "server": "n1", "target": "/branches/b9"}),
    ],
)
def test_from_what_a_change_would_do_a_button_leads_back_to_what_was_typed(
    root, site, address: str, fields: dict[str, str]
) -> None:
    shown = root.post(address, fields, page="/account")
    assert 'name="again"' in shown.text
    sent_back = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown.text))
    assert sent_back.keys() - {"csrf_token"} == fields.keys()
    form = root.post(address, {**sent_back, "again": "yes"}, page="/account")
    assert form.status_code == 200
    for name, value in fields.items():
        kept = rf'name="{name}"[^>]* value="{re.escape(value)}"|<option selected>{re.escape(value)}<'
        assert re.search(kept, form.text), name
    assert "aria-invalid" not in form.text
    assert site.extra_changes == []


def test_only_what_was_typed_anew_is_changed_and_rates_have_units(root, site) -> None:
    fields = {"tier": "flash", "write_rate": "1.5 GB/s", "read_rate": "100 MB/s", "server": "n1"}
    shown = text_of(root.post(f"{B1}/set", fields, page=f"{B1}/change"))
    assert "flash" in shown
    assert "read rate" not in shown
    root.post(f"{B1}/set", {**fields, "confirmed": "yes"}, page=f"{B1}/change")
    assert (site.places[0].tier, site.places[0].nominal.write_mb_s) == ("flash", 1500.0)
    assert site.places[0].nominal.read_mb_s == 100.0


def test_what_others_changed_since_the_form_or_the_question_stays(root, site) -> None:
    form = root.get(f"{B1}/change").text.partition("<h2>Facts</h2>")[2]
    fields = dict(re.findall(r'<input [^>]*name="(\w+)"[^>]* value="([^"]*)"', form))
    fields |= {"state": "active", "tier": "flash"}
    site.places[0] = site.places[0].but(state="draining")
    shown = root.post(f"{B1}/set", fields, page=f"{B1}/change")
    assert "draining" not in text_of(shown)
    site.places[0] = site.places[0].but(pool="fast")
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown.text))
    made = root.post(f"{B1}/set", {**sent, "confirmed": "yes"}, page=f"{B1}/change")
    assert made.status_code == 303
    assert (site.places[0].tier, site.places[0].state, site.places[0].pool) == ("flash", "draining", "fast")


@pytest.mark.parametrize(
    ("what", "fields", "says"),
    [
        ("set", {"write_rate": "12 parsec"}, "is no unit of this"),
        ("set", {"server": ""}, "has a server always"),
        ("set", {}, "Nothing is different yet"),
        ("drain", {"until": "soon"}, "Write a date and a time"),
    ],
)
def test_what_cannot_be_meant_is_said_beside_its_field(root, site, what: str, fields, says: str) -> None:
    answer = root.post(f"{B1}/{what}", fields, page=f"{B1}/change")
    assert answer.status_code == 422
    assert says in text_of(answer)
    assert site.extra_changes == []


def test_elements_are_added_and_removed(root, site) -> None:
    fields = {"system": "union", "name": "b9", "server": "n1", "target": "/branches/b9"}
    missing = root.post("/storage/add", {**fields, "target": ""})
    assert (missing.status_code, text_of(missing).count("Enter this.")) == (422, 1)
    assert "/branches/b9" in text_of(root.post("/storage/add", fields))
    assert root.post("/storage/add", {**fields, "confirmed": "yes"}).status_code == 303
    assert site.places[-1].id == "union/b9"
    there = root.post("/storage/add", {**fields, "confirmed": "yes"})
    assert "already" in text_of(there)
    assert root.post("/storage/union/b9/remove", {"confirmed": "yes"}, page=f"{B1}/change").status_code == 303
    assert "union/b9" not in {place.id for place in site.places}


def test_a_change_that_cannot_be_made_is_not_said_to_be(root, site) -> None:
    def away(*_: object) -> None:
        raise UnavailableError("The selection service cannot be reached.")

    site.acting = lambda _person: site
    site.drain = away
    answer = root.post(f"{B1}/drain", {"confirmed": "yes"}, page=f"{B1}/change")
    assert answer.status_code == 503
    assert "Nothing was changed. The selection service cannot be reached." in text_of(answer)


def test_a_question_that_the_service_refuses_is_the_askers_fault(root, site) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("It cannot be right.", 422, (("query.tier", "has a NUL"),), "invalid-request")

    site.acting = lambda _person: site
    site.element = refuse
    answer = root.get(B1)
    assert answer.status_code == 400
    assert "tier: has a NUL." in text_of(answer)
