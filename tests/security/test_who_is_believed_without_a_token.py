"""Without a token: at the UNIX socket who the kernel says; with --trust-loopback who names this machine."""

import json
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import knock
from invoked import invoked
from service_process import SITE, Running
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient
from ses_client.messages.requirements import required
from ses_service.api.authentication import Authenticator
from ses_service.api.problems import UnauthenticatedProblem
from ses_service.commands.main import main
from ses_service.security.tokens import Role
from ses_service.security.unix_socket import LocalListener, LocalListenerError, remote_of, uid_of

NOBODYS_NUMBER = 64321
SELECT = ("/v1/selections", "application/json", '{"subject": {"user": "nobody"}}')
ADMIN = ("/v1/nodes/n1/announcements", "application/json", json.dumps({"incarnation": "a" * 16}))


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """A service that trusts loopback, at a socket that everybody can reach."""
    with tempfile.TemporaryDirectory(prefix="ses-security-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        running = Running(folder, f"--site={SITE}", "--trust-loopback", f"--socket={folder / 'door'}")
        yield running.wait_ready()
        running.end()


def door(service: Running) -> Path:
    return service.log.parent / "door"


def raw(service: Running, request: bytes) -> int:
    """Return the status of the answer to these bytes, 0 when there is none."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as line:
        line.sendall(request)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    return int(answer.split()[1]) if answer else 0


# The socket


def test_at_the_socket_everybody_is_who_the_kernel_says(service: Running, stranger: int) -> None:
    def statuses(user: int) -> list[int]:
        return [status for status, _ in knock(user, str(door(service)), [SELECT, ADMIN])]

    assert stat.S_IMODE(door(service).stat().st_mode) == 0o666
    assert statuses(os.getuid()) == [200, 200], "root and the service's user act as admin"
    assert statuses(stranger) == [200, 403], "anybody else as the user they are"
    with pytest.raises(KeyError):
        pwd.getpwuid(NOBODYS_NUMBER)
    assert statuses(NOBODYS_NUMBER) == [401, 401], "who has no name is nobody"


def test_what_passed_a_proxy_is_not_believed_at_the_socket() -> None:
    asked = Authenticator(None, trust_loopback=True)
    assert asked.principal({}.get, "localhost", "uid:0").role is Role.ADMIN
    for header in ("X-Forwarded-For", "Forwarded"):
        with pytest.raises(UnauthenticatedProblem):
            asked.principal({header: "for=192.0.2.7"}.get, "localhost", "uid:0")
    with pytest.raises(UnauthenticatedProblem):
        asked.principal({"Authorization": "Bearer wrong"}.get, "localhost", "uid:0")


def test_a_user_acts_for_nobody_else_at_the_socket() -> None:
    name = pwd.getpwuid(65534).pw_name
    principal = Authenticator(None, trust_loopback=False).principal(
        {"X-Acting-User": "bob"}.get, "x", "uid:65534"
    )
    assert (principal.role, principal.user) == (Role.USER, name)


@pytest.mark.parametrize("name", ["alice", "jürgen", "Łukasz", "CORP\\物理"])
def test_who_acts_for_a_user_names_one_of_any_script(service: Running, name: str) -> None:
    """As the portal does in all that it asks for somebody."""
    acting = ServiceClient(ServiceAddress(service.url)).acting(name)
    acting.replace_requirements("user", name, (required("free-capacity", 1.0, "GB"),), revision=0)
    assert acting.requirement_set("user", name).modified_by == name
    acting.make_token("laptop", "read", 1)
    assert [token.name for token in acting.tokens().tokens] == ["laptop"]
    assert acting.acting("somebody-else").tokens().tokens == ()


def test_the_portals_user_acts_for_people_at_the_socket_and_is_no_administrator() -> None:
    asked = Authenticator(None, trust_loopback=False, portal_uid=65534)
    principal = asked.principal({"X-Acting-User": "bob"}.get, "x", "uid:65534")
    assert (principal.role, principal.user) == (Role.PORTAL, "bob")
    with pytest.raises(UnauthenticatedProblem):
        asked.principal({"X-Forwarded-For": "192.0.2.7"}.get, "x", "uid:65534")


def test_the_socket_takes_the_place_of_one_left_over_and_of_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "door"
    first = LocalListener(path)
    with pytest.raises(LocalListenerError, match="another process listens"):
        LocalListener(path)
    first.socket.close()  # as after kill -9
    second = LocalListener(path)
    first.close()
    assert path.exists(), "what another made is not removed"
    second.close()
    assert not path.exists()
    path.write_text("kept", "utf-8")
    with pytest.raises(LocalListenerError, match="something else"):
        LocalListener(path)
    assert path.read_text("utf-8") == "kept"


def test_only_a_unix_socket_says_who_calls() -> None:
    unix, other = socket.socketpair()
    with unix, other, socket.socket(socket.AF_INET) as tcp:
        assert uid_of(remote_of(unix.fileno()) or "") == os.getuid()
        assert remote_of(tcp.fileno()) is None
    assert [uid_of(text) for text in ("127.0.0.1", "uid:", "uid:-1", "uid:0x0")] == [None] * 4


@pytest.mark.parametrize("user", [1, 2**31 - 1, 2**31, 2**32 - 2])
def test_every_number_of_a_user_is_one(user: int, open_folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(open_folder / "here"))
        door.listen()
        (open_folder / "here").chmod(0o666)
        script = "import os, socket as s, sys; os.setuid(int(sys.argv[2]))\n"
        script += "s.socket(s.AF_UNIX).connect(sys.argv[1])"
        subprocess.run(
            [sys.executable, "-I", "-c", script, open_folder / "here", str(user)], check=True, timeout=60
        )
        with door.accept()[0] as line:
            assert uid_of(remote_of(line.fileno()) or "") == user


def test_a_service_at_a_socket_needs_no_tokens_to_start(open_folder: Path) -> None:
    done = invoked(main, ["serve", f"--state-dir={open_folder / 'state'}"], code=2)
    assert "--socket PATH" in done.output
    running = Running(open_folder, f"--site={SITE}", f"--socket={open_folder / 'door'}").wait_ready()
    assert running.call("GET", "/v1/elements")[0] == 401, "at the port a token is needed"
    assert knock(os.getuid(), str(open_folder / "door"), [SELECT])[0][0] == 200
    running.end(signal.SIGTERM)
    assert not (open_folder / "door").exists()


# --trust-loopback


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", 200),
        (b"LocalHost:1", 200),
        (b"127.0.0.1:8630", 200),
        (b"127.9.9.9", 200),
        (b"[::1]:8630", 200),
        (b"", 401),
        (b"localhost.", 401),
        (b"localhost.evil.example", 401),
        (b"localhost:8630.evil.example", 401),
        (b"127.0.0.1:8630.evil.example", 401),
        (b"127.0.0.1.evil.example", 401),
        (b"evil.example:127.0.0.1", 401),
        (b"evil@localhost", 401),
        (b"localhost, evil.example", 401),
        (b"localhost:", 401),
        (b"[::1", 401),
        (b"::1", 401),
        (b"[::2]", 401),
        (b"0.0.0.0", 401),
        (b"127.1", 401),
        (b"2130706433", 401),
        (b"192.0.2.7", 401),
        (b"x" * 5000, 401),
        (b"\xff\xfe", 401),
    ],
)
def test_loopback_is_trusted_when_the_host_header_names_this_machine_and_nothing_else(
    service: Running, host: bytes, status: int
) -> None:
    body = SELECT[2].encode()
    rest = b"Host: %b\r\nConnection: close\r\n" % host
    get = b"GET /v1/elements HTTP/1.1\r\n%b\r\n" % rest
    post = b"POST /v1/selections HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n%b"
    # a host that cannot be one may be refused before anybody looks who asks
    accepted = {status} if status == 200 else {401, 400}
    assert raw(service, get) in accepted
    assert raw(service, post % (len(body), rest, body)) in accepted


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: evil.example\r\n"])
def test_none_or_two_host_headers_name_no_machine(service: Running, hosts: bytes) -> None:
    assert raw(service, b"GET /v1/elements HTTP/1.1\r\n%bConnection: close\r\n\r\n" % hosts) in {400, 401}
    assert raw(service, b"GET /v1/elements HTTP/1.0\r\n%b\r\n" % hosts) in {400, 401}
