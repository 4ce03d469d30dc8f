"""The same promises on both stores: the oxigraph server of the wheel, and a real Fuseki."""

import copy
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_for_answer
from ports import free_port
from ses_service.knowledge.errors import StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store import retry
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore

ROOT = Path(__file__).resolve().parents[2]
#: A fault of Jena's own journal (5.6.0): docs/knowledge-base.md.
_TORN = "Failed to read the journal entry"


class Fuseki:
    """A Fuseki started as its documentation says, with its data in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/kb"
        self.start()

    def start(self) -> None:
        """Start it, again if need be; return when it answers."""
        log = self.directory / "fuseki.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [ROOT / "packaging/fuseki.sh", "serve", self.directory, str(self.port)],
                stdout=output, stderr=output,
                env={**os.environ, "JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m"},
            )  # fmt: skip
        try:
            wait_for_answer(self.process, log, self._ready)
        except AssertionError:
            if _TORN in log.read_text()[-2000:]:
                pytest.skip(
                    "Fuseki was killed in the middle of an entry of its journal, and does not start then"
                )
            raise

    def account(self, user: str) -> tuple[str, str]:
        """Return user and password."""
        lines = (self.directory / "passwd.txt").read_text().splitlines()
        return user, dict(line.split(": ") for line in lines)[user]

    def client(self, user: str = "writer", timeout: float = 60.0) -> HttpStore:
        """Return a client that signs in."""
        return HttpStore.for_fuseki(self.address, self.account(user), timeout=timeout)

    def kill(self) -> None:
        """End it without a chance to put anything in order."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(60)

    def _ready(self) -> bool:
        try:
            self.client().select("SELECT * WHERE {} LIMIT 1")
        except (StoreUnavailableError, FileNotFoundError):
            return False
        return True


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuseki]:
    """The Fuseki most tests share."""
    server = Fuseki(tmp_path_factory.mktemp("fuseki"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpStore]:
    embedded = EmbeddedStore(tmp_path_factory.mktemp("oxigraph"))
    yield embedded.start()
    embedded.stop()


@pytest.fixture(params=["oxigraph", "fuseki"])
def store(request: pytest.FixtureRequest) -> HttpStore:
    """An empty store of each kind, through a client no other test holds."""
    if request.param == "fuseki":
        client: HttpStore = request.getfixturevalue("fuseki").client()
    else:
        client = copy.copy(request.getfixturevalue("oxigraph"))
    client.update("DROP ALL")
    return client


@pytest.fixture
def knowledge(store: HttpStore) -> KnowledgeBase:
    return KnowledgeBase(store)


@pytest.fixture
def _gives_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that stays away all the time is not asked for three seconds."""
    monkeypatch.setattr(retry, "_SECONDS", 0.1)


@pytest.fixture
def union_site() -> str:
    return (ROOT / "ontology/examples/union-site.ttl").read_text()


@pytest.fixture
def lustre_site() -> str:
    return (ROOT / "ontology/examples/lustre-site.ttl").read_text()
