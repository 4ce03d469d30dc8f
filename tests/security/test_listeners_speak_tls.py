"""Service, monitor and portal listen beyond this machine by https only; they follow their certificates, and
show and ask for certificates among each other.
"""

import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import urllib3
from click.testing import CliRunner
from cryptography import x509
from invoked import invoked
from patience import PATIENCE, wait_until
from ports import free_port
from service_process import SITE
from ses.cli import main as ses_command
from ses_listen.tls import FollowedTls, TlsFiles
from ses_service.commands.main import main as service_command
from ses_webface.cli import main as portal_command
from smallest_monitor import MONITOR
from smed_monitor.cli import main as monitor_command
from smed_monitor.collectors.http import HttpSource
from smed_monitor.config.settings import Target
from smed_monitor.core.errors import CollectorError

PROGRAMS = Path(sys.executable).parent
PARTS = ("monitor", "service", "portal")


class Parts(NamedTuple):
    """All three parts; each asks its clients for a certificate of the site's authority."""

    ports: dict[str, int]
    folder: Path

    def certificate(self, name: str) -> Path:
        return self.folder / "tls" / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.folder / "tls" / f"{name}-key.pem"

    def connect(self, part: str, shown: str | None = "client") -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.certificate("ca")))
        if shown is not None:
            context.load_cert_chain(self.certificate(shown), self.key(shown))
        plain = socket.create_connection(("127.0.0.1", self.ports[part]), timeout=PATIENCE)
        return context.wrap_socket(plain, server_hostname="localhost")

    def serial(self, part: str) -> int:
        """Return which certificate a connection made now is shown."""
        with self.connect(part) as line:
            return x509.load_der_x509_certificate(line.getpeercert(binary_form=True) or b"").serial_number

    def get(self, part: str, path: str) -> Any:
        pool = urllib3.PoolManager(
            ca_certs=str(self.certificate("ca")),
            cert_file=str(self.certificate("client")),
            key_file=str(self.key("client")),
            retries=False,
        )
        return json.loads(pool.request("GET", f"https://localhost:{self.ports[part]}{path}").data)


def healthy(line: ssl.SSLSocket) -> bool:
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = http.client.HTTPResponse(line)
    try:
        answer.begin()
        answer.read()
    except http.client.HTTPException:
        return False
    return answer.status == 200


def init(folder: Path, *hosts: str) -> str:
    done = invoked(service_command, ["tls", "init", str(folder / "tls"), *hosts])
    return done.output


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folder = tmp_path_factory.mktemp("parts")
    made = Parts({part: free_port() for part in PARTS}, folder)
    init(folder, *(f"{part},localhost,127.0.0.1" for part in PARTS), "client")
    (folder / "smed.toml").write_text(MONITOR, "utf-8")
    token = CliRunner().invoke(
        service_command, ["token", "new", f"--tokens={folder / 'tokens'}", "--role=portal", "--name=portal"]
    )
    (folder / "portal-token").touch(0o600)
    (folder / "portal-token").write_text(token.output, "utf-8")
    ca = made.certificate("ca")
    commands = {
        "monitor": ["smed-monitor", "serve", f"--config={folder / 'smed.toml'}"],
        "service": [
            *("ses-service", "serve", f"--state-dir={folder / 'service'}", f"--site={SITE}"),
            *(f"--tokens={folder / 'tokens'}", f"--monitor-url=https://localhost:{made.ports['monitor']}"),
            f"--trusted-ca={ca}",
        ],
        "portal": [
            *("ses-webface", "serve", f"--state-dir={folder / 'portal'}"),
            *(f"--service-token-file={folder / 'portal-token'}", f"--service-ca={ca}"),
            f"--service-url=https://localhost:{made.ports['service']}",
        ],
    }
    running = []
    for part, command in commands.items():
        with (folder / f"{part}.log").open("wb") as log:
            listen = f"--listen=127.0.0.1:{made.ports[part]}"
            tls = [f"--tls-cert={made.certificate(part)}", f"--tls-key={made.key(part)}", f"--tls-ca={ca}"]
            line = [str(PROGRAMS / command[0]), *command[1:], listen, *tls]
            running.append(subprocess.Popen(line, stdout=log, stderr=log))

    def up(part: str, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, (folder / f"{part}.log").read_text("utf-8")
        try:
            with made.connect(part) as line:
                return healthy(line)
        except OSError:
            return False

    try:
        for part, process in zip(commands, running, strict=True):
            wait_until(lambda part=part, process=process: up(part, process))
        yield made
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(PATIENCE)


@pytest.mark.parametrize("part", PARTS)
def test_who_shows_no_certificate_of_the_authority_is_refused(part: str, parts: Parts) -> None:
    assert not answered(parts, part, shown=None)
    assert answered(parts, part, shown="client")


def answered(parts: Parts, part: str, shown: str | None) -> bool:
    try:
        with parts.connect(part, shown) as line:
            return healthy(line)
    except OSError:
        return False


def test_the_command_says_that_https_is_spoken_where_http_is_named(parts: Parts) -> None:
    named = f"http://127.0.0.1:{parts.ports['service']}"
    done = invoked(ses_command, ["status", "--url", named], code=3)
    assert f"speaks https, not http. Name it {named.replace('http', 'https')} with --url" in done.output


def test_the_parts_prove_themselves_to_each_other(parts: Parts) -> None:
    def checks() -> dict[str, bool]:
        return {check["name"]: check["ok"] for check in parts.get("service", "/readyz")["checks"]}

    wait_until(lambda: checks()["monitor"])
    wait_until(lambda: parts.get("portal", "/readyz")["ready"])


@pytest.mark.parametrize("part", PARTS)
def test_a_renewed_certificate_is_shown_to_connections_made_afterwards(
    part: str, parts: Parts, tmp_path: Path
) -> None:
    shutil.copytree(parts.folder / "tls", tmp_path / "tls")
    init(tmp_path, f"{part},localhost,127.0.0.1")
    certificate, key = ((tmp_path / "tls" / path.name) for path in (parts.certificate(part), parts.key(part)))
    renewed = x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number
    before = parts.serial(part)
    with parts.connect(part) as kept:
        assert healthy(kept)
        parts.certificate(part).write_bytes(certificate.read_bytes())  # half of it is there
        assert parts.serial(part) == before
        parts.key(part).write_bytes(key.read_bytes())
        assert parts.serial(part) == renewed != before
        assert healthy(kept), "the connection made before goes on"


def test_files_that_become_good_within_one_tick_of_the_clock_are_read(tmp_path: Path) -> None:
    """The key is written again before the time of its file goes on."""
    init(tmp_path, "one,localhost", "two,localhost")
    names = ("one.pem", "one-key.pem", "two.pem", "two-key.pem")
    certificate, key, other, other_key = (tmp_path / "tls" / name for name in names)
    followed = FollowedTls(TlsFiles(certificate, key))
    last = serial_shown(followed)
    certificate.write_bytes(other.read_bytes())
    half = key.stat()
    assert serial_shown(followed) == last
    key.write_bytes(other_key.read_bytes())
    os.utime(key, ns=(half.st_atime_ns, half.st_mtime_ns))
    assert key.stat().st_size == half.st_size
    renewed = x509.load_pem_x509_certificate(other.read_bytes()).serial_number
    assert serial_shown(followed) == renewed != last


def serial_shown(followed: FollowedTls) -> int:
    """Return which certificate a handshake is shown."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = followed.context.wrap_bio(said, heard, server_side=True)
    asking = client.wrap_bio(heard, said, server_hostname="localhost")
    for side in (asking, server, asking):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return x509.load_der_x509_certificate(asking.getpeercert(binary_form=True) or b"").serial_number


def client_hello() -> bytes:
    """What a client says first."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def ended(line: socket.socket) -> bool:
    """Whether the other side ends this connection; waits for it."""
    line.settimeout(PATIENCE)
    try:
        while line.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_who_stalls_before_a_request_is_whole_holds_nobody_up_and_is_sent_away(parts: Parts) -> None:
    """More of each kind than there are threads; then who comes after them is answered, while they stall."""
    begun = {"nothing": b"", "half a hello": client_hello()[:100]}
    stalled: list[tuple[str, str, socket.socket]] = []
    with contextlib.ExitStack() as lines:
        for part in PARTS:
            for kind, words in begun.items():
                for _ in range(40):
                    line = socket.create_connection(("127.0.0.1", parts.ports[part]), timeout=PATIENCE)
                    line.sendall(words)
                    stalled.append((part, kind, lines.enter_context(line)))
            for _ in range(40):
                line = lines.enter_context(parts.connect(part))
                line.sendall(b"GET /healthz HTTP/1.1\r\nHo")
                stalled.append((part, "half a request", line))
        assert [answered(parts, part, "client") for part in PARTS] == [True] * len(PARTS)
        assert [(part, kind) for part, kind, line in stalled if not ended(line)] == []


def test_clients_that_hang_up_during_a_handshake_or_after_it_leave_no_traceback(parts: Parts) -> None:
    hello, request = client_hello(), b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3
    reset = struct.pack("ii", 1, 0)
    for part in PARTS:
        for length in range(0, len(hello) + 1, 7):
            plain = socket.create_connection(("127.0.0.1", parts.ports[part]), timeout=PATIENCE)
            plain.sendall(hello[:length])
            if length % 2:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            plain.close()
        for length in range(len(request)):
            line = parts.connect(part)
            if length:
                line.sendall(request[:length])
            if length % 2:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            line.close()
        assert answered(parts, part, "client")
        assert "Traceback" not in (parts.folder / f"{part}.log").read_text("utf-8")


# What each says when it would listen in clear text, or with files that are no use


def commands(part: str, folder: Path) -> tuple[Any, list[str]]:
    (folder / "smed.toml").write_text(MONITOR, "utf-8")
    return {
        "monitor": (monitor_command, ["serve", f"--config={folder / 'smed.toml'}"]),
        "service": (service_command, ["serve", f"--state-dir={folder / 's'}", "--trust-loopback"]),
        "portal": (portal_command, ["serve", f"--state-dir={folder / 'p'}"]),
    }[part]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_none_listens_beyond_this_machine_in_clear_text(part: str, host: str, tmp_path: Path) -> None:
    command, words = commands(part, tmp_path)
    done = CliRunner().invoke(command, [*words, f"--listen={host}:{free_port()}"])
    assert done.exit_code in (1, 2)
    said = " ".join(done.output.split())
    assert "ses-service tls init /etc/qstorman/tls" in said
    assert "--tls-cert /etc/qstorman/tls/HOST.pem --tls-key /etc/qstorman/tls/HOST-key.pem" in said
    assert ("--behind-proxy" in said) == (part == "portal")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("wrong", ["half", "open", "mismatch", "missing"])
def test_files_that_are_no_use_are_refused_with_the_reason(part: str, wrong: str, tmp_path: Path) -> None:
    command, words = commands(part, tmp_path)
    init(tmp_path, "one", "two")
    certificate, key = (tmp_path / "tls" / name for name in ("one.pem", "one-key.pem"))
    options, says = [f"--tls-cert={certificate}", f"--tls-key={key}"], ""
    if wrong == "half":
        options, says = options[:1], "go together"
    elif wrong == "open":
        key.chmod(0o604)
        says = f"chmod 600 {key}"
    elif wrong == "mismatch":
        shutil.copy(tmp_path / "tls" / "two-key.pem", key)
        says = "not a certificate with its key"
    else:
        key.unlink()
        says = str(key)
    done = CliRunner().invoke(command, [*words, f"--listen=127.0.0.1:{free_port()}", *options])
    assert done.exit_code in (1, 2), done.output
    assert says.replace(" ", "") in "".join(done.output.split()), done.output


# The authority


def test_keys_are_for_their_owner_alone_and_the_next_step_is_said(tmp_path: Path) -> None:
    said = init(tmp_path, "mon1,10.0.0.5")
    folder = tmp_path / "tls"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"ca.pem": 0o644, "ca-key.pem": 0o600, "mon1.pem": 0o644, "mon1-key.pem": 0o600}
    assert "--tls-cert" in said
    assert "--service-ca" in said
    names = x509.load_pem_x509_certificate((folder / "mon1.pem").read_bytes()).extensions
    held = names.get_extension_for_class(x509.SubjectAlternativeName).value
    assert held.get_values_for_type(x509.DNSName) == ["mon1"]
    assert [str(value) for value in held.get_values_for_type(x509.IPAddress)] == ["10.0.0.5"]
    before = (folder / "ca.pem").read_bytes()
    init(tmp_path, "mon2")
    assert (folder / "ca.pem").read_bytes() == before
    for name in ("../x", "ca", "", ".hidden"):
        assert CliRunner().invoke(service_command, ["tls", "init", str(folder), name]).exit_code == 1


def test_the_keys_can_be_given_to_the_user_who_serves(stranger: int, tmp_path: Path) -> None:
    command = ["tls", "init", str(tmp_path / "tls"), "here", "--owner"]
    assert CliRunner().invoke(service_command, [*command, "nobody"]).exit_code == 0
    assert (tmp_path / "tls" / "here-key.pem").stat().st_uid == stranger
    assert (tmp_path / "tls" / "ca-key.pem").stat().st_uid == os.getuid()
    assert CliRunner().invoke(service_command, [*command, "no-such-user"]).exit_code == 2


# The monitor and its exporters


def test_an_exporter_with_https_is_verified_by_an_authority_that_is_followed(tmp_path: Path) -> None:
    init(tmp_path, "exporter,127.0.0.1")
    folder = tmp_path / "tls"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "exporter.pem", folder / "exporter-key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"https://127.0.0.1:{server.server_port}/"
        given = {"name": "x", "collector": "node_exporter", "url": url, "timeout_seconds": 30.0}
        trusting = HttpSource(Target(**given, ca_file=str(folder / "ca.pem")))
        assert trusting.read().body
        trusting.close()
        with pytest.raises(CollectorError, match="certificate"):
            HttpSource(Target(**given)).read()
        init(tmp_path / "other")
        followed = tmp_path / "followed.pem"
        shutil.copy(tmp_path / "other" / "tls" / "ca.pem", followed)
        following = HttpSource(Target(**given, ca_file=str(followed)))
        for half in ("", "half of a file"):
            with pytest.raises(CollectorError, match="certificate"):
                following.read()
            followed.write_text(half, "utf-8")
        shutil.copy(folder / "ca.pem", followed)
        assert following.read().body, "an authority that was put in its place counts"
        following.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
