"""A peer that is not the domain's own gets nothing, and damaged messages do no harm on either side."""

import contextlib
import random
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from offload_programs import PATIENCE, PLAIN, ROOT, answers, calls_again, client, part_of, run

GREETING = bytes([255, *[0] * 8, 127, 3, 0]) + b"CURVE".ljust(20, b"\0") + bytes(32)
CONNECTIONS = 150


@dataclass
class Part:
    """A storage part that serves a client: where it listens, and its key, which only that client is told."""

    endpoint: str
    key: str

    def answer(self, sent: bytes) -> bytes:
        """Return what it answers to bytes of somebody else, until it ends the connection."""
        host, port = self.endpoint.removeprefix("tcp://").split(":")
        said = b""
        with (
            socket.create_connection((host, int(port)), PATIENCE) as connection,
            contextlib.suppress(ConnectionError),
        ):
            connection.sendall(sent)
            with contextlib.suppress(OSError):  # the other side has ended already
                connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(4096):
                said += data
        return said


@pytest.fixture
def part(prefix: Path) -> Iterator[Part]:
    said = prefix / "said"
    said.write_text("")
    said.chmod(0o666)
    script = prefix / "listen.sh"
    script.write_text(f'"$@" | {{ read -r line; echo "$line" >{said}; echo "$line"; cat; }}\n')
    with client(prefix, "stay", f"sh {script}") as caller:
        part_of(caller)
        yield Part(*said.read_text().split()[2:4])
        assert calls_again(caller), "the client is served all the same"
        caller.kill()


def test_who_knows_address_and_key_is_refused(prefix: Path, part: Part) -> None:
    assert answers(run(prefix / "stranger", part.endpoint, part.key)) == {"event": "auth"}


def test_who_does_not_encrypt_gets_nothing(part: Part) -> None:
    plain = GREETING.replace(b"CURVE", b"NULL\0")
    assert len(part.answer(plain)) <= len(GREETING), "its own greeting, and no more"


def garbage(chance: random.Random) -> bytes:
    """Return noise, a damaged greeting, or a greeting and commands that are none."""
    if chance.random() < 0.3:
        return chance.randbytes(chance.randrange(1, 400))
    greeting = bytearray(GREETING)
    if chance.random() < 0.3:
        greeting[chance.randrange(len(greeting))] = chance.randrange(256)
    body = chance.choice((b"\x05HELLO\1\0", b"\x08INITIATE", b"\x07MESSAGE", b"\x05READY", b""))
    body += chance.randbytes(chance.choice((0, 10, 192, 250)))
    flags = chance.choice((4, 4, 0, 1, 2, 6, 255))
    size = b"\x7f" + bytes(7) if flags & 2 else bytes([chance.choice((min(len(body), 255), 0, 255))])
    return bytes(greeting) + bytes([flags]) + size + body


def test_garbage_is_answered_by_a_greeting_at_most(part: Part) -> None:
    chance = random.Random(17)
    for _ in range(CONNECTIONS):
        sent = garbage(chance)
        assert len(part.answer(sent)) <= len(GREETING), sent


def test_damaged_messages_do_no_harm(tmp_path: Path) -> None:
    libses, offload = ROOT / "libses", ROOT / "libses/extras/offload"
    sources = [Path(__file__).with_name("fuzz.c"), *offload.glob("*.c"), libses / "api/command.c"]
    checks = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    folders = [f"-I{libses / folder}" for folder in ("extras/include", "extras/offload", "api")]
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", *checks, *warnings, *folders, *sources]
    subprocess.run([*command, "-o", tmp_path / "fuzz", "-lzmq", "-lmsgpackc", "-pthread"], check=True)
    assert answers(run(tmp_path / "fuzz", user=0)) == {"answered": "1", "ran": "1", "taken": "1"}


def test_programs_on_one_node_do_not_know_of_each_other(prefix: Path) -> None:
    """N to 1: each has a part, and globals, of its own."""
    alone = answers(run(prefix / "probe", "calls"))
    several = [
        subprocess.Popen([prefix / "probe", "calls"], cwd="/", user=PLAIN, group=PLAIN, extra_groups=[],
                         stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]  # fmt: skip
    said = [process.communicate(timeout=PATIENCE)[0] for process in several]
    assert [dict(line.split("=", 1) for line in output.splitlines()) for output in said] == [alone] * 3
