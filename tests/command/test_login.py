"""``ses login``, ``ses logout`` and ``ses token`` at a real service."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from knowledge_service import KnowledgeService, knowledge_service
from ses.cli import main

Person = Callable[..., Result]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("login")) as running:
        yield running


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Somebody in a shell without settings, whose home is the test's folder."""

    def run(*arguments: str, text: str = "", **more: str) -> Result:
        cleared = {name: None for name in os.environ if name.startswith(("SES_", "XDG_"))}
        env = {**cleared, "HOME": str(tmp_path), "COLUMNS": "160", **more}
        return CliRunner().invoke(main, arguments, env=env, input=text)

    return run


@pytest.fixture
def secret(service: KnowledgeService) -> Iterator[str]:
    """A token of alice's, made where the service knows her by other means."""
    made = service("token", "new", "laptop", who="alice")
    assert made.exit_code == 0, made.output
    yield made.stdout.strip()
    service("token", "revoke", "laptop", who="alice")


def test_who_logged_in_needs_no_settings(
    service: KnowledgeService, person: Person, secret: str, tmp_path: Path
) -> None:
    said = person("login", service.url, text=secret + "\n")
    assert said.exit_code == 0, said.output
    assert f"{service.url} knows you as alice. The token laptop may do what you may, until 2" in said.output
    assert secret not in said.output
    kept = tmp_path / ".config/ses/token"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in kept.parent.iterdir()) == ["service", "token"]
    assert person("requirements", "set", "user", "alice", "write>=20MB/s").exit_code == 0
    assert "not" in person("requirements", "set", "user", "bob", "write>=20MB/s").output
    listed = json.loads(person("token", "list", "--json").stdout)
    assert (listed["user"], listed["shown"]) == ("alice", "laptop")


def test_logout_revokes_the_token_and_forgets_it(
    service: KnowledgeService, person: Person, secret: str, tmp_path: Path
) -> None:
    person("login", service.url, text=secret)
    assert person("logout").output == "Logged out.\n"
    assert list((tmp_path / ".config/ses").iterdir()) == []
    assert person("login", service.url, text=secret).exit_code == 4, "revoked"
    assert person("logout").exit_code == 5


def test_token_of_scope_read_logs_out_too(service: KnowledgeService, person: Person) -> None:
    secret = service("token", "new", "script", "--scope", "read", "--days", "1", who="alice").stdout
    assert "may read" in person("login", service.url, text=secret).output
    refused = person("requirements", "set", "user", "alice", "write>=20MB/s")
    assert (refused.exit_code, "scope read" in refused.output) == (4, True)
    assert person("logout").exit_code == 0
    assert "script" not in service("token", "list", who="alice").output


def test_wrong_token_is_not_kept_and_the_one_before_stays(
    service: KnowledgeService, person: Person, secret: str, tmp_path: Path
) -> None:
    person("login", service.url, text=secret)
    of_the_file = (service.folder / "token-alice").read_text()
    for wrong, code in (("ses_wrong", 4), ("two words", 2), ("", 2), (of_the_file, 2)):
        assert person("login", text=wrong).exit_code == code
    assert (tmp_path / ".config/ses/token").read_text().strip() == secret
    assert sorted(path.name for path in (tmp_path / ".config/ses").iterdir()) == ["service", "token"]


def test_service_that_is_away_is_said_and_the_token_is_forgotten(
    service: KnowledgeService, person: Person, secret: str, tmp_path: Path, dead_url: str
) -> None:
    person("login", service.url, text=secret)
    said = person("logout", SES_SERVICE_URL=dead_url)
    assert said.exit_code == 1
    assert "not revoked" in said.output
    assert "in the portal" in said.output
    assert not (tmp_path / ".config/ses/token").exists()


def test_tokens_are_listed_without_secrets(service: KnowledgeService, secret: str) -> None:
    listed = service("token", "list", who="alice").output
    assert "laptop" in listed
    assert "never" in listed
    assert secret not in listed
    assert service("token", "new", "laptop", who="alice").exit_code != 0, "a name is taken once"
    assert service("token", "revoke", "other", who="alice").exit_code == 5


def test_personal_token_makes_no_other(service: KnowledgeService, person: Person, secret: str) -> None:
    person("login", service.url, text=secret)
    refused = person("token", "new", "more")
    assert (refused.exit_code, "in the portal" in refused.output) == (4, True)


def test_all_tokens_are_revoked_and_an_administrator_revokes_anybodys(
    service: KnowledgeService, secret: str
) -> None:
    service("token", "new", "desk", who="alice")
    listed = service("token", "list", "--user", "alice").output
    assert ("laptop" in listed, "desk" in listed, secret in listed) == (True, True, False)
    assert service("token", "revoke", "desk", "--user", "alice").output == "desk is revoked.\n"
    assert "All tokens of alice" in service("token", "revoke", "--all", "--user", "alice").output
    assert service("token", "list", "--user", "alice").output == "alice has no tokens.\n"


def test_who_is_no_administrator_revokes_nobodys_and_none_of_their_own_by_mistake(
    service: KnowledgeService, secret: str
) -> None:
    for words in (("list",), ("revoke", "laptop"), ("revoke", "--all")):
        refused = service("token", *words, "--user", "bob", who="alice")
        assert (refused.exit_code, "Only an administrator" in refused.output) == (4, True)
    assert "laptop" in service("token", "list", who="alice").output
    assert service("token", "revoke", who="alice").exit_code == 2
