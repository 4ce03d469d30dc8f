"""Tokens of one's own: shown once, listed without their secret, revoked."""

import pytest

PAGE = "/account/tokens"
WANTED = {"name": "laptop", "scope": "read", "days": "30"}
SECRET = "ses_secret-of-alice-laptop"


def test_secret_is_shown_once(alice) -> None:
    made = alice.post(PAGE, WANTED, code=200)
    assert SECRET in made.text
    assert "ses login" in made.text
    assert made.headers["Cache-Control"] == "no-store"
    listed = alice.get(PAGE).text
    assert SECRET not in listed
    assert "laptop" in listed


def test_list_says_use_and_end(alice, site, clock) -> None:
    alice.post(PAGE, WANTED)
    assert ">never<" in alice.get(PAGE).text
    site.use("alice", "laptop")
    assert ">never<" not in alice.get(PAGE).text
    assert ">ended<" not in alice.get(PAGE).text
    clock.now += 29 * 86400
    alice.sign_in("alice")
    assert ">ended<" not in alice.get(PAGE).text
    clock.now += 2 * 86400
    alice.sign_in("alice")
    assert ">ended<" in alice.get(PAGE).text


def test_token_is_revoked(alice, site) -> None:
    alice.post(PAGE, WANTED)
    assert alice.post(f"{PAGE}/revoke", {"token": "laptop"}, page=PAGE).status_code == 303
    assert site.kept["alice"] == {}
    alice.post(f"{PAGE}/revoke", {"token": "laptop"}, page=PAGE)
    assert "no such token any more" in alice.get(PAGE).text


def test_people_have_tokens_of_their_own(alice, signed_in, site) -> None:
    alice.post(PAGE, WANTED)
    bob = signed_in("bob")
    assert "laptop" not in bob.get(PAGE).text
    bob.post(f"{PAGE}/revoke", {"token": "laptop"}, page=PAGE)
    assert set(site.kept["alice"]) == {"laptop"}


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"name": ""}, 422), ({"name": "a b"}, 422), ({"days": "0"}, 422), ({"days": "x"}, 422),
     ({"scope": "some"}, 422), ({"name": "taken"}, 409)],
)  # fmt: skip
def test_odd_input_is_said_beside_the_field(alice, site, changed: dict[str, str], status: int) -> None:
    alice.post(PAGE, {**WANTED, "name": "taken"})
    refused = alice.post(PAGE, {**WANTED, **changed}, code=status)
    assert "field-error" in refused.text
    assert set(site.kept["alice"]) == {"taken"}


def test_form_of_another_site_makes_no_token(alice, site) -> None:
    assert alice.client.post(PAGE, data=WANTED).status_code == 400
    assert site.kept == {}


def test_account_page_leads_there(alice) -> None:
    assert f'href="{PAGE}"' in alice.get("/account").text


def test_service_that_is_away_is_said(alice, site) -> None:
    site.down = "The selection service does not answer."
    assert alice.get(PAGE).status_code == 503
