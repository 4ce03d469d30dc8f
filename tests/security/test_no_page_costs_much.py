"""No request to the portal costs much more than others of its size, whatever page and form it is for.

As in ``test_no_request_costs_much.py``: what grows faster than its input takes minutes at the size allowed.
Pages are those of the portal's map of addresses, and the fields of a form are those on its page.
"""

import random
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from argon2 import PasswordHasher
from costly_requests import HEAD, texts
from fake_selection import InMemorySelectionService
from flask import Flask
from flask.testing import FlaskClient
from ses_client.messages.elements import Element, Observation, RatePair
from ses_client.messages.requirements import Subject, required
from ses_client.messages.selections import PlacementRecord, Rates
from ses_client.messages.vocabulary import Profile, Vocabulary
from ses_webface.app import create_app
from ses_webface.settings import Settings

SECONDS = 3.0
BODY = 256 * 1024 - 4096
PASSWORD = "correct horse battery"
PLACED = "0123456789abcdef"
VALUES = {
    "level": "site",
    "system": "union",
    "kind": "csv",
    "number": 1,
    "placement_id": PLACED,
    "what": "set",
    "run_id": "a" * 16,
}
NAMES = {"storage": "b0", "profiles": "w:simulate", "people": "w", "requirements": "default"}
LAST = ("/people/<name>/remove", "/sign-in")  # ends the accounts; has wrong passwords, after which all wait
WITHOUT = ("static", "accounts.sign_out")  # a file; ends the session, and reads nothing
ABSENT = ("/sign-in/oidc", "/sign-in/oidc/back", "/people/<name>/identity")  # there is no provider here
FIELD = re.compile(r'<(?:input|select|textarea|button)\b[^>]*\bname="([\w.-]+)"')
FORM = "application/x-www-form-urlencoded"
Sent = tuple[str, str, dict[str, Any]]  # what, method, and how it is sent


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    """A portal of 300 elements and 300 people, with one of each thing that has a page; hashes cost little."""
    wanted = (required("current-write-rate", 50, "MB/s"),)
    placed = PlacementRecord(
        placement_id=PLACED,
        state="open",
        subject=Subject(user="w"),
        element="union/b0",
        target="/b0",
        path="/b0/f",
        distance=0.0,
    )
    service = InMemorySelectionService([_element(number) for number in range(300)], placements=[placed])
    service.words = Vocabulary(
        kinds=service.words.kinds,
        profiles=(Profile(profile="w:simulate", label="simulate", definition="", requirements=wanted),),
    )
    service.replace_requirements("site", "default", wanted, revision=0)
    service.acting("w").make_token("laptop", "read", 30)
    made = create_app(
        Settings(tmp_path / "state", f"sqlite:///{tmp_path / 'portal.sqlite3'}", "http://127.0.0.1:9"),
        selection=service,
        hasher=PasswordHasher(time_cost=1, memory_cost=8, parallelism=1),
    )
    accounts = made.extensions["ses_webface"].accounts
    for number in range(300):
        accounts.add(f"u{number}", None)
    accounts.add("w", None)
    return made


def _element(number: int) -> Element:
    return Element(
        id=f"union/b{number}",
        label=f"b{number}",
        storage_system="union",
        backend="mergerfs",
        server="n1",
        target=f"/b{number}",
        state="active",
        capacity_bytes=300e6,
        observation=Observation(
            free_bytes=200e6, state="ok", age_seconds=0.4, write_bytes_per_second=RatePair(current=0.0)
        ),
        available=Rates(read_mb_s=90.0, write_mb_s=90.0),
        nominal=Rates(read_mb_s=100.0, write_mb_s=100.0),
    )


def _client(app: Flask, name: str | None) -> FlaskClient:
    """Return the browser of an administrator, made with it, or of nobody."""
    client = app.test_client()
    if name is not None:
        portal = app.extensions["ses_webface"]
        portal.accounts.add(name, PASSWORD, vo="materials", is_admin=True)
        mine = portal.selection.acting(name)
        mine.make_token("laptop", "read", 30)
        mine.start_run({"run_id": "a" * 16, "files": ["/b0/f"], "command": ["cat", "{}"], "options": []})
        data = {"csrf_token": _token(client.get("/sign-in").text), "name": name, "password": PASSWORD}
        assert client.post("/sign-in", data=data).status_code == 303
    return client


def _token(page: str) -> str:
    match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page)
    return match.group(1) if match else ""


def _rules(app: Flask) -> Iterator[tuple[str, str, str, str]]:
    """Yield each pattern with a method, an address of it, and the page that its form is on."""
    key = app.extensions["ses_webface"].links.for_account("u1")
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint not in WITHOUT]
    rules.sort(key=lambda rule: LAST.index(rule.rule) if rule.rule in LAST else -1)
    with app.test_request_context():
        adapter = app.url_map.bind("localhost")
        for rule in rules:
            given = VALUES | {"key": key, "name": NAMES.get(rule.rule.split("/")[1], "")}
            page = path = adapter.build(
                rule.endpoint, {argument: given[argument] for argument in rule.arguments}
            )
            while not adapter.test(page, "GET"):
                page = page.rpartition("/")[0]
            if "<any(" in rule.rule:
                page += "/change"
            yield rule.rule, "GET" if "GET" in (rule.methods or ()) else "POST", path, page


def _worst(
    pattern: str, path: str, page: str, form: bool, rng: random.Random, share: float
) -> Iterator[Sent]:
    hostile = _texts(HEAD // 3)
    names = sorted({*FIELD.findall(page)} - {"csrf_token"})
    given = dict.fromkeys(names, "1") | {"csrf_token": _token(page)}
    for text in hostile:
        if rng.random() > share:
            continue
        value = quote(text.encode("utf-8", "surrogatepass"))[: HEAD - 100]
        yield f"path {text[:9]!r}", "GET", {"path": f"{pattern.partition('<')[0]}{value}"}
        for name in ("next", "after", "before", "user", "q", *names[:4]):
            yield f"query {name}={text[:9]!r}", "GET", {"path": f"{path}?{name}={value}"}
        yield f"cookie {text[:9]!r}", "GET", {"path": path, "headers": {"Cookie": f"session={value}"}}
    yield "many parameters", "GET", {"path": f"{path}?" + "&".join(f"x{n}=1" for n in range(HEAD // 8))}
    if not form:
        return
    for name in names:
        for length in (1000, BODY // 12):
            for text in _texts(length):
                if rng.random() < share:
                    said = {
                        field: v.encode("utf-8", "surrogatepass")
                        for field, v in {**given, name: text}.items()
                    }
                    yield f"{name}={length} of {text[:9]!r}", "POST", _sent(path, urlencode(said))
        if rng.random() > share:
            continue
        again = "&".join([f"{name}=1"] * (BODY // (len(name) + 3)))
        yield f"{name} again and again", "POST", _sent(path, f"csrf_token={given['csrf_token']}&{again}")
    if rng.random() > 10 * share:
        return
    many = "&".join(f"x{number}=" for number in range(BODY // 9))
    yield "many fields", "POST", _sent(path, many)
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{n}"; filename="f"\r\n\r\n\r\n'
        for n in range(BODY // 70)
    )
    for what, raw in (("many parts", parts), ("no end of a part", "--b\r\n" + "\r\n-" * (BODY // 3))):
        yield what, "POST", _sent(path, raw, "multipart/form-data; boundary=b")


@cache
def _texts(length: int) -> list[str]:
    return list(texts(length, random.Random(3)))


def _sent(path: str, body: str, kind: str = FORM) -> dict[str, Any]:
    return {"path": path, "data": body.encode()[:BODY], "content_type": kind}


def _costs(app: Flask, share: float) -> None:
    rng, dear, asked = random.Random(3), [], 0
    for number, (pattern, method, path, page) in enumerate(list(_rules(app))):
        client = _client(app, None if pattern in ("/sign-in", "/welcome/<key>") else f"admin{number}")
        plain = client.get(page)
        if pattern not in ABSENT:
            assert plain.status_code in (200, 302, 303), f"{page} is not what it is for"
            assert method == "GET" or path in plain.text or page == path, f"{page} has no form for {path}"
        for what, how, sent in _worst(pattern, path, plain.text, method == "POST", rng, share):
            began = time.thread_time()
            status = client.open(method=how, **sent).status_code
            cost = time.thread_time() - began
            asked += 1
            assert status != 500, (pattern, what)
            if cost > SECONDS:
                dear.append((round(cost, 2), status, how, pattern, what))
    assert dear == []
    assert asked > 50


def test_no_request_to_the_portal_costs_much(app: Flask) -> None:
    _costs(app, 0.01)


def test_a_page_of_quotas_with_a_number_too_long_to_be_one_is_the_first(app: Flask) -> None:
    assert _client(app, "root").get("/quotas?page=" + "9" * 5000).status_code < 500


def test_days_of_a_token_that_no_float_can_hold_are_refused(app: Flask) -> None:
    client, page = _client(app, "root"), "/account/tokens"
    for days in ("9" * 400, "-" + "9" * 400):
        form = {"csrf_token": _token(client.get(page).text), "name": "cluster", "scope": "all", "days": days}
        assert "Choose 1 to 3660 days." in client.post(page, data=form).text


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_request_at_all_to_the_portal_costs_much(app: Flask) -> None:
    _costs(app, 1.0)
