"""Signing in: no hints for guessers, no way out of the portal, sessions that end."""

import pytest
from flask import Flask
from ses_webface.accounts.services import AccountError
from ses_webface.portal import Portal


def _flask(app: Flask) -> Portal:
    portal: Portal = app.extensions["ses_webface"]
    return portal


def test_a_person_signs_in_and_out(visitor) -> None:
    assert visitor.sign_in("alice").headers["Location"] == "/requirements"
    assert visitor.get("/requirements").status_code == 200
    visitor.post("/sign-out", {}, page="/account")
    assert visitor.get("/requirements").status_code == 303


def test_an_unknown_name_and_a_wrong_password_look_the_same(visitor, hasher) -> None:
    hasher.checks = 0
    wrong = visitor.sign_in("alice", "not her password")
    after_wrong = hasher.checks
    unknown = visitor.sign_in("zacharias", "not her password")
    assert wrong.status_code == unknown.status_code == 422
    assert visitor.seen(wrong).replace("alice", "zacharias") == visitor.seen(unknown)
    assert after_wrong == 1
    assert hasher.checks == 2, "an unknown name must cost as much work as a known one"


def test_guessing_is_slowed_down_and_the_wait_ends(visitor, clock) -> None:
    for _ in range(5):
        assert visitor.sign_in("alice", "guess").status_code == 422
    limited = visitor.sign_in("alice")
    assert limited.status_code == 429
    assert 0 < int(limited.headers["Retry-After"]) <= 300
    clock.now += 301
    assert visitor.sign_in("alice").status_code == 303


def test_names_that_do_not_exist_are_limited_alike(visitor) -> None:
    answers = [visitor.sign_in("zacharias", "guess").status_code for _ in range(6)]
    assert answers == [422] * 5 + [429]


def test_a_guesser_elsewhere_does_not_keep_the_owner_out(app, visitor) -> None:
    for _ in range(6):
        visitor.sign_in("alice", "guess", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert visitor.sign_in("alice", environ_base={"REMOTE_ADDR": "192.0.2.8"}).status_code == 303


def test_one_address_trying_many_names_is_limited(visitor) -> None:
    answers = [visitor.sign_in(f"user{number}", "guess").status_code for number in range(31)]
    assert answers == [422] * 30 + [429]


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\n/evil"],
)
def test_signing_in_never_leads_away_from_the_portal(visitor, wanted: str) -> None:
    answer = visitor.post("/sign-in", {"name": "alice", "password": "correct horse battery", "next": wanted})
    assert answer.headers["Location"] == "/requirements"


def test_signing_in_leads_back_to_the_page_asked_for(visitor) -> None:
    asked = visitor.get("/files?element=union/b1", code=303)
    page = visitor.get(asked.headers["Location"])
    assert 'value="/files?element=union/b1"' in page.text
    done = visitor.post(
        "/sign-in", {"name": "alice", "password": "correct horse battery", "next": "/files?element=union/b1"}
    )
    assert done.headers["Location"] == "/files?element=union/b1"


def test_the_session_cookie_is_out_of_reach(visitor) -> None:
    plain = visitor.sign_in("alice").headers["Set-Cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=Lax" in plain
    assert "Secure" not in plain
    again = visitor.get("/requirements", base_url="https://localhost").headers.get("Set-Cookie", "")
    secure = visitor.get("/sign-in", base_url="https://localhost").headers.get("Set-Cookie", again)
    assert "Secure" in secure


def test_the_session_changes_when_somebody_signs_in(visitor) -> None:
    before = visitor.token()
    visitor.sign_in("alice")
    assert visitor.token("/account") != before


def test_a_changed_password_ends_other_sessions(app, signed_in) -> None:
    here, there = signed_in("alice"), signed_in("alice")
    new = "another long secret"
    answer = here.post(
        "/account", {"current": "correct horse battery", "password": new, "again": new}, page="/account"
    )
    assert answer.status_code == 303
    assert here.get("/requirements").status_code == 200
    assert there.get("/requirements").status_code == 303
    assert there.sign_in("alice").status_code == 422
    assert there.sign_in("alice", new).status_code == 303


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"current": "wrong", "password": "another long secret", "again": "another long secret"},
            "not your current",
        ),
        (
            {"current": "correct horse battery", "password": "short", "again": "short"},
            "at least 10 characters",
        ),
        (
            {"current": "correct horse battery", "password": "another long secret", "again": "x"},
            "do not match",
        ),
    ],
)
def test_a_password_is_not_changed_by_mistake(alice, visitor, fields: dict[str, str], says: str) -> None:
    answer = alice.post("/account", fields, page="/account", code=422)
    assert says in answer.text
    assert visitor.sign_in("alice").status_code == 303


def test_a_removed_account_is_out_at_once(app, alice) -> None:
    _flask(app).accounts.remove("alice")
    assert alice.get("/requirements").status_code == 303


@pytest.mark.parametrize("name", ["", "a b", "alice:dd", "x" * 257, "a\nb", "-rf"])
def test_names_that_cannot_be_users_are_refused(app, name: str) -> None:
    with pytest.raises(AccountError, match="cannot be an account's name"):
        _flask(app).accounts.add(name, "a long enough one")


def test_passwords_are_kept_as_argon2(app) -> None:
    from ses_webface.accounts.models import Account
    from sqlalchemy import select

    with _flask(app).database.session() as session:
        hashes = list(session.scalars(select(Account.password_hash)))
    assert len(hashes) == 3
    assert all(password_hash.startswith("$argon2id$") for password_hash in hashes)
