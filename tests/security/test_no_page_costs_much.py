"""No request to the portal costs much more than others of its size, whatever page and form it is for.

As in ``test_no_request_costs_much.py``: what grows faster than its input takes minutes at the size allowed.
Pages are those of the portal's map of addresses, and the fields of a form are those on its page.
"""

from __future__ import annotations

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
from flask import Flask
from flask.testing import FlaskClient
from selection_memory import InMemorySelectionService
from ses_client.answers.elements import Element, Observation
from ses_webface.app import create_app
from ses_webface.settings import Settings

SECONDS = 6.0
BODY = 256 * 1024 - 4096
PASSWORD = "correct horse battery"
VALUES = {"level": "user", "name": "alice", "system": "union", "kind": "csv", "what": "set", "number": 1}
FORM = "application/x-www-form-urlencoded"
Sent = tuple[str, str, dict[str, Any]]  # what, method, and how it is sent


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    """A portal of 300 elements and 300 people; hashes cost little."""
    made = create_app(
        Settings(tmp_path / "state", f"sqlite:///{tmp_path / 'portal.sqlite3'}", "http://127.0.0.1:9"),
        selection=InMemorySelectionService([_element(number) for number in range(300)]),
        hasher=PasswordHasher(time_cost=1, memory_cost=8, parallelism=1),
    )
    accounts = made.extensions["ses_webface"].accounts
    accounts.add("alice", PASSWORD, vo="materials", is_admin=True)
    accounts.add("root", PASSWORD, is_admin=True)
    for number in range(300):
        accounts.add(f"u{number}", None)
    return made


def _element(number: int) -> Element:
    return Element(
        id=f"union/b{number}", label=f"b{number}", storage_system="union", backend="mergerfs", server="n1",
        target=f"/b{number}", state="active", read=90.0, write=90.0, nominal_read=100.0, nominal_write=100.0,
        capacity_bytes=300e6, observation=Observation(
            free_bytes=200e6, state="ok", age_seconds=0.4, write_rate=0.0
        ),
    )  # fmt: skip


def _signed_in(app: Flask) -> FlaskClient:
    client = app.test_client()
    data = {"csrf_token": _token(client.get("/sign-in").text), "name": "alice", "password": PASSWORD}
    assert client.post("/sign-in", data=data).status_code in (302, 303)
    return client


def _token(page: str) -> str:
    found = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page)
    return found.group(1) if found else ""


def _paths(app: Flask) -> Iterator[tuple[str, str, bool]]:
    """Yield each pattern with an address of it, and whether it has a form."""
    with app.test_request_context():
        adapter = app.url_map.bind("localhost")
        for rule in app.url_map.iter_rules():
            if rule.endpoint in ("static", "accounts.sign_out"):
                continue
            path = adapter.build(rule.endpoint, {one: VALUES.get(one, "x1") for one in rule.arguments})
            yield rule.rule, path, "POST" in (rule.methods or ())


def _worst(
    pattern: str, path: str, page: str, form: bool, rng: random.Random, share: float
) -> Iterator[Sent]:
    hostile = _texts(HEAD // 3)
    names = sorted({*re.findall(r'name="([\w.-]+)"', page)} - {"csrf_token"})
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
                        one: v.encode("utf-8", "surrogatepass") for one, v in {**given, name: text}.items()
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
    for pattern, path, form in list(_paths(app)):
        client = _signed_in(app)
        plain = client.get(path)
        assert plain.status_code < 500, path
        for what, method, sent in _worst(pattern, path, plain.text, form, rng, share):
            began = time.thread_time()
            status = client.open(method=method, **sent).status_code
            cost = time.thread_time() - began
            asked += 1
            assert status != 500, (pattern, what)
            if cost > SECONDS:
                dear.append((round(cost, 2), status, method, pattern, what))
    assert dear == []
    assert asked > 50


def test_no_request_to_the_portal_costs_much(app: Flask) -> None:
    _costs(app, 0.01)


def test_a_page_of_quotas_with_a_number_too_long_to_be_one_is_the_first(app: Flask) -> None:
    assert _signed_in(app).get("/quotas?page=" + "9" * 5000).status_code < 500


def test_days_of_a_token_that_no_float_can_hold_are_refused(app: Flask) -> None:
    client = _signed_in(app)
    page = next(path for pattern, path, _ in _paths(app) if "token" in pattern)
    for days in ("9" * 400, "-" + "9" * 400):
        form = {"csrf_token": _token(client.get(page).text), "name": "cluster", "scope": "all", "days": days}
        assert "Choose 1 to 3660 days." in client.post(page, data=form).text


@pytest.mark.long
def test_no_request_at_all_to_the_portal_costs_much(app: Flask) -> None:
    _costs(app, 1.0)
