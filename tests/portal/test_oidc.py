"""Signing in at a provider: what a members file must say, and a provider that is away or somebody else."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask
from oidc_provider_mock import run_server_in_thread
from ses_webface.accounts.oidc import provider_of
from ses_webface.app import create_app
from ses_webface.errors import StartError
from ses_webface.settings import Settings
from werkzeug.serving import make_server

GOOD = '[oidc]\nissuer = "https://idp.example.org/realm/"\naudience = "portal"\n'


@pytest.fixture
def members(tmp_path: Path) -> Path:
    return tmp_path / "members.toml"


def test_a_members_file_names_the_provider(members: Path, tmp_path: Path) -> None:
    members.write_text(GOOD + 'user_claim = "uid"\nca_file = "ca.pem"\n')
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("s3cret\n")
    found = provider_of(members, secret)
    assert (found.issuer, found.client_id) == ("https://idp.example.org/realm", "portal")
    assert (found.user_claim, found.ca_file, found.secret) == ("uid", tmp_path / "ca.pem", "s3cret")
    assert found.host == "idp.example.org"
    secret.chmod(0o644)
    with pytest.raises(StartError, match="can be read by others"):
        provider_of(members, secret)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[ldap]\n", "no table"),
        ("[oidc", "cannot be read"),
        ('[oidc]\nissuer = "https://idp"\n', "an issuer and an audience"),
        (GOOD.replace("https", "http"), "must be https"),
    ],
)
def test_a_file_that_names_none_stops_the_start(members: Path, text: str, says: str) -> None:
    members.write_text(text)
    with pytest.raises(StartError, match=says):
        provider_of(members, None)


def test_without_a_provider_there_is_only_the_password(visitor) -> None:
    assert visitor.get("/sign-in/oidc").status_code == 404
    assert visitor.get("/sign-in/oidc/back?state=x&code=y").status_code == 404
    assert "Sign in with" not in visitor.get("/sign-in").get_data(as_text=True)


def portal_of(settings: Settings, members: Path, issuer: str, site, hasher):
    members.write_text(f'[oidc]\nissuer = "{issuer}"\naudience = "portal"\n')
    return create_app(replace(settings, members=members), selection=site, hasher=hasher).test_client()


def test_a_provider_that_is_away_is_named(settings: Settings, members: Path, site, hasher) -> None:
    client = portal_of(settings, members, "http://127.0.0.1:9", site, hasher)
    assert "Sign in with 127.0.0.1" in client.get("/sign-in").get_data(as_text=True)
    answer = client.get("/sign-in/oidc")
    assert (answer.status_code, "127.0.0.1 does not answer" in answer.get_data(as_text=True)) == (502, True)


def test_browsers_are_sent_with_a_challenge_and_only_to_who_it_says_to_be(
    settings: Settings, members: Path, site, hasher
) -> None:
    with run_server_in_thread() as provider:
        issuer = f"http://localhost:{provider.server_port}"
        answer = portal_of(settings, members, issuer, site, hasher).get("/sign-in/oidc")
        assert (answer.status_code, answer.location.startswith(issuer)) == (302, True)
        assert "code_challenge_method=S256" in answer.location
        assert "nonce=" in answer.location
    pretender = Flask("pretender")
    pretender.add_url_rule(
        "/.well-known/openid-configuration", "named", lambda: {"issuer": "https://idp.example.org"}
    )
    server = make_server("127.0.0.1", 0, pretender)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        answer = portal_of(settings, members, url, site, hasher).get("/sign-in/oidc")
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()
    assert answer.status_code == 502
    assert "calls itself https://idp.example.org: it is not believed" in answer.get_data(as_text=True)
