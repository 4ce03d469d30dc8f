"""Signing in at a provider: what a members file must say, who is who, and a provider that is away."""

import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from oidc_provider_mock import run_server_in_thread
from ses_webface.accounts.account_sync import AccountSync
from ses_webface.accounts.oidc import provider_of
from ses_webface.accounts.revocations import UNSEEN_SECONDS
from ses_webface.app import create_app
from ses_webface.errors import StartError
from ses_webface.portal import Portal
from ses_webface.settings import Settings
from werkzeug.serving import make_server

GOOD = '[oidc]\nissuer = "https://idp.example.org/realm/"\naudience = "portal"\n'


@pytest.fixture
def members(tmp_path: Path) -> Path:
    return tmp_path / "members.toml"


def test_a_members_file_names_the_provider(members: Path, tmp_path: Path) -> None:
    members.write_text(GOOD + 'user_claim = "uid"\nuser_domain = "a.org"\nca_file = "ca.pem"\n')
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("s3cret\n")
    provider = provider_of(members, secret)
    assert (provider.issuer, provider.client_id) == ("https://idp.example.org/realm", "portal")
    assert (provider.user_claim, provider.user_domain) == ("uid", "a.org")
    assert (provider.ca_file, provider.secret) == (tmp_path / "ca.pem", "s3cret")
    assert provider.host == "idp.example.org"
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
    assert "Sign in with" not in visitor.get("/sign-in").text


def portal_of(settings: Settings, members: Path, issuer: str, site, hasher):
    members.write_text(f'[oidc]\nissuer = "{issuer}"\naudience = "portal"\n')
    return create_app(replace(settings, members=members), selection=site, hasher=hasher).test_client()


def test_a_provider_that_is_away_is_named(settings: Settings, members: Path, site, hasher) -> None:
    client = portal_of(settings, members, "http://127.0.0.1:9", site, hasher)
    assert "Sign in with 127.0.0.1" in client.get("/sign-in").text
    answer = client.get("/sign-in/oidc")
    assert (answer.status_code, "127.0.0.1 does not answer" in answer.text) == (502, True)


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
    assert "calls itself https://idp.example.org: it is not believed" in answer.text


@dataclass
class AtProvider:
    """A portal whose people sign in at a provider by subject."""

    app: Flask
    issuer: str

    @property
    def parts(self) -> Portal:
        return self.app.extensions["ses_webface"]

    def sign_in(self, subject: str, name: str) -> tuple[FlaskClient, str]:
        """Sign in who has this subject and calls themselves so; gives their browser and the page they see."""
        client = self.app.test_client()
        return client, self.enter(client, client.get("/sign-in/oidc").location, subject, name)

    def enter(self, client: FlaskClient, asked: str, subject: str, name: str) -> str:
        """Go on from where a browser was sent; gives the page it sees then."""
        answer = requests.put(f"{self.issuer}/users/{subject}", json={"preferred_username": name}, timeout=60)
        assert answer.status_code == 204
        back = requests.post(asked, data={"sub": subject}, allow_redirects=False, timeout=60).headers[
            "Location"
        ]
        return client.get(back, follow_redirects=True).text


@pytest.fixture
def at_provider(settings: Settings, members: Path, site, hasher, clock, monkeypatch) -> Iterator[AtProvider]:
    monkeypatch.setattr(site, "introduce", lambda token: site.introduced.append(token), raising=False)
    site.introduced = []
    with run_server_in_thread() as provider:
        issuer = f"http://localhost:{provider.server_port}"
        members.write_text(f'[oidc]\nissuer = "{issuer}"\naudience = "portal"\n')
        secret = members.with_name("secret")
        secret.touch(0o600)
        secret.write_text("any is taken")
        configured = replace(settings, members=members, oidc_secret_file=secret)
        app = create_app(configured, selection=site, hasher=hasher, clock=clock)
        yield AtProvider(app, issuer)


def name_of(client: FlaskClient) -> str | None:
    match = re.search(r"<dt>User name</dt><dd>([^<]+)", client.get("/account").text)
    return match and match[1]


def test_who_turns_back_at_the_provider_again_and_again_can_still_sign_in(at_provider) -> None:
    """With a long form that waits: browsers drop a cookie of more than 4 KiB."""
    client = at_provider.app.test_client()
    typed = {"files": "\n".join(f"/srv/{secrets.token_hex(9)}.dat" for _ in range(60)), "command": "wc {}"}
    client.post("/runs", data=typed, headers={"Origin": "http://localhost"})
    assert "What you typed is kept" in client.get("/sign-in").get_data(as_text=True)
    tabs = [client.get("/sign-in/oidc") for _ in range(20)]
    assert max(len(cookie) for tab in tabs for cookie in tab.headers.getlist("Set-Cookie")) < 4096
    at_provider.enter(client, tabs[-2].location, "17", "carol")
    assert name_of(client) == "carol"


def test_an_account_is_a_subjects_whatever_it_calls_itself_later(at_provider, site) -> None:
    assert name_of(at_provider.sign_in("17", "carol")[0]) == "carol"
    assert name_of(at_provider.sign_in("17", "root")[0]) == "carol"
    assert len(site.introduced) == 1, "the service learns nothing about another's name"
    stranger, said = at_provider.sign_in("18", "carol")
    assert name_of(stranger) is None
    assert "an account carol here that is not yours by this sign-in" in said
    assert [account.name for account in at_provider.parts.accounts.everybody()] == ["carol"]


def test_a_sign_in_never_takes_over_an_account_by_its_name(at_provider, site) -> None:
    accounts, links = at_provider.parts.accounts, at_provider.parts.links
    accounts.add("root", "may change the site", is_admin=True)
    accounts.add("mia", None, vo="physics", is_manager=True)
    accounts.add("ivan", None)
    links.for_account("ivan")
    for name in ("root", "mia", "ivan"):
        client, said = at_provider.sign_in("66", name)
        assert name_of(client) is None, name
        assert "subject at the provider: 66" in said
        assert at_provider.parts.identities.of(name) is None
    assert site.introduced == []


def test_an_administrator_links_an_account_to_a_subject(at_provider) -> None:
    accounts = at_provider.parts.accounts
    accounts.add("root", "may change the site", is_admin=True)
    accounts.add("alice", "correct horse battery")
    root = at_provider.app.test_client()
    token = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', root.get("/sign-in").text)[1]
    signed = {"csrf_token": token, "name": "root", "password": "may change the site"}
    assert root.post("/sign-in", data=signed).status_code == 303
    page = root.get("/people/alice").text
    form = {"csrf_token": re.search(r'name="csrf_token" value="([^"]+)"', page)[1], "subject": "17"}
    assert root.post("/people/alice/identity", data=form).status_code == 303
    assert name_of(at_provider.sign_in("17", "whatever")[0]) == "alice"
    assert name_of(at_provider.sign_in("18", "alice")[0]) is None
    root.post("/people/root/identity", data=form)
    assert name_of(at_provider.sign_in("17", "root")[0]) == "alice", "a subject is one account's"
    assert at_provider.app.test_client().post("/people/alice/identity", data=form).status_code != 200


def test_an_account_that_only_a_sign_in_can_have_made_gets_its_identity_by_the_next(at_provider) -> None:
    at_provider.parts.accounts.add("carol", None)
    assert name_of(at_provider.sign_in("17", "carol")[0]) == "carol"
    assert name_of(at_provider.sign_in("18", "carol")[0]) is None


def test_a_removed_account_leaves_its_subject_nothing(at_provider, clock) -> None:
    client, _ = at_provider.sign_in("17", "carol")
    at_provider.parts.accounts.change("carol", vo=None, is_admin=True, is_manager=False)
    at_provider.parts.accounts.remove("carol")
    assert name_of(client) is None
    assert at_provider.parts.identities.of("carol") is None
    at_provider.sign_in("17", "carol")
    assert at_provider.parts.accounts.named("carol").role == ""


def test_tokens_end_for_whom_the_provider_has_not_signed_in_for_long(at_provider, site, clock) -> None:
    at_provider.sign_in("17", "carol")
    site.acting("carol").make_token("laptop", "all", 3660)
    sync = AccountSync(at_provider.parts.accounts, site, at_provider.parts.revocations)
    clock.now += UNSEEN_SECONDS
    sync.step()
    assert list(site.kept["carol"]) == ["laptop"]
    clock.now += 1
    sync.step()
    assert "carol" not in site.kept or not site.kept["carol"]


def test_a_name_that_looks_like_an_address_is_remarked_once(at_provider) -> None:
    assert "looks like an e-mail address" in at_provider.sign_in("17", "carol@example.org")[1]
    assert "looks like an e-mail address" not in at_provider.sign_in("17", "carol@example.org")[1]
