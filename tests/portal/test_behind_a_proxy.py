"""A portal below a path of somebody else's host: every link, form and redirect stays below it."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask, url_for
from ses_webface.app import create_app
from ses_webface.settings import Settings
from ses_webface.web_security import open_to_all
from werkzeug.test import Client, TestResponse

PREFIX, PASSWORD = "/qstorman", "may change the site"
LINKS = re.compile(r'(?:href|src|action|formaction|hx-get|hx-post)="(/[^"]*)"')


@pytest.fixture
def portal(settings: Settings, site: Any, clock: Any, hasher: Any, compiled_pages: Any) -> Flask:
    made = create_app(replace(settings, behind_proxy=True), selection=site, clock=clock, hasher=hasher)
    made.jinja_env.bytecode_cache = compiled_pages
    made.add_url_rule(
        "/where",
        view_func=open_to_all(lambda: url_for("accounts.oidc_back", _external=True)),
        endpoint="where",
    )
    return made


@pytest.fixture
def behind(portal: Flask, visitor: Any) -> Any:
    """Somebody who reaches it through a proxy that takes the prefix away."""

    def proxy(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        assert environ["PATH_INFO"].startswith(f"{PREFIX}/"), environ["PATH_INFO"]
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(PREFIX)
        environ["HTTP_X_FORWARDED_PREFIX"] = PREFIX
        environ["HTTP_X_FORWARDED_PROTO"] = "https"
        environ["HTTP_X_FORWARDED_HOST"] = "hpc.example.org"
        environ["HTTP_REFERER"] = f"https://hpc.example.org{PREFIX}/"
        answer: Iterable[bytes] = portal.wsgi_app(environ, start)
        return answer

    return replace(visitor, client=Client(proxy, TestResponse))


def enter(behind: Any, wanted: str = "") -> Any:
    data = {"name": "root", "password": PASSWORD, "next": wanted}
    return behind.post(f"{PREFIX}/sign-in", data)


def test_every_address_of_every_page_lies_below_the_prefix(behind: Any) -> None:
    assert enter(behind).location == f"{PREFIX}/requirements"
    ahead, seen = [f"{PREFIX}/"], set[str]()
    while ahead:
        path = ahead.pop()
        answer = behind.get(path)
        assert answer.status_code in (200, 302, 303, 405), (path, answer.status_code)
        addresses = [answer.location] if answer.location else []
        if answer.mimetype == "text/html":
            addresses += LINKS.findall(answer.text)
        for address in addresses:
            assert address.startswith(f"{PREFIX}/"), (path, address)
            kind = re.sub(r"\?.*|#.*|[^/]*:[^/]*", "", address.replace("&amp;", "&"))
            if kind not in seen and "sign-out" not in kind and len(seen) < 40:
                seen.add(kind)
                ahead.append(address.partition("#")[0].replace("&amp;", "&"))
    assert f"{PREFIX}/files" in seen, seen
    assert any(kind.endswith(".css") for kind in seen), seen


def test_cookies_and_ways_back_lie_below_the_prefix(behind: Any) -> None:
    asked = behind.get(f"{PREFIX}/files?job=1")
    assert asked.location == f"{PREFIX}/sign-in?next={PREFIX}/files?job%3D1"
    answer = enter(behind, f"{PREFIX}/files?job=1")
    assert answer.location == f"{PREFIX}/files?job=1"
    cookies = answer.headers.getlist("Set-Cookie")
    assert len(cookies) == 2
    assert all(f"Path={PREFIX}/" in cooky and "Secure" in cooky for cooky in cookies), cookies
    assert behind.get(answer.location).status_code == 200
    where = behind.get(f"{PREFIX}/where")
    assert where.text == f"https://hpc.example.org{PREFIX}/sign-in/oidc/back"


def test_without_a_proxy_nobody_says_where_the_portal_lies(app: Flask) -> None:
    answer = app.test_client().get("/files", headers={"X-Forwarded-Prefix": "//elsewhere"})
    assert answer.location == "/sign-in?next=/files"
