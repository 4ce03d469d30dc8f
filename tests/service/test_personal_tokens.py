"""Tokens that people make for themselves: shown once, theirs alone, ended in time, revoked at once."""

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ses_service.security.personal_tokens import (
    MAX_TOKENS,
    PersonalTokenError,
    PersonalTokenFileError,
    PersonalTokens,
    Scope,
)
from ses_service.security.tokens import Role, TokenFile, add_token

DAY = 86400.0
SET = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}
ASK = {"subject": {"user": "alice"}}


class People:
    """A service at which people make tokens by a portal."""

    def __init__(self, service: Any, portal: str, kept: Path, clock: Any) -> None:
        self.service, self.portal, self.kept, self.clock = service, portal, kept, clock

    def call(self, token: str, method: str, path: str, body: Any = None, acting: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {token}", **({"X-Acting-User": acting} if acting else {})}
        options = {} if body is None else {"json": body}
        return self.service.client.open(path, method=method, headers=headers, **options)

    def make(self, user: str = "alice", **wanted: Any) -> Any:
        return self.call(self.portal, "POST", "/v1/tokens", {"name": "laptop", **wanted}, acting=user)

    def token(self, user: str = "alice", **wanted: Any) -> str:
        made = self.make(user, **wanted)
        assert made.status_code == 200, made.get_json()
        token: str = made.get_json()["token"]
        return token

    def names(self, user: str = "alice") -> list[str]:
        listed = self.call(self.portal, "GET", "/v1/tokens", acting=user).get_json()["tokens"]
        return [token["name"] for token in listed]


@pytest.fixture
def people(tmp_path: Path, serve: Any, clock: Any) -> People:
    path, kept = tmp_path / "tokens.toml", tmp_path / "personal-tokens.json"
    portal = add_token(path, Role.PORTAL, "portal")
    service = serve(
        2,
        tokens=TokenFile(path),
        personal_tokens=PersonalTokens(kept, lambda: clock.time),
        trust_loopback=False,
    )
    return People(service.refresh(), portal, kept, clock)


def test_token_acts_as_its_owner(people: People) -> None:
    token = people.token()
    assert people.call(token, "PUT", "/v1/requirements/user/alice", SET).status_code == 200
    assert people.call(token, "PUT", "/v1/requirements/user/bob", SET, acting="bob").status_code == 403
    assert people.call(token, "GET", "/v1/knowledge/site").status_code == 403
    (stored,) = people.service.knowledge.sets.values()
    assert stored.modified_by == "alice"


def test_token_of_scope_read_changes_nothing(people: People) -> None:
    token = people.token(scope="read")
    for method, path, body in (
        ("PUT", "/v1/requirements/user/alice", SET),
        ("POST", "/v1/changes/1/undo", {}),
        ("POST", "/v1/tokens", {"name": "other"}),
    ):
        refused = people.call(token, method, path, body)
        assert refused.status_code == 403, path
        assert "scope read" in refused.get_json()["detail"]
    assert people.call(token, "GET", "/v1/requirements/user/alice").status_code == 200
    assert people.call(token, "POST", "/v1/selections", ASK).status_code == 200


def test_secret_is_shown_once_and_only_its_digest_is_kept(people: People) -> None:
    token = people.token()
    assert token.startswith("ses_")
    assert token not in people.kept.read_text()
    assert stat.S_IMODE(people.kept.stat().st_mode) == 0o600
    listed = people.call(token, "GET", "/v1/tokens").get_json()
    assert token not in json.dumps(listed)
    assert listed["user"] == "alice"


def test_revoked_token_is_not_accepted(people: People) -> None:
    token, other = people.token(), people.token(name="desk")
    assert people.call(other, "POST", "/v1/tokens/laptop/revoke", {}).status_code == 200
    assert people.call(token, "GET", "/v1/elements").status_code == 401
    assert people.call(other, "POST", "/v1/tokens/laptop/revoke", {}).status_code == 404
    assert people.names() == ["desk"]


def test_a_token_that_is_no_persons_lists_none(people: People) -> None:
    refused = people.call(people.portal, "GET", "/v1/tokens")
    assert refused.status_code == 403
    assert "this token is not one person's" in refused.get_json()["detail"]


def test_token_of_scope_read_revokes_itself_only(people: People) -> None:
    people.token(name="desk")
    token = people.token(scope="read")
    assert people.call(token, "POST", "/v1/tokens/desk/revoke", {}).status_code == 403
    assert people.call(token, "POST", "/v1/tokens/laptop/revoke", {}).status_code == 200
    assert people.names() == ["desk"]


def test_token_makes_no_other(people: People) -> None:
    """One that was stolen ends when it is revoked."""
    assert people.call(people.token(), "POST", "/v1/tokens", {"name": "other"}).status_code == 403


def test_token_ends_in_time_and_its_name_is_free_then(people: People) -> None:
    token = people.token(days=2)
    people.clock.time += 2 * DAY - 1
    assert people.call(token, "GET", "/v1/elements").status_code == 200
    people.clock.time += 1
    refused = people.call(token, "GET", "/v1/elements")
    assert refused.status_code == 401
    assert "The token 'laptop' ended on " in refused.get_json()["detail"]
    assert people.names() == ["laptop"], "it is listed, so that its owner sees why"
    assert people.call(people.token(), "GET", "/v1/elements").status_code == 200
    assert people.names() == ["laptop"]


def test_people_have_names_and_tokens_of_their_own(people: People) -> None:
    people.token("alice")
    token = people.token("bob")
    assert people.make("alice").status_code == 409
    assert people.call(token, "POST", "/v1/tokens/laptop/revoke", {}).status_code == 200
    assert (people.names("alice"), people.names("bob")) == (["laptop"], [])


def test_person_has_a_bounded_number_of_tokens(people: People) -> None:
    for number in range(MAX_TOKENS):
        people.token(name=f"t{number}")
    assert people.make(name="more").status_code == 409
    assert people.make("bob").status_code == 200


def test_last_use_is_reported(people: People) -> None:
    token = people.token()

    def used() -> float | None:
        listed = people.call(people.portal, "GET", "/v1/tokens", acting="alice").get_json()["tokens"]
        (last,) = (shown["used"] for shown in listed)
        value: float | None = last
        return value

    assert used() is None
    people.call(token, "GET", "/v1/elements")
    assert used() == people.clock.time
    people.clock.time += 2 * 3600
    people.call(token, "GET", "/v1/elements")
    assert used() == people.clock.time
    people.service.runtime.personal_tokens.write_uses()
    assert PersonalTokens(people.kept, lambda: 0.0).of("alice")[0].used == people.clock.time


def test_nobody_is_kept_waiting_while_tokens_are_written(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = people.token()
    kept, holders = people.service.runtime.personal_tokens, []
    monkeypatch.setattr("os.fsync", lambda _: holders.append((kept.find(token), kept.ended(token))))
    people.token(name="more")
    assert [(holder.name, ended) for holder, ended in holders] == [("laptop", None)]
    assert kept.find(token) is not None
    assert len(holders) == 1, "who shows a token writes nothing"


def test_tokens_outlive_the_service(people: People) -> None:
    token = people.token()
    again = PersonalTokens(people.kept, lambda: people.clock.time)
    holder = again.find(token)
    assert holder is not None
    assert (holder.user, holder.name) == ("alice", "laptop")


@pytest.mark.parametrize("text", ["", "{}", '{"tokens": [{"user": "a"}]}', '{"tokens": 1}', "\0"])
def test_damaged_file_is_named_with_the_next_step(tmp_path: Path, text: str) -> None:
    path = tmp_path / "personal-tokens.json"
    path.write_text(text)
    with pytest.raises(PersonalTokenFileError, match=r"personal-tokens.json is damaged .*; move it away"):
        PersonalTokens(path, lambda: 0.0)


def test_full_disk_refuses_a_token_and_locks_nobody_out(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = people.token()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert people.call(token, "GET", "/v1/elements").status_code == 200
    assert people.make(name="more").status_code == 503
    assert people.names() == ["laptop"]
    assert [path.name for path in people.kept.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "wanted", [{"name": ""}, {"name": "a b"}, {"days": 0}, {"days": 10**6}, {"scope": "some"}, {"more": 1}]
)
def test_odd_input_is_refused(people: People, wanted: dict[str, Any]) -> None:
    assert people.make(**wanted).status_code == 422
    assert people.names() == []


def test_portal_and_administrator_say_whose(people: People) -> None:
    assert people.call(people.portal, "GET", "/v1/tokens").status_code == 403
    assert people.call(people.portal, "POST", "/v1/tokens", {"name": "a"}).status_code == 403


def test_all_tokens_of_a_person_are_revoked_at_once_and_for_good(people: People) -> None:
    tokens = [people.token(name=name) for name in ("laptop", "desk")]
    others = people.token("bob")
    assert (
        people.call(people.token(name="r", scope="read"), "POST", "/v1/tokens/revoke", {}).status_code == 403
    )
    assert people.call(people.portal, "POST", "/v1/tokens/revoke", {}).status_code == 403, "whose?"
    revoked = people.call(people.portal, "POST", "/v1/tokens/revoke", {}, acting="alice")
    assert (revoked.status_code, revoked.get_json()["tokens"]) == (200, [])
    assert [people.call(token, "GET", "/v1/elements").status_code for token in (*tokens, others)] == [
        401,
        401,
        200,
    ]
    assert PersonalTokens(people.kept, lambda: 0.0).of("alice") == []
    own = people.token()
    assert people.call(own, "POST", "/v1/tokens/revoke", {}, acting="bob").status_code == 200
    assert people.call(others, "GET", "/v1/elements").status_code == 200, "a user acts for nobody else"


def test_token_of_a_user_of_the_machine_is_refused_while_it_knows_no_such_user(
    tmp_path: Path, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"alice": 4001}

    def getpwnam(name: str) -> Any:
        return SimpleNamespace(pw_uid=known[name])

    monkeypatch.setattr("pwd.getpwnam", getpwnam)
    kept = PersonalTokens(tmp_path / "kept.json", lambda: clock.time)
    token, _ = kept.make("alice", "laptop", Scope.ALL, 1, is_of_machine=True)
    of_portal, _ = kept.make("alice", "portal", Scope.ALL, 1)
    matches = []
    for now in ({"alice": 4001}, {}, {"alice": 4002}, {"alice": 4001}):
        known.clear()
        known.update(now)
        kept.write_uses()
        matches.append((kept.find(token) is not None, kept.find(of_portal) is not None))
    assert matches == [(True, True), (False, True), (False, True), (True, True)]
    with pytest.raises(PersonalTokenError, match="knows no user bob"):
        kept.make("bob", "laptop", Scope.ALL, 1, is_of_machine=True)
    again = PersonalTokens(tmp_path / "kept.json", lambda: clock.time)
    known.clear()
    again.write_uses()
    assert again.find(token) is None, "it is known over a restart whose it was"
