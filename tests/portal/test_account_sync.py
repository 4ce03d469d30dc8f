"""The service hears which VO the accounts are of, so that programs are placed by what the portal shows."""

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any

import pytest
from fake_selection import InMemorySelectionService
from http_server import Asked, HttpServer
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient
from ses_client.errors import UnavailableError
from ses_service.api.app import create_app as create_service
from ses_service.process.runtime import ServiceConfig
from ses_webface.accounts.account_sync import AccountSync
from ses_webface.accounts.revocations import RevocationService
from ses_webface.accounts.services import AccountService
from ses_webface.database import Database

PASSWORD = "long enough a password"


class Ticks:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = Database(f"sqlite:///{tmp_path / 'portal.db'}")
    opened.upgrade()
    return opened


@pytest.fixture
def revocations(database: Database, site: InMemorySelectionService, clock: Any) -> RevocationService:
    return RevocationService(database, site, clock)


@pytest.fixture
def accounts(database: Database, clock: Any, hasher: Any) -> AccountService:
    account_service = AccountService(database, clock, hasher)
    account_service.add("alice", PASSWORD, vo="materials")
    account_service.add("bob", PASSWORD)
    return account_service


def test_what_changed_is_reported_at_once_and_all_again_after_a_while(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    ticks = Ticks()
    sync = AccountSync(accounts, site, revocations, ticks)
    sync.step()
    sync.step()
    assert site.sent_accounts == [{"alice": "materials"}]
    accounts.add("carol", PASSWORD, vo="physics")
    sync.step()
    assert site.sent_accounts[1:] == [{"alice": "materials", "carol": "physics"}]
    accounts.remove("alice")
    sync.step()
    assert site.sent_accounts[2:] == [{"carol": "physics"}]
    ticks.now = 300.0
    sync.step()
    assert site.sent_accounts[3:] == [{"carol": "physics"}]


def test_a_service_that_was_away_hears_it_later(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    sync = AccountSync(accounts, site, revocations)
    site.down = "away"
    sync.step()
    assert site.sent_accounts == []
    site.down = None
    sync.step()
    assert site.sent_accounts == [{"alice": "materials"}]


def test_tokens_the_service_cannot_end_keep_no_account_from_it(
    accounts: AccountService,
    site: InMemorySelectionService,
    revocations: RevocationService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where its disk is full: it learns of accounts all the same."""

    def refuse(_service: InMemorySelectionService) -> None:
        raise UnavailableError("The service cannot write its tokens.")

    monkeypatch.setattr(InMemorySelectionService, "revoke_tokens", refuse)
    revocations.request("bob")
    AccountSync(accounts, site, revocations).step()
    assert site.sent_accounts == [{"alice": "materials"}]
    monkeypatch.undo()
    revocations.settle()
    assert revocations.try_to_settle("bob") == "The tokens of bob are revoked."


def test_one_odd_name_does_not_hide_the_others(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    accounts.add("dave", PASSWORD, vo="no such/organisation")
    AccountSync(accounts, site, revocations).step()
    assert site.sent_accounts == [{"alice": "materials"}]


class Heard:
    """A service's door for one request: what the portal sends is given to the real service's application."""

    def __init__(self) -> None:
        self.client = create_service(ServiceConfig(trust_loopback=True)).test_client()
        self.statuses: list[int] = []
        self.bodies: list[Any] = []
        self.reported = threading.Event()
        self.server = HttpServer(self._hear)
        self.url = self.server.url

    def _hear(self, asked: Asked) -> None:
        answer = self.client.put(asked.path, data=asked.sent, content_type="application/json")
        self.statuses.append(answer.status_code)
        self.bodies.append(json.loads(asked.sent))
        asked.say(answer.status_code, answer.data, Content_Type="application/json")
        self.reported.set()


@pytest.fixture
def heard() -> Iterator[Heard]:
    door = Heard()
    yield door
    door.server.close()


def test_the_service_takes_what_is_reported(
    accounts: AccountService, heard: Heard, revocations: RevocationService
) -> None:
    client = ServiceClient(ServiceAddress(heard.url))
    AccountSync(accounts, client, revocations).step()
    assert heard.statuses == [200]
    assert heard.bodies == [{"accounts": [{"user": "alice", "vo": "materials"}]}]


def test_a_portal_that_serves_tells_it(tmp_path: Path, heard: Heard) -> None:
    portal, state = (
        [sys.executable, "-c", "from ses_webface.cli import main; main()"],
        f"--state-dir={tmp_path}",
    )
    adding = [*portal, "account", "add", "alice", "--vo=materials", "--password-stdin", state]
    run(adding, input=PASSWORD.encode(), check=True, capture_output=True)
    command = [*portal, "serve", state, "--listen=127.0.0.1:0", f"--service-url={heard.url}"]
    with Popen(command, stdout=PIPE, stderr=PIPE) as process:
        try:
            assert heard.reported.wait(60), "nothing was reported"
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert heard.statuses[0] == 200
    assert heard.bodies[0] == {"accounts": [{"user": "alice", "vo": "materials"}]}
