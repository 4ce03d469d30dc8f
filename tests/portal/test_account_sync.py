"""The service hears which VO the accounts are of, so that programs are placed by what the portal shows."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any

import pytest
from fake_selection import InMemorySelectionService
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
    found = Database(f"sqlite:///{tmp_path / 'portal.db'}")
    found.upgrade()
    return found


@pytest.fixture
def revocations(database: Database, site: InMemorySelectionService, clock: Any) -> RevocationService:
    return RevocationService(database, site, clock)


@pytest.fixture
def accounts(database: Database, clock: Any, hasher: Any) -> AccountService:
    found = AccountService(database, clock, hasher)
    found.add("alice", PASSWORD, vo="materials")
    found.add("bob", PASSWORD)
    return found


def test_what_changed_is_told_at_once_and_all_again_after_a_while(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    ticks = Ticks()
    sync = AccountSync(accounts, site, revocations, ticks)
    sync.step()
    sync.step()
    assert site.told == [{"alice": "materials"}]
    accounts.add("carol", PASSWORD, vo="physics")
    sync.step()
    assert site.told[1:] == [{"alice": "materials", "carol": "physics"}]
    accounts.remove("alice")
    sync.step()
    assert site.told[2:] == [{"carol": "physics"}]
    ticks.now = 300.0
    sync.step()
    assert site.told[3:] == [{"carol": "physics"}]


def test_a_service_that_was_away_is_told_later(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    sync = AccountSync(accounts, site, revocations)
    site.down = "away"
    sync.step()
    assert site.told == []
    site.down = None
    sync.step()
    assert site.told == [{"alice": "materials"}]


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
    assert site.told == [{"alice": "materials"}]
    monkeypatch.undo()
    revocations.settle()
    assert revocations.try_to_settle("bob") == "The tokens of bob are revoked."


def test_one_odd_name_does_not_hide_the_others(
    accounts: AccountService, site: InMemorySelectionService, revocations: RevocationService
) -> None:
    accounts.add("dave", PASSWORD, vo="no such/organisation")
    AccountSync(accounts, site, revocations).step()
    assert site.told == [{"alice": "materials"}]


class Heard:
    """A service's door for one request: what the portal sends is given to the real service's application."""

    def __init__(self) -> None:
        self.client = create_service(ServiceConfig(trust_loopback=True)).test_client()
        self.statuses: list[int] = []
        self.bodies: list[Any] = []
        self.told = threading.Event()
        heard = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = heard.client.put(self.path, data=body, content_type="application/json")
                heard.statuses.append(answer.status_code)
                heard.bodies.append(json.loads(body))
                self.send_response(answer.status_code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.data)))
                self.end_headers()
                self.wfile.write(answer.data)
                heard.told.set()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_the_service_takes_what_is_told(
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
            assert heard.told.wait(60), "nothing was told"
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert heard.statuses[0] == 200
    assert heard.bodies[0] == {"accounts": [{"user": "alice", "vo": "materials"}]}
