"""Forms that are sent twice, too late or in vain: nothing is done twice, and what was typed is not lost."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import pytest
from markupsafe import escape
from playwright.sync_api import expect
from ses_client.messages.requirements import required

WRITE = "kind_current_write_rate"
SET = "/requirements/user/alice"
TYPED = {"revision": "0", f"{WRITE}-bound": "44", f"{WRITE}-unit": "MB/s", f"{WRITE}-strictness": "soft"}
ALICE = {"name": "alice", "password": "correct horse battery"}
HERE = {"Origin": "http://localhost"}
ELEMENT = {"system": "union", "name": "b1", "server": "n7", "target": "/branches/b1", "tier": "flash"}


def test_requirements_that_are_sent_twice_are_saved_once(alice, site) -> None:
    timed = {
        **TYPED,
        f"{WRITE}-unit": "MiB/s",
        f"{WRITE}-valid_until": "2027-12-24T12:00",
        "zone": "Europe/Warsaw",
    }
    token = alice.token(SET)
    for _ in range(2):
        assert alice.client.post(SET, data={**timed, "csrf_token": token}).status_code == 303
    assert site.requirement_set("user", "alice").revision == 1
    other = alice.client.post(SET, data={**timed, f"{WRITE}-bound": "45", "csrf_token": token})
    assert other.status_code == 409


def test_a_form_from_before_signing_in_again_comes_back_filled_and_is_not_saved(alice, site) -> None:
    old = alice.token(SET)
    alice.post("/sign-out", {}, page="/account")
    alice.sign_in("alice")
    answer = alice.client.post(SET, data={**TYPED, "csrf_token": old}, headers=HERE)
    assert (answer.status_code, answer.location) == (303, SET)
    page = alice.get(SET).text
    assert 'value="44"' in page
    assert "nothing was saved yet" in page
    assert site.requirement_set("user", "alice").revision == 0
    assert alice.client.post(SET, data={**TYPED, "csrf_token": old}).status_code == 400, "from elsewhere"


@pytest.mark.parametrize("application", ["c#", "50%41", "what?", "a\\b", 'ls <x> & "y"', "שלום"])
def test_who_was_signed_out_goes_on_at_the_same_name_whatever_is_in_it(visitor, site, application) -> None:
    path = "/requirements/application/" + quote(f"alice:{application}")
    answer = visitor.client.post(path, data=TYPED, headers=HERE)
    page = visitor.get(answer.location).text
    wanted = unescape(re.search(r'name="next"[^>]*value="([^"]*)"', page)[1])
    again = visitor.post("/sign-in", {**ALICE, "next": wanted})
    filled = visitor.get(again.location).text
    assert 'value="44"' in filled
    assert f"<h1>Application {escape(application)}</h1>" in filled
    old = visitor.client.post(path, data={**TYPED, "csrf_token": "of another session"}, headers=HERE)
    assert (old.status_code, old.location) == (303, wanted)


@pytest.mark.parametrize(
    ("path", "on", "wanted"),
    [
        ("/people/bob/remove", "http://localhost/people/bob", "/people/bob"),
        ("/storage/union/b1/drain", "http://localhost/storage/union/b1/change", "/storage/union/b1/change"),
        ("/people/bob/remove", "https://evil.example/people/bob", "/"),
        ("/people/bob/remove", "", "/"),
        ("/people", "http://localhost/people", "/people"),
    ],
)
def test_who_was_signed_out_goes_on_at_the_page_of_the_form(visitor, path: str, on: str, wanted: str) -> None:
    answer = visitor.client.post(path, data={"reason": "x"}, headers={**HERE, "Referer": on})
    page = visitor.get(answer.location).text
    assert re.search(r'name="next"[^>]*value="([^"]*)"', page)[1] == wanted
    assert "What you typed is kept" not in page, "it is not"


def test_an_element_that_was_typed_survives_the_sign_in(visitor, site) -> None:
    visitor.client.post("/storage/add", data=ELEMENT, headers=HERE)
    visitor.sign_in("root")
    page = visitor.get("/storage/add").text
    for value in ("n7", "/branches/b1", "flash"):
        assert f'value="{value}"' in page
    assert "nothing was added yet" in page


def test_what_somebody_else_typed_in_this_browser_is_not_shown(alice, app) -> None:
    typed = {"files": "/srv/secret.csv", "command": "grep password {}"}
    app.extensions["ses_webface"].sessions.end_all("alice")
    assert alice.client.post("/runs", data=typed, headers=HERE).location.startswith("/sign-in")
    alice.sign_in("bob")
    assert "secret" not in alice.get("/runs").text


def test_a_change_that_the_service_refuses_keeps_what_was_typed(root) -> None:
    answer = root.post("/storage/add", ELEMENT)
    assert answer.status_code == 422
    assert "Nothing was changed. There is an element union/b1 already." in answer.text
    assert 'id="server" name="server" value="n7"' in answer.text


def test_a_button_that_is_pressed_twice_acts_once(site, served, app, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(served, "root", "may change the site")
    page.goto(f"{served}/people")
    page.get_by_label("User name").fill("carol")
    page.get_by_role("button", name="Add the account").dblclick()
    expect(page.locator("pre code")).to_contain_text("/welcome/")
    page.goto(f"{served}/requirements/site/default")
    page.wait_for_load_state()
    page.locator(f"#{WRITE}-bound").fill("5")
    page.get_by_role("button", name="Save", exact=True).dblclick()
    expect(page.get_by_role("status").first).to_have_text("Saved. Files created from now on follow it.")
    assert site.requirement_set("site", "default").requirements == (
        required("current-write-rate", 5.0, "MB/s", weight=1.0),
    )


def test_who_signs_in_again_in_another_tab_goes_on_in_this_one(site, served, app, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(served, "alice", "correct horse battery")
    page.goto(served + SET)
    page.wait_for_load_state()
    app.extensions["ses_webface"].sessions.end_all("alice")
    page.locator(f"#{WRITE}-bound").fill("44")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Sign in in another tab").click()
    tab = opened.value
    tab.get_by_label("User name").fill("alice")
    tab.get_by_label("Password").fill("correct horse battery")
    tab.get_by_role("button", name="Sign in", exact=True).click()
    expect(tab.get_by_role("heading", level=1, name="Requirements")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("nothing was saved yet")).to_be_visible()
    expect(page.locator(f"#{WRITE}-bound")).to_have_value("44")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()
    window.complaints[:] = [complaint for complaint in window.complaints if "401" not in complaint]


def test_the_map_stays_while_the_portal_does_not_answer(served, open_window) -> None:
    window = open_window(viewport={"width": 390, "height": 800})
    page = window.page
    window.sign_in(served, "alice", "correct horse battery")
    page.clock.install()
    page.goto(f"{served}/storage")
    table = page.get_by_role("region", name="Elements, table")
    table.evaluate("one => { one.scrollLeft = 90 }")
    with page.expect_response("**/storage*"):
        page.clock.run_for(5_500)
    expect(page.locator("#elements.htmx-request")).to_have_count(0)
    assert table.evaluate("one => one.scrollLeft") == 90
    page.route("**/storage*", lambda route: route.abort())
    for _ in range(2):
        with page.expect_event("requestfailed"):
            page.clock.run_for(5_500)
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("The portal does not answer. Its last answer is shown")
    expect(page.locator(".tile")).to_have_count(3)
    page.unroute("**/storage*")
    with page.expect_response("**/storage*"):
        page.clock.run_for(5_500)
    expect(page.get_by_role("alert")).to_have_count(0)
    window.complaints.clear()  # of requests that were broken off


def test_what_cannot_be_undone_is_asked_before(site, served, open_window) -> None:
    site.acting("root").make_token("laptop", "read", 30)
    window = open_window()
    page = window.page
    window.sign_in(served, "root", "may change the site")
    page.goto(f"{served}/account/tokens")
    page.get_by_text("Revoke…").click()
    expect(page.get_by_text("What uses it is refused from then on.")).to_be_visible()
    page.get_by_role("button", name="Revoke laptop").click()
    expect(page.get_by_text("You have no tokens.")).to_be_visible()
    page.goto(f"{served}/people/bob")
    expect(page.get_by_role("button", name="Remove the account bob")).to_be_hidden()
    page.get_by_text("Remove the account…").click()
    page.get_by_role("button", name="Remove the account bob").click()
    expect(page.get_by_text("bob may no longer sign in.")).to_be_visible()
    page.goto(f"{served}/people/root")
    expect(page.get_by_text("Remove the account…")).to_have_count(0)


def test_nobody_waits_again_and_again_for_a_service_that_is_away(alice, site, monkeypatch) -> None:
    token = alice.token(SET)
    asked = []
    check = site.check
    monkeypatch.setattr(site, "check", lambda: (asked.append(1), check())[1])
    site.down = "The selection service did not answer within 4 s."
    saved = alice.client.post(SET, data={**TYPED, "csrf_token": token})
    assert saved.status_code == 503
    assert "Not saved: The selection service did not answer within 4 s." in saved.text
    assert len(asked) == 2, "the vocabulary, and the set to save"
    asked.clear()
    shown = alice.client.post(f"{SET}/preview", data={**TYPED, "csrf_token": token})
    assert "No ranking at the moment. The selection service" in re.sub("</?b>", "", shown.text)
    assert len(asked) == 1


def test_what_takes_its_time_is_seen_to_be_asked(served, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(served, "alice", "correct horse battery")
    page.goto(served + SET)
    page.wait_for_load_state()
    held = []
    page.route(f"**{SET}/preview", lambda route: held.append(route))
    page.locator(f"#{WRITE}-bound").fill("44")
    expect(page.locator("#ranking.htmx-request")).to_have_css("opacity", "0.5")
    held.pop().continue_()
    expect(page.locator("#ranking.htmx-request")).to_have_count(0)
    expect(page.locator("#ranking")).to_contain_text("of 44")
    page.evaluate("""() => addEventListener("beforeunload", () => sessionStorage.setItem(
      "busy", document.querySelector(".actions [value=save]").getAttribute("aria-busy")))""")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()
    assert page.evaluate("() => sessionStorage.getItem('busy')") == "true"
