"""A token leaves agent, command and portal only to a service that is proven: by its certificate, or on this
machine by the user who listens.  Whoever takes the place of a stopped service hears nothing.
"""

import datetime
import ipaddress
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import urllib3
from built import BUILD
from click.testing import CliRunner
from fake_server import FakeServer
from invoked import invoked
from patience import PATIENCE, wait_until
from ran import ran
from service_process import SITE, Running
from ses.cli import main as ses_command
from ses_client import proven
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, UnavailableError
from ses_service.commands.main import main as service_command
from ses_service.security import certificates

AGENT = BUILD / "agent" / "ses-agent"
SECRET = "secret-of-n17"


class Site(NamedTuple):
    service: Running
    folder: Path
    ca: Path
    other_ca: Path
    socket: Path
    token: str


def run(*command: str) -> str:
    done = invoked(service_command, list(command))
    return done.output.strip()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with https and a UNIX socket."""
    folder = tmp_path_factory.mktemp("site")
    for path in (folder, folder.parent):
        path.chmod(0o755)
    run("tls", "init", str(folder / "tls"), "here,localhost,127.0.0.1")
    run("tls", "init", str(folder / "other"), "here,localhost,127.0.0.1")
    tokens = folder / "tokens.toml"
    token = run("token", "new", f"--tokens={tokens}", "--role=node", "--node=n17")
    service = Running(
        folder,
        f"--site={SITE}",
        f"--tokens={tokens}",
        f"--socket={folder / 'door'}",
        f"--tls-cert={folder / 'tls' / 'here.pem'}",
        f"--tls-key={folder / 'tls' / 'here-key.pem'}",
        ca=folder / "tls" / "ca.pem",
    )
    yield Site(
        service.wait_ready(),
        folder,
        folder / "tls" / "ca.pem",
        folder / "other" / "ca.pem",
        folder / "door",
        token,
    )
    service.end()


class Agent:
    """A real agent of node n17."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "agent.log"
        command = [
            str(AGENT),
            *("--node", "n17", "--socket", str(folder / "agent.sock"), "--state-dir", str(folder / "agent")),
            *("--log-level", "debug", *options),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.log.read_text("utf-8") or self.process.poll() is not None)
        assert text in self.log.read_text("utf-8")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Any]:
    started: list[Agent] = []

    def start(*options: str) -> Agent:
        started.append(Agent(tmp_path, *options))
        return started[-1]

    yield start
    for agent in started:
        agent.end()


def token_file(folder: Path, token: str = SECRET) -> Path:
    path = folder / "token"
    path.touch(0o600)
    path.write_text(token, "utf-8")
    return path


def ses(*arguments: str, **environment: str) -> tuple[int, str]:
    done = CliRunner().invoke(ses_command, list(arguments), env={"COLUMNS": "200", **environment})
    return done.exit_code, " ".join(done.output.split())


# Who took the place of the service


@pytest.fixture
def thief(stranger: int, open_folder: Path) -> Iterator[FakeServer]:
    with FakeServer(stranger, open_folder / "thief.log") as server:
        yield server


@pytest.fixture
def thief_at_socket(stranger: int, open_folder: Path) -> Iterator[FakeServer]:
    place = open_folder / "taken"
    place.mkdir()
    os.chown(place, stranger, stranger)
    with FakeServer(stranger, open_folder / "thief.log", place / "door") as server:
        yield server


def test_an_agent_tells_a_stranger_at_the_port_nothing(
    agents: Any, thief: FakeServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{thief.where}"
    agent = agents("--service", url, "--token-file", str(token_file(tmp_path)))
    agent.wait_for("uid 65534 listens there, neither root")
    agent.wait_for("--service-user")
    assert thief.heard_nothing()


def test_an_agent_tells_a_stranger_at_the_socket_nothing(
    agents: Any, thief_at_socket: FakeServer, tmp_path: Path
) -> None:
    url = f"unix:{thief_at_socket.where}"
    agent = agents("--service", url, "--token-file", str(token_file(tmp_path)))
    agent.wait_for("uid 65534 listens there, neither root")
    assert thief_at_socket.heard_nothing()


def test_an_agent_speaks_to_the_user_it_is_told_is_the_service(
    agents: Any, thief: FakeServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{thief.where}"
    agents("--service", url, "--token-file", str(token_file(tmp_path)), "--service-user", "65534")
    wait_until(lambda: SECRET in thief.heard())


@pytest.mark.parametrize("kind", ["port", "socket"])
def test_the_command_tells_a_stranger_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: FakeServer = request.getfixturevalue("thief" if kind == "port" else "thief_at_socket")
    url = f"http://localhost:{server.where}" if kind == "port" else f"unix:{server.where}"
    asked = ["elements", "--url", url, "--token-file", str(token_file(tmp_path))]
    status, said = ses(*asked)
    assert status == 4
    assert "uid 65534 listens there, neither root" in said
    assert "SES_SERVICE_USER" in said
    assert server.heard_nothing()
    ses(*asked, SES_SERVICE_USER="65534")
    assert SECRET in server.heard()


def test_the_portal_tells_a_stranger_nothing(thief: FakeServer, tmp_path: Path) -> None:
    portal = ServiceClient(ServiceAddress(f"http://127.0.0.1:{thief.where}", token_file(tmp_path)))
    with pytest.raises(UnavailableError, match="uid 65534 listens there"):
        portal.check()
    assert thief.heard_nothing()


def test_only_the_socket_that_took_the_connection_counts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        own = proven._listening_on(port)
        with socket.create_connection(("127.0.0.1", port)) as made:
            assert [listener.uid for listener in own] == [os.getuid()]
            assert proven._fault(made, own, own) == ""
            # who listens on another address of the port, or behind it, hinders nobody
            others = [
                own[0]._replace(address=ipaddress.ip_address(text), uid=65534, inode=1)
                for text in ("127.0.0.2", "192.0.2.7", "0.0.0.0", "::", "::1")
            ]
            assert proven._fault(made, [*others, *own], [*own, *others]) == ""
            # one that took the place of another may not have been there when the connection was made
            assert "does not say who" in proven._fault(made, own, [own[0]._replace(inode=1)])
            assert "does not say who" in proven._fault(made, [], own)
            assert "does not say who" in proven._fault(made, own, [])
            # a second socket of the same address
            both = [*own, own[0]._replace(uid=65534, inode=1)]
            assert "uid 65534" in proven._fault(made, both, both)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.7", "localhost", "[::1]"])
def test_an_agent_finds_the_listener_of_every_loopback_address(
    host: str, agents: Any, tmp_path: Path
) -> None:
    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    listen = "" if host == "127.8.9.7" else host.strip("[]")  # a listener of all addresses
    with socket.create_server((listen, 0), family=family) as server:
        url = f"http://{host}:{server.getsockname()[1]}"
        agents("--service", url, "--token-file", str(token_file(tmp_path)))
        server.settimeout(PATIENCE)
        line, _ = server.accept()
        with line:
            line.settimeout(PATIENCE)
            heard = line.recv(65536)
            assert f"Authorization: Bearer {SECRET}".encode() in heard
            assert f"Host: {host}:".encode() in heard


# Clear text


@pytest.mark.parametrize("url", ["http://192.0.2.7:8630", "http://127.evil.example", "http://[2001:db8::1]"])
def test_no_token_is_sent_to_another_machine_in_clear_text(url: str, tmp_path: Path) -> None:
    file = str(token_file(tmp_path))
    done = ran([AGENT, "--service", url, "--token-file", file], code=None)
    assert (done.returncode, "clear text; use https://" in done.stderr) == (2, True), done.stderr
    status, said = ses("elements", "--url", url, "--token-file", file)
    assert (status, "clear text. Use https://" in said) == (4, True), said
    with pytest.raises(NotAllowedError, match="https"):
        ServiceClient(ServiceAddress(url, Path(file)))


# The real one


def test_agent_command_and_portal_speak_https_to_who_is_proven(
    agents: Any, site: Site, tmp_path: Path
) -> None:
    file = str(token_file(tmp_path, site.token))
    agents("--service", site.service.url, "--token-file", file, "--service-ca", str(site.ca)).wait_for(
        "service found"
    )
    status, said = ses(
        "elements", "--url", site.service.url, "--token-file", file, SES_SERVICE_CA=str(site.ca)
    )
    assert (status, "union/b1" in said) == (0, True), said
    ServiceClient(ServiceAddress(site.service.url, Path(file), site.ca)).check()


class LongAgo(datetime.datetime):
    """The time when a certificate was made that ended since."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return datetime.datetime.now(tz) - datetime.timedelta(days=1000)


@pytest.mark.parametrize(
    ("wrong", "by_the_agent", "by_ses"),
    [
        ("authority", "is of an authority that --service-ca does not hold", "Name the authority"),
        ("name", "is for another name", "Call the service by a name"),
        ("end", "has expired, or the clock here is wrong", "Renew it on the service's machine"),
    ],
)
def test_a_certificate_of_another_authority_or_name_or_that_ended_is_refused_with_the_cause(
    wrong: str,
    by_the_agent: str,
    by_ses: str,
    agents: Any,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(token_file(tmp_path, site.token))
    ca = site.other_ca if wrong == "authority" else site.ca
    url = site.service.url
    if wrong != "authority":
        name = "elsewhere"
        if wrong == "end":
            clock = SimpleNamespace(datetime=LongAgo, UTC=datetime.UTC, timedelta=datetime.timedelta)
            monkeypatch.setattr(certificates, "datetime", clock)
            name = "elsewhere,localhost,127.0.0.1"
        run("tls", "init", str(site.folder / "tls"), name)
        for kind in (".pem", "-key.pem"):
            shutil.copy(site.folder / "tls" / f"here{kind}", tmp_path / f"kept{kind}")
            shutil.copy(site.folder / "tls" / f"elsewhere{kind}", site.folder / "tls" / f"here{kind}")
    try:
        agent = agents("--service", url, "--token-file", file, "--service-ca", str(ca))
        agent.wait_for(f"its certificate {by_the_agent}")
        status, said = ses("elements", "--url", url, "--token-file", file, "--service-ca", str(ca))
        assert (status, "not proven" in said, by_ses in said) == (4, True, True), said
        with pytest.raises(UnavailableError, match="not proven by its certificate"):
            ServiceClient(ServiceAddress(url, Path(file), ca)).check()
    finally:
        if wrong != "authority":
            for kind in (".pem", "-key.pem"):
                shutil.copy(tmp_path / f"kept{kind}", site.folder / "tls" / f"here{kind}")


def test_an_agent_follows_the_authority_it_believes_and_its_own_certificate(
    agents: Any, site: Site, tmp_path: Path
) -> None:
    """As a site renews them, file by file, while the agent runs."""
    for name in ("tls", "other"):
        run("tls", "init", str(site.folder / name), "n17")
    here, asked = site.folder / "tls", {"ca": "ca.pem", "certificate": "n17.pem", "key": "n17-key.pem"}
    service = Running(
        tmp_path, f"--site={SITE}", f"--tokens={site.folder / 'tokens.toml'}", f"--tls-ca={site.ca}",
        f"--tls-cert={here / 'here.pem'}", f"--tls-key={here / 'here-key.pem'}", ca=site.ca,
    )  # fmt: skip
    for kind, name in asked.items():
        shutil.copy(site.folder / "other" / name, tmp_path / kind)
    try:
        wait_until(lambda: "listening" in service.log.read_text())
        agent = agents(
            "--service", service.url, "--token-file", str(token_file(tmp_path, site.token)),
            "--service-ca", str(tmp_path / "ca"), "--tls-cert", str(tmp_path / "certificate"),
            "--tls-key", str(tmp_path / "key"),
        )  # fmt: skip
        agent.wait_for("its certificate is of an authority that --service-ca does not hold")
        for kind in ("ca", "certificate"):
            shutil.copy(here / asked[kind], tmp_path / kind)
        agent.wait_for("cannot be used as they are")
        shutil.copy(here / asked["key"], tmp_path / "key")
        agent.wait_for("service found")
    finally:
        service.end()


def test_at_the_socket_of_this_machine_nothing_needs_to_be_configured(
    agents: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents("--service", f"unix:{site.socket}").wait_for("service found")
    monkeypatch.setattr("ses.settings.SERVICE_SOCKET", site.socket)
    status, said = ses("elements", SES_SERVICE_URL="", SES_TOKEN_FILE="", HOME="/nonexistent")
    assert (status, "union/b1" in said) == (0, True), said
    ServiceClient(ServiceAddress(f"unix:{site.socket}")).check()


def test_plain_http_says_nothing_to_https_and_back(site: Site) -> None:
    with pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.request("GET", site.service.url.replace("https", "http") + "/healthz", retries=False)
