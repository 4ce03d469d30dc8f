"""A portal on an in-memory selection service, and people who use it."""

import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from ses_client.messages.elements import Element, Observation, RatePair
from ses_client.messages.files import Received
from ses_client.messages.requirements import ResolvedRequirement, Subject, required
from ses_client.messages.selections import PlacementRecord, Prediction, Rates, Refusal
from ses_webface.app import create_app
from ses_webface.portal import Portal
from ses_webface.settings import Settings
from werkzeug.serving import make_server
from werkzeug.test import TestResponse

sys.path.insert(0, str(Path(__file__).parent))

from fake_selection import InMemorySelectionService

PASSWORDS = {"alice": "correct horse battery", "bob": "staple in the wall", "root": "may change the site"}


@dataclass
class Clock:
    """Seconds since the epoch, moved by hand."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class CountingHasher(PasswordHasher):
    """Cheap hashes, and how often one was checked."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.checks = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:
        self.checks += 1
        return bool(super().verify(hash, password))


class CompiledPages(BytecodeCache):
    """Templates as they were compiled first, for the portals of all tests."""

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


def element(name: str, write: float | None, **changes: object) -> Element:
    """One element of the union; rates in MB/s."""
    observed = {
        "state": changes.pop("observed", "ok"), "age_seconds": changes.pop("age_seconds", 0.4),
        "write_bytes_per_second": RatePair(current=changes.pop("write_rate", 0.0)),
    }  # fmt: skip
    values: dict[str, object] = {
        "id": f"union/{name}", "label": name, "storage_system": "union", "backend": "mergerfs",
        "server": "n1", "target": f"/branches/{name}", "state": "active",
        "available": Rates(read_mb_s=write, write_mb_s=write),
        "nominal": Rates(read_mb_s=100.0, write_mb_s=100.0),
        "capacity_bytes": 300e6, "observation": Observation(free_bytes=200e6, **observed),
    }  # fmt: skip
    return Element(**values | changes)  # type: ignore[arg-type]


_EMPTIED = Refusal(element="union/b3", reason="draining", detail="b3 is being emptied by its administrator.")


def placement(number: int, user: str, **changes: object) -> PlacementRecord:
    """One ended placement of ``user`` on union/b1 with an explanation."""
    wanted = required("current-write-rate", 50.0, "MB/s")
    predicted = (Prediction(kind="current-write-rate", value=40.0, unit="MB/s", minimum=50.0, shortfall=0.2),)
    values: dict[str, object] = {
        "placement_id": f"{number:016x}", "state": "ended",
        "subject": Subject(user=user, application="dd", vo="materials"),
        "element": "union/b1", "target": "/branches/b1",
        "path": f"/union/{user}/{number}.bin", "distance": 0.2, "predicted": predicted,
        "requirements": (ResolvedRequirement(**wanted, level="vo", level_name="materials"),),
        "candidates": (),
        "refused": (_EMPTIED,),
        "placed_at": 1_799_999_000.0 + number, "opened_at": 1_799_999_001.0 + number,
        "ended_at": 1_799_999_003.0 + number, "end_reason": "closed", "bytes_written": 80e6,
    }  # fmt: skip
    return PlacementRecord(**values | changes)  # type: ignore[arg-type]


def received(record: PlacementRecord, verdict: str = "missed", **changes: object) -> Received:
    """What the file of a placement got: 20 of 50 MB/s, since others came."""
    cause, why = ("others", "Others came: from 1 to 9 streams.") if verdict == "missed" else (None, "")
    kind = {
        "kind": "current-write-rate", "unit": "MB/s", "required": 50.0, "predicted": 60.0, "achieved": 20.0,
        "at_least": 20.0, "verdict": verdict, "why": "",
    }  # fmt: skip
    fields: dict[str, object] = {
        "placement_id": record.placement_id, "state": record.state, "user": record.user,
        "application": record.application, "vo": record.subject.vo, "job": None, "node": "n1",
        "element": record.element, "path": record.path, "opened_at": record.opened_at,
        "ended_at": record.ended_at, "end_reason": record.end_reason, "bytes_written": 200e6,
        "bytes_read": 0, "write_mb_s": 20.0, "read_mb_s": None, "cause": cause, **kind, "why": why,
        "kinds": [kind], "doubts": [], "samples": [[0, 0, 0], [4, 1.2e8, 0], [10, 2e8, 0]],
        "load": [[0, 0.5, 1], [10, 1.0, 9]],
    }  # fmt: skip
    return Received.of({**fields, **changes})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hasher() -> CountingHasher:
    return CountingHasher()


@pytest.fixture
def make_element() -> Callable[..., Element]:
    return element


@pytest.fixture
def make_placement() -> Callable[..., PlacementRecord]:
    return placement


@pytest.fixture
def make_received() -> Callable[..., Received]:
    return received


@pytest.fixture
def site(clock: Clock) -> InMemorySelectionService:
    """Three elements, b3 draining; alice's home VO is materials."""
    elements = [element("b1", 40.0), element("b2", 90.0), element("b3", 95.0, state="draining")]
    return InMemorySelectionService(
        elements,
        home_vo={"alice": "materials"},
        placements=[placement(1, "alice"), placement(2, "bob")],
        clock=clock,
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    state = tmp_path / "state"
    return Settings(state, f"sqlite:///{tmp_path / 'portal.sqlite3'}", "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def compiled_pages() -> CompiledPages:
    return CompiledPages()


@pytest.fixture
def app(
    settings: Settings,
    site: InMemorySelectionService,
    clock: Clock,
    hasher: CountingHasher,
    compiled_pages: CompiledPages,
) -> Flask:
    """A portal with the accounts alice, bob and root (administrator)."""
    made = create_app(settings, selection=site, clock=clock, hasher=hasher)
    made.jinja_env.bytecode_cache = compiled_pages
    portal: Portal = made.extensions["ses_webface"]
    for name, password in PASSWORDS.items():
        portal.accounts.add(name, password, is_admin=name == "root")
    return made


@dataclass
class Visitor:
    """Somebody with a browser: follows forms as they are on the page."""

    client: FlaskClient

    def get(self, path: str, code: int | None = None, **options: object) -> TestResponse:
        answer = self.client.get(path, **options)  # type: ignore[arg-type]
        assert code in (None, answer.status_code), answer.text
        return answer

    def token(self, page: str = "/sign-in") -> str:
        text = self.client.get(page).text
        match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', text)
        assert match, f"{page} has no form with a CSRF token"
        return match.group(1)

    def post(
        self,
        path: str,
        data: dict[str, str],
        page: str | None = None,
        code: int | None = None,
        **more: object,
    ) -> TestResponse:
        fields = {"csrf_token": self.token(page or path), **data}
        answer = self.client.post(path, data=fields, **more)
        assert code in (None, answer.status_code), answer.text
        return answer

    @staticmethod
    def seen(answer: TestResponse) -> str:
        """The page without the token of its forms, which differs from second to second."""
        return re.sub(r'(name="csrf_token"[^>]*value=")[^"]+', r"\1", answer.text)

    def sign_in(self, name: str, password: str | None = None, **options: object) -> TestResponse:
        data = {"name": name, "password": PASSWORDS[name] if password is None else password}
        return self.post("/sign-in", data, **options)  # type: ignore[arg-type]


@pytest.fixture
def visitor(app: Flask) -> Visitor:
    return Visitor(app.test_client())


@pytest.fixture
def signed_in(app: Flask) -> Callable[..., Visitor]:
    """Give a visitor who is signed in under a name."""

    def enter(name: str, password: str | None = None) -> Visitor:
        person = Visitor(app.test_client())
        assert person.sign_in(name, password).status_code == 303
        return person

    return enter


@pytest.fixture
def alice(signed_in: Callable[..., Visitor]) -> Visitor:
    return signed_in("alice")


@dataclass
class Window:
    """A browser window; ``complaints`` are errors on its console and in its scripts."""

    page: Page
    complaints: list[str]

    def sign_in(self, url: str, name: str, password: str) -> Page:
        self.page.goto(f"{url}/sign-in")
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        self.page.get_by_role("heading", level=1, name="Requirements").wait_for()
        return self.page


@pytest.fixture
def open_window(chromium: Browser) -> Iterator[Callable[..., Window]]:
    """Open windows with options of Playwright's contexts; a complaint of the page fails the test."""
    opened: list[tuple[BrowserContext, Window]] = []

    def open_one(**options: object) -> Window:
        context = chromium.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(60_000)
        window = Window(context.new_page(), [])

        def note(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                window.complaints.append(message.text)

        window.page.on("console", note)
        window.page.on("pageerror", lambda error: window.complaints.append(str(error)))
        opened.append((context, window))
        return window

    yield open_one
    for context, window in opened:
        context.close()
        assert window.complaints == []


@pytest.fixture
def served(app: Flask) -> Iterator[str]:
    """The portal behind a real port; gives its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(60)
    server.server_close()


@pytest.fixture
def root(signed_in: Callable[[str], FlaskClient]) -> FlaskClient:
    """The administrator, who has signed in."""
    return signed_in("root")


@pytest.fixture
def parts(app: Flask) -> Portal:
    """What the portal is made of."""
    portal: Portal = app.extensions["ses_webface"]
    return portal
