"""What holds for every page: closed by default, CSRF, headers, nothing from elsewhere."""

import ast
import hashlib
import re
import sqlite3
from pathlib import Path

import pytest
import ses_webface
from ses_client.address import read_token
from ses_client.errors import NotAllowedError, UnavailableError, UnreachableError
from ses_webface.settings import secret_key
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

PACKAGE = Path(ses_webface.__file__).parent
OPEN = {"static", "accounts.sign_in", "accounts.sign_in_submit", "accounts.sign_out",
        "accounts.oidc", "accounts.oidc_back", "welcome.ask", "welcome.enter",
        "probes.healthz", "probes.readyz", "probes.metrics"}  # fmt: skip


def _addresses(app, method: str, but: set[str]) -> list[str]:
    """Return an address of every view that takes ``method``."""
    values = {"level": "user", "name": "alice", "placement_id": "1", "number": 1, "kind": "csv",
              "key": "k", "system": "union", "what": "drain", "run_id": "r"}  # fmt: skip
    urls = app.url_map.bind("localhost")
    return [
        urls.build(rule.endpoint, {name: values[name] for name in rule.arguments}, method=method)
        for rule in app.url_map.iter_rules()
        if method in rule.methods and rule.endpoint not in but
    ]


def test_every_page_asks_who_is_there(app, visitor) -> None:
    addresses = _addresses(app, "GET", OPEN)
    assert len(addresses) >= 7
    for address in addresses:
        answer = visitor.get(address)
        assert (address, answer.status_code) == (address, 303)
        assert answer.headers["Location"].startswith("/sign-in?next=")


def test_every_form_needs_its_token(app, alice) -> None:
    addresses = _addresses(app, "POST", set())
    assert len(addresses) >= 5
    for address in addresses:
        assert (address, alice.client.post(address, data={}).status_code) == (address, 400)


@pytest.mark.parametrize(
    "path", ["/sign-in", "/requirements", "/storage", "/nothing", "/static/mark.svg", "/healthz"]
)
def test_every_answer_carries_the_headers(alice, path: str) -> None:
    headers = alice.get(path).headers
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    if not path.startswith("/static"):
        assert headers["Cache-Control"] == "no-store"


def test_https_is_kept_once_seen(alice) -> None:
    assert "Strict-Transport-Security" in alice.get("/sign-in", base_url="https://localhost").headers
    assert "Strict-Transport-Security" not in alice.get("/sign-in").headers


def test_pages_hold_no_inline_code_and_nothing_from_elsewhere() -> None:
    templates = list(PACKAGE.rglob("*.html"))
    assert len(templates) >= 10
    for template in templates:
        text = template.read_text()
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=", text), template
        assert not re.search(r"(src|href|action)=\"https?:", text), template
    for sheet in (PACKAGE / "static" / "css").glob("*.css"):
        assert not re.search(r"@import|https?:", sheet.read_text()), sheet


def test_vendored_files_are_the_ones_listed() -> None:
    vendor = PACKAGE / "static" / "vendor"
    listed = dict(
        reversed(line.split(maxsplit=1)) for line in (vendor / "SHA256SUMS").read_text().splitlines()
    )
    sums = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in vendor.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert sums == listed
    assert {name for name in sums if name.endswith("LICENSE.txt")} == {
        "htmx-LICENSE.txt",
        "pico-LICENSE.txt",
    }


def test_the_portal_shares_no_code_with_the_service() -> None:
    sources = list(PACKAGE.rglob("*.py"))
    assert len(sources) > 20
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] not in {"ses_service", "smed_monitor", "ses"}, source


def test_the_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    first = secret_key(tmp_path)
    assert len(first) == 32
    assert secret_key(tmp_path) == first
    assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_secrets_others_can_read_are_refused(tmp_path: Path, mode: int) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    token.chmod(0o600)
    assert read_token(token) == "abc"
    token.chmod(mode)
    with pytest.raises(NotAllowedError, match="chmod 600"):
        read_token(token)


@pytest.mark.parametrize("content", ["", "two words", "a\nb", "ą"])
def test_a_token_file_holds_one_token(tmp_path: Path, content: str) -> None:
    token = tmp_path / "token"
    token.write_text(content)
    token.chmod(0o600)
    with pytest.raises(NotAllowedError, match="token file"):
        read_token(token)


def test_a_database_that_cannot_be_written_is_said_to_be_so(alice, site, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OperationalError("insert into session", {}, sqlite3.OperationalError("secret: disk is full"))

    monkeypatch.setattr(site, "elements", full)
    with capture_logs() as logged:
        answer = alice.get("/storage")
    assert answer.status_code == 503
    assert "The portal cannot use its database" in answer.text
    assert "secret" not in answer.text
    assert [line["detail"] for line in logged if line["event"] == "database failed"] == [
        "secret: disk is full"
    ]


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (UnreachableError("The service cannot be reached."), "The selection service is not available"),
        (UnavailableError("The knowledge base does not answer."), "This cannot be done now"),
    ],
)
def test_the_service_is_said_to_be_away_only_where_it_is(alice, site, monkeypatch, error, title) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(site, "elements", fail)
    answer = alice.get("/storage", code=503)
    assert title in answer.text


def test_an_unexpected_error_tells_nothing(alice, site, monkeypatch) -> None:
    monkeypatch.setattr(site, "elements", lambda: 1 / 0)
    answer = alice.get("/storage", code=500)
    assert "Something went wrong here" in answer.text
    assert "ZeroDivision" not in answer.text


def test_readiness_names_what_is_wrong(visitor, site) -> None:
    site.down = "The selection service cannot be reached."
    answer = visitor.get("/readyz", code=200)
    checks = {check["name"]: check for check in answer.get_json()["checks"]}
    assert checks["database"]["ok"]
    assert checks["selection-service"] == {"name": "selection-service", "ok": False, "detail": site.down}


def test_a_database_that_is_gone_makes_the_portal_unready(app, visitor, settings) -> None:
    from sqlalchemy import text

    with app.extensions["ses_webface"].database.engine.begin() as connection:
        connection.execute(text("drop table account"))
    answer = visitor.get("/readyz", code=503)
    assert answer.get_json()["ready"] is False


def test_metrics_count_without_naming_anybody(alice) -> None:
    text = alice.get("/metrics").text
    assert 'ses_webface_sign_ins_total{result="ok"} 1.0' in text
    assert "alice" not in text


def test_a_signed_out_preview_keeps_the_form(visitor) -> None:
    answer = visitor.client.post("/requirements/user/alice/preview", headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert "What you typed is still here" in answer.text


def test_a_map_that_refreshes_itself_says_how_to_sign_in_again(visitor) -> None:
    answer = visitor.get("/storage", headers={"HX-Request": "true"}, code=401)
    assert 'href="/sign-in?next=/storage"' in answer.text.replace("%2F", "/")
    assert "typed" not in answer.text
