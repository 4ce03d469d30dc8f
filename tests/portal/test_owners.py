"""Credentials end with their owner: tokens, sessions and links with account, password and role."""

import re
from typing import Any

import pytest
from click.testing import CliRunner
from ses_client.errors import NotAllowedError
from ses_webface.accounts.account_sync import AccountSync
from ses_webface.cli import main
from ses_webface.portal import Portal

NEW = "another good password"


@pytest.fixture
def kept(alice, site) -> dict[str, dict[str, Any]]:
    """The service's tokens by person: alice has one."""
    assert alice.post("/account/tokens", {"name": "laptop", "scope": "all", "days": "30"}).status_code == 200
    assert list(site.kept["alice"]) == ["laptop"]
    return site.kept


def tokens(kept: dict[str, dict[str, Any]]) -> list[str]:
    return list(kept.get("alice", {}))


def remove(root: Any) -> Any:
    return root.post("/people/alice/remove", {}, page="/people/alice", follow_redirects=True)


def serve_on(parts: Portal) -> None:
    """What a portal that serves does each half minute."""
    AccountSync(parts.accounts, parts.selection, parts.revocations).step()


def test_tokens_sessions_and_links_end_with_the_account(root, alice, kept, parts, visitor) -> None:
    key = parts.links.for_account("alice")
    assert "The tokens of alice are revoked." in remove(root).text
    assert tokens(kept) == []
    assert alice.get("/account").status_code == 303
    assert visitor.get(f"/welcome/{key}").status_code == 404


def test_tokens_end_with_the_password(alice, kept) -> None:
    fields = {"current": "correct horse battery", "password": NEW, "again": NEW}
    said = alice.post("/account", fields, follow_redirects=True).text
    assert "The tokens of alice are revoked." in said
    assert tokens(kept) == []


@pytest.mark.parametrize("changed", [{"role": "admin"}, {"role": "manager", "vo": "physics"}])
def test_tokens_and_links_end_with_the_role_and_not_with_the_vo(root, kept, parts, changed) -> None:
    key = parts.links.for_account("alice")
    root.post("/people/alice", {"role": "", "vo": "physics"})
    assert (tokens(kept), parts.links.find(key) is None) == (["laptop"], False)
    root.post("/people/alice", changed)
    assert (tokens(kept), parts.links.find(key) is None) == ([], True)


def test_a_former_administrator_is_none_at_once_and_the_links_they_know_are_over(
    root, alice, signed_in, parts
) -> None:
    root.post("/people/alice", {"role": "admin", "vo": ""})
    assert alice.get("/people").status_code == 200
    key = parts.links.for_account("bob")
    root.post("/people/alice", {"role": "", "vo": ""})
    assert alice.get("/people").status_code == 403, "their session has the role of now"
    assert parts.links.find(key) is None
    assert parts.links.use(key, "bob", NEW) is None


def test_a_password_withdraws_the_links_that_were_for_another(parts) -> None:
    key = parts.links.for_account("alice")
    parts.accounts.set_password("alice", NEW)
    assert parts.links.find(key) is None


def test_tokens_end_when_a_service_that_was_away_answers(root, kept, parts, site) -> None:
    site.down = "away"
    assert "end as soon as the service answers" in remove(root).text
    serve_on(parts)
    assert tokens(kept) == ["laptop"]
    site.down = None
    serve_on(parts)
    assert tokens(kept) == []


@pytest.mark.parametrize("command", [("remove",), ("password", "--password-stdin")])
def test_the_command_line_ends_tokens_by_the_portal_that_serves(kept, parts, settings, command) -> None:
    database = ["--database-url", settings.database_url, "--state-dir", str(settings.state_dir)]
    said = CliRunner().invoke(main, ["account", *command, "alice", *database], input=NEW + "\n")
    assert (said.exit_code, "Their tokens end within half a minute" in said.output) == (0, True)
    serve_on(parts)
    assert tokens(kept) == []


def test_an_account_of_the_same_name_inherits_nothing_and_keeps_what_it_makes(
    root, kept, parts, site, signed_in
) -> None:
    site.down = "away"
    remove(root)
    parts.accounts.add("alice", NEW)
    site.down = None
    again = signed_in("alice", NEW)
    again.post("/account/tokens", {"name": "desk", "scope": "all", "days": "30"})
    serve_on(parts)
    assert tokens(kept) == ["desk"]


def test_a_token_that_is_made_while_its_account_ends_ends_too(alice, kept, parts, site, monkeypatch) -> None:
    make = type(site).make_token

    def make_late(self: Any, *wanted: Any) -> Any:
        parts.accounts.remove("alice")
        parts.revocations.settle()
        return make(self, *wanted)

    monkeypatch.setattr(type(site), "make_token", make_late)
    made = alice.post("/account/tokens", {"name": "late", "scope": "all", "days": "30"})
    assert (made.status_code, "ses_secret" in made.text) == (303, False)
    assert tokens(kept) == []


def test_an_administrator_sees_and_revokes_anybodys_tokens(root, alice, kept, site) -> None:
    alice.post("/account/tokens", {"name": "desk", "scope": "read", "days": "30"})
    page = root.get("/people/alice").text
    assert re.findall(r'<th scope="row">(\w+)', page) == ["laptop", "desk"]
    root.post("/people/alice/tokens/revoke", {"token": "laptop"}, page="/people/alice")
    assert tokens(kept) == ["desk"]
    root.post("/people/alice/tokens/revoke", {}, page="/people/alice")
    assert tokens(kept) == []
    alice.post("/people/root/tokens/revoke", {}, page="/account", code=403)
    site.down = "away"
    assert "does not answer" in root.get("/people/alice").text


def test_one_name_that_the_service_refuses_keeps_no_other(parts, site, kept, monkeypatch) -> None:
    revoke = type(site).revoke_tokens

    def refuse_aaron(self: Any) -> Any:
        if self.person == "aaron":
            raise NotAllowedError("not aaron")
        return revoke(self)

    monkeypatch.setattr(type(site), "revoke_tokens", refuse_aaron)
    parts.revocations.request("aaron")
    parts.accounts.remove("alice")
    with pytest.raises(NotAllowedError):
        parts.revocations.settle()
    assert tokens(kept) == []
