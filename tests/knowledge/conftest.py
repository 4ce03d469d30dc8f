"""The same promises on both stores: the oxigraph server of the wheel, and a real Fuseki."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ses_service.knowledge import EmbeddedStore, HttpStore, KnowledgeBase, StoreUnavailableError

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """Return a loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(store: HttpStore, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the store answers; fail with the end of its log when it does not."""
    deadline = time.monotonic() + 120
    while True:
        try:
            store.select("SELECT * WHERE {} LIMIT 1")
        except StoreUnavailableError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail("Fuseki did not start:\n" + log.read_text()[-2000:])
            time.sleep(0.1)
        else:
            return


@contextlib.contextmanager
def running_fuseki(directory: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Start Fuseki with the project's configuration; yield its dataset's address and the writer."""
    jar = subprocess.run(
        [ROOT / "packaging/fuseki.sh"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    password = secrets.token_hex(16)
    (directory / "passwd.txt").write_text(f"reader: {secrets.token_hex(16)}\nwriter: {password}\n")
    port = free_port()
    log = directory / "fuseki.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar", ROOT / jar,
             "--localhost", "--port", str(port), f"--config={ROOT / 'ontology/fuseki/config.ttl'}"],
            cwd=directory, stdout=output, stderr=output,
            env={**os.environ, "FUSEKI_BASE": str(directory / "base")},
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}/kb"
    try:
        wait_until_ready(HttpStore.for_fuseki(address, timeout=60.0), process, log)
        yield address, ("writer", password)
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, tuple[str, str]]]:
    with running_fuseki(tmp_path_factory.mktemp("fuseki")) as running:
        yield running


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpStore]:
    embedded = EmbeddedStore(tmp_path_factory.mktemp("oxigraph"))
    yield embedded.start()
    embedded.stop()


@pytest.fixture(params=["oxigraph", "fuseki"])
def store(request: pytest.FixtureRequest) -> HttpStore:
    """An empty store of each kind."""
    if request.param == "fuseki":
        address, writer = request.getfixturevalue("fuseki")
        found = HttpStore.for_fuseki(address, writer, timeout=60.0)
    else:
        found = request.getfixturevalue("oxigraph")
    found.update("DROP ALL")
    return found


@pytest.fixture
def knowledge(store: HttpStore) -> KnowledgeBase:
    return KnowledgeBase(store)


@pytest.fixture
def union_site() -> str:
    return (ROOT / "ontology/examples/union-site.ttl").read_text()


@pytest.fixture
def lustre_site() -> str:
    return (ROOT / "ontology/examples/lustre-site.ttl").read_text()
