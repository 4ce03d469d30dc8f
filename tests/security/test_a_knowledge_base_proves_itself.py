"""A knowledge base elsewhere is asked by https, and believed by its certificate."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner
from invoked import invoked
from service_process import Running
from ses_service.commands.main import main
from ses_service.commands.store_at import store_at
from ses_service.knowledge.errors import KnowledgeBaseError
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.security.trust import Trust


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def forward(listener: socket.socket, context: ssl.SSLContext, path: Path) -> None:
    """Take TLS off whatever comes, and pass it on to a UNIX socket; until the listener is closed."""
    with suppress(OSError):
        while True:
            plain, _ = listener.accept()
            try:
                line = context.wrap_socket(plain, server_side=True)
            except OSError:
                continue
            inner = socket.socket(socket.AF_UNIX)
            inner.connect(str(path))
            for pair in ((line, inner), (inner, line)):
                threading.Thread(target=pump, args=pair, daemon=True).start()


@pytest.fixture
def store_with_tls(tmp_path: Path, open_folder: Path) -> Iterator[str]:
    """The address of a store by https, whose certificate is of the site's own authority."""
    invoked(main, ["tls", "init", str(tmp_path / "tls"), "localhost"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls" / "localhost.pem", tmp_path / "tls" / "localhost-key.pem")
    embedded = EmbeddedStore(open_folder / "store")
    embedded.start()
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        socket_path = open_folder / "store" / "socket"
        threading.Thread(target=forward, args=(listener, context, socket_path), daemon=True).start()
        yield f"https://localhost:{listener.getsockname()[1]}"
    finally:
        listener.close()
        embedded.stop()


def test_one_of_the_sites_authority_is_used(
    store_with_tls: str, tmp_path: Path, start: Callable[..., Running]
) -> None:
    ca = tmp_path / "tls" / "ca.pem"
    options = [f"--kb-url={store_with_tls}", "--kb-flavour=oxigraph", f"--trusted-ca={ca}"]
    service = start(*options).wait_ready()
    assert service.call("GET", "/v1/elements")[1]["elements"]
    done = CliRunner().invoke(main, ["backup", *options, str(tmp_path / "backup.nq")])
    assert "statements written" in done.output, done.output
    assert "Element" in (tmp_path / "backup.nq").read_text("utf-8")


def test_one_that_cannot_prove_itself_is_asked_nothing(store_with_tls: str, tmp_path: Path) -> None:
    invoked(main, ["tls", "init", str(tmp_path / "other")])
    for trust in (Trust(), Trust(tmp_path / "other" / "ca.pem")):
        with pytest.raises(KnowledgeBaseError, match="certificate verify failed"):
            HttpStore.for_oxigraph(store_with_tls, trust=trust).select("select * {?s ?p ?o} limit 1")


@pytest.mark.parametrize("command", [["serve"], ["backup", "file.nq"]])
def test_no_password_goes_over_the_network_in_clear_text(tmp_path: Path, command: list[str]) -> None:
    password = tmp_path / "password"
    password.write_text("writer:a secret\n")
    password.chmod(0o600)
    own = [f"--state-dir={tmp_path / 'state'}", "--trust-loopback"] if command == ["serve"] else []
    options = ["--kb-url=http://192.0.2.1:3030/kb", f"--kb-credentials-file={password}"]
    done = invoked(main, [*command, *own, *options], code=2)
    assert "in clear text" in done.output
    assert "https" in done.output


@pytest.mark.parametrize(
    "where", ["https://kb.example.org/kb", "http://127.0.0.1:3030/kb", "http://[::1]:3030/kb"]
)
def test_a_password_goes_where_nobody_overhears_it(tmp_path: Path, where: str) -> None:
    password = tmp_path / "password"
    password.write_text("writer:a secret\n")
    password.chmod(0o600)
    assert store_at(where, "fuseki", password, Trust()).url == f"{where}/sparql"


def test_a_password_that_others_may_read_is_refused_with_the_next_step(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("writer:a secret\n")
    password.chmod(0o640)
    with pytest.raises(ClickException, match=f"run: chmod 600 {password}"):
        store_at("https://kb.example.org/kb", "fuseki", password, Trust())
