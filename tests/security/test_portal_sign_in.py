"""The portal: nobody keeps another out, guessing is slow, and a session that has ended stays ended."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest
from argon2 import PasswordHasher
from fake_selection import InMemorySelectionService
from flask import Flask
from flask.testing import FlaskClient
from ses_webface.accounts.guessing import TooManyAttemptsError
from ses_webface.accounts.hashing import MAX_AT_ONCE
from ses_webface.app import create_app
from ses_webface.settings import Settings
from werkzeug.test import TestResponse

PASSWORD = "correct horse battery"
TUNNEL = "192.0.2.7"  # the one address everybody comes from


class _Time:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> _Time:
    return _Time()


@pytest.fixture
def app(tmp_path: Path, time: _Time) -> Flask:
    """A portal with the accounts alice and bob; hashes cost little."""
    made = create_app(
        Settings(tmp_path / "state", f"sqlite:///{tmp_path / 'portal.sqlite3'}", "http://127.0.0.1:9"),
        selection=InMemorySelectionService([], clock=time),
        clock=time,
        hasher=PasswordHasher(time_cost=1, memory_cost=8, parallelism=1),
    )
    for name in ("alice", "bob"):
        made.extensions["ses_webface"].accounts.add(name, PASSWORD)
    return made


def _token(client: FlaskClient, page: str) -> str:
    match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', client.get(page).text)
    assert match, f"{page} has no form"
    return match.group(1)


def _sign_in(
    client: FlaskClient, name: str, password: str, address: str = TUNNEL, token: str = ""
) -> TestResponse:
    fields = {"csrf_token": token or _token(client, "/sign-in"), "name": name, "password": password}
    return client.post("/sign-in", data=fields, environ_base={"REMOTE_ADDR": address})


def _sign_out(client: FlaskClient) -> None:
    assert client.post("/sign-out", data={"csrf_token": _token(client, "/account")}).status_code == 303


def _guess(
    app: Flask, time: _Time, count: int, name: Callable[[int], str], address: Callable[[int], str]
) -> None:
    """Guess as often as somebody can who waits as long as asked, and end where waiting is asked for."""
    client = app.test_client()
    token = _token(client, "/sign-in")
    for number in range(count):
        answer = _sign_in(client, name(number), "not the password", address(number), token)
        assert answer.status_code in (422, 429)
        time.now += float(answer.headers.get("Retry-After", 0))
    for _ in range(31):
        if _sign_in(client, name(count), "not the password", address(count), token).status_code == 429:
            return
    pytest.fail("nothing slows down who guesses")


@pytest.fixture
def known(app: Flask) -> FlaskClient:
    """Alice's own browser: she signed in with it before, and out again."""
    client = app.test_client()
    assert _sign_in(client, "alice", PASSWORD).status_code == 303
    _sign_out(client)
    return client


def test_wrong_passwords_from_the_same_address_do_not_keep_a_known_browser_out(app, time, known) -> None:
    _guess(app, time, 60, lambda number: f"user{number}", lambda _: TUNNEL)
    assert _sign_in(known, "alice", PASSWORD).status_code == 303


def test_wrong_passwords_for_the_same_name_do_not_keep_a_known_browser_out(app, time, known) -> None:
    _guess(app, time, 60, lambda _: "alice", lambda _: TUNNEL)
    _guess(app, time, 60, lambda _: "alice", lambda number: f"198.51.100.{number}")
    assert _sign_in(known, "alice", PASSWORD).status_code == 303


def test_others_behind_a_guesser_s_address_wait_seconds_not_minutes(app, time) -> None:
    _guess(app, time, 80, lambda number: f"user{number}", lambda _: TUNNEL)
    answer = _sign_in(app.test_client(), "bob", PASSWORD)
    if answer.status_code == 429:
        assert int(answer.headers["Retry-After"]) <= 10
        time.now += int(answer.headers["Retry-After"])
        answer = _sign_in(app.test_client(), "bob", PASSWORD)
    assert answer.status_code == 303


def test_a_clock_that_is_set_back_keeps_nobody_out_for_hours(app, time) -> None:
    _guess(app, time, 60, lambda _: "alice", lambda _: TUNNEL)
    time.now -= 3 * 3600
    assert _sign_in(app.test_client(), "alice", PASSWORD).status_code == 303


def test_a_known_browser_may_not_guess_without_end_either(app, known) -> None:
    answers = [_sign_in(known, "alice", f"guess {number}").status_code for number in range(7)]
    assert answers == [422] * 5 + [429] * 2


def test_a_browser_known_under_one_name_is_not_known_under_another(app, known) -> None:
    answers = [_sign_in(known, "bob", f"guess {number}").status_code for number in range(6)]
    assert answers == [422] * 5 + [429]
    stranger = app.test_client()
    assert _sign_in(stranger, "bob", PASSWORD).status_code == 429, "counted with all unknown browsers"


def test_a_made_up_cookie_makes_no_browser_known(app, known) -> None:
    cookie = known.get_cookie("ses_webface_browser")
    assert cookie is not None
    stranger = app.test_client()
    content, signature = cookie.value.rsplit(".", 1)
    # Not its last character, which carries bits that nobody reads.
    changed = ("b" if signature[0] == "a" else "a") + signature[1:]
    stranger.set_cookie("ses_webface_browser", f"{content}.{changed}")
    for number in range(5):
        _sign_in(stranger, "alice", f"guess {number}")
    assert _sign_in(app.test_client(), "alice", PASSWORD).status_code == 429


def test_the_cookie_of_a_known_browser_signs_nobody_in(app, known) -> None:
    cookie = known.get_cookie("ses_webface_browser")
    assert cookie is not None
    thief = app.test_client()
    thief.set_cookie("ses_webface_browser", cookie.value)
    assert thief.get("/requirements").status_code == 303


def test_waits_double_and_an_attempt_that_is_refused_does_not_lengthen_them(app, time) -> None:
    client = app.test_client()
    for _ in range(5):
        assert _sign_in(client, "alice", "guess").status_code == 422
    waits = []
    for _ in range(9):
        for _ in range(3):
            answer = _sign_in(client, "alice", "guess")
            assert answer.status_code == 429
        waits.append(int(answer.headers["Retry-After"]))
        time.now += waits[-1]
        assert _sign_in(client, "alice", "guess").status_code == 422
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256]


def test_one_name_is_guessed_slowly_from_however_many_addresses(app, time) -> None:
    began = time.now
    _guess(app, time, 180, lambda _: "alice", lambda number: f"198.51.100.{number}")
    assert time.now - began > 60 * 60, "20 at once, then one a minute"


def test_guesses_sent_at_the_same_moment_are_counted_too(app) -> None:
    accounts = app.extensions["ses_webface"].accounts

    def guess(number: int) -> bool:
        try:
            accounts.sign_in("alice", f"guess {number}", TUNNEL)
        except TooManyAttemptsError:
            return False
        return True

    # So few that all are done before one of them has waited for the database as long as it may.
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(guess, range(24))) == 5


class _Held:
    """A hasher that hashes nothing before it is let go."""

    def __init__(self, hasher: PasswordHasher) -> None:
        self._hasher = hasher
        self.entered, self.let_go = Semaphore(0), Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hasher, name)

    def verify(self, stored: str, password: str) -> bool:
        self.entered.release()
        self.let_go.wait()
        return self._hasher.verify(stored, password)


def test_sign_ins_of_many_at_once_take_neither_threads_nor_memory_from_others(
    app, known, monkeypatch
) -> None:
    accounts = app.extensions["ses_webface"].accounts
    held = _Held(accounts._hasher)
    monkeypatch.setattr(accounts, "_hasher", held)
    link = f"/welcome/{app.extensions['ses_webface'].links.for_account('alice')}"
    new = {
        "csrf_token": _token(known, link),
        "password": "another long secret",
        "again": "another long secret",
    }
    strangers = [app.test_client() for _ in range(12)]
    tokens = [_token(stranger, "/sign-in") for stranger in strangers]
    known_token, none_is_free = _token(known, "/sign-in"), app.test_client()
    with ThreadPoolExecutor(16) as pool:
        asked = [
            pool.submit(_sign_in, client, f"user{number}", PASSWORD, f"198.51.100.{number}", token)
            for number, (client, token) in enumerate(zip(strangers, tokens, strict=True))
        ]
        try:
            refused = list(islice(as_completed(asked, timeout=60), len(asked) - MAX_AT_ONCE + 1))
            assert [attempt.result().status_code for attempt in refused] == [429] * len(refused)
            assert {attempt.result().headers["Retry-After"] for attempt in refused} == {"1"}
            for _ in range(MAX_AT_ONCE - 1):
                held.entered.acquire()
            assert _sign_in(none_is_free, "bob", PASSWORD).status_code == 429
            assert known.post(link, data=new).status_code == 429
            mine = pool.submit(_sign_in, known, "alice", PASSWORD, token=known_token)
            held.entered.acquire()
        finally:
            held.let_go.set()
    assert mine.result().status_code == 303
    assert sum(attempt.result().status_code == 422 for attempt in asked) == MAX_AT_ONCE - 1
    assert known.post(link, data={**new, "csrf_token": _token(known, link)}).status_code == 303, "it still is"


def test_who_is_signed_in_cannot_be_made_to_guess_the_password_for_others(app, known) -> None:
    assert _sign_in(known, "alice", PASSWORD).status_code == 303
    fields = {"current": "wrong one", "password": "another long secret", "again": "another long secret"}
    answers = [
        known.post("/account", data={"csrf_token": _token(known, "/account"), **fields}).status_code
        for _ in range(6)
    ]
    assert answers == [422] * 5 + [429]


def test_a_cookie_used_again_after_signing_out_signs_nobody_in(app) -> None:
    client = app.test_client()
    _sign_in(client, "alice", PASSWORD)
    cookie = client.get_cookie("ses_webface")
    assert cookie is not None
    copy = app.test_client()
    copy.set_cookie("ses_webface", cookie.value)
    assert copy.get("/requirements").status_code == 200, "the copy is good while the session lasts"
    _sign_out(client)
    copy.set_cookie("ses_webface", cookie.value)
    assert copy.get("/requirements").status_code == 303


def test_signing_out_ends_this_session_only(app) -> None:
    here, there = app.test_client(), app.test_client()
    for client in (here, there):
        _sign_in(client, "alice", PASSWORD)
    _sign_out(here)
    assert there.get("/requirements").status_code == 200


@pytest.mark.parametrize(("every", "lasts"), [(13 * 3600.0, 0.0), (6 * 3600.0, 7 * 86400.0)])
def test_a_session_ends_unused_and_at_last_also_in_use(app, time, every: float, lasts: float) -> None:
    client = app.test_client()
    _sign_in(client, "alice", PASSWORD)
    cookie = client.get_cookie("ses_webface")
    assert cookie is not None
    key = cookie.value
    used = 0.0
    while used < lasts:
        time.now += every
        used += every
        assert client.get("/account").status_code == 200
    time.now += every
    client.set_cookie("ses_webface", key)
    assert client.get("/account").status_code == 303


def test_an_administrator_ends_the_sessions_of_an_account(app) -> None:
    alice, bob = app.test_client(), app.test_client()
    _sign_in(alice, "alice", PASSWORD)
    _sign_in(bob, "bob", PASSWORD)
    sessions = app.extensions["ses_webface"].sessions
    assert [(session.name, session.address) for session in sessions.everybody()] == [
        ("alice", TUNNEL),
        ("bob", TUNNEL),
    ]
    assert sessions.end_all("alice") == 1
    assert alice.get("/requirements").status_code == 303
    assert bob.get("/requirements").status_code == 200


def test_the_database_alone_signs_nobody_in(app) -> None:
    from sqlalchemy import text

    client = app.test_client()
    _sign_in(client, "alice", PASSWORD)
    with client.session_transaction() as session:
        key = session["key"]
    with app.extensions["ses_webface"].database.engine.connect() as connection:
        (stored,) = connection.execute(text("select key_digest from browser_session")).scalars()
    assert key not in stored
    assert app.extensions["ses_webface"].sessions.person(stored) is None
