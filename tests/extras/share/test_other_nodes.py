"""Regions of another node, through libfabric: the same promises, the user's own rights, no wait without end.

The other node is an agent of its own on this machine; where the network breaks, in a network namespace.
"""

import contextlib
import ctypes
import errno
import itertools
import os
import secrets
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import BUILD
from munged import running_munged
from patience import wait_until
from promises import PROMISES, Promise, is_kept
from ran import ran
from remote_node import Agent, agent
from ses.share import Model, Region, Value
from sharing import Peer, command_of, refused, value_of

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534
LIBC = ctypes.CDLL(None)
CLONE_NEWNET = 0x40000000  # sched.h
PATIENCE = 60.0
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes another user's part: needs root")


def here(remote: Region) -> str:
    """The region's name on its own node."""
    return remote.name.partition("@")[0]


@pytest.mark.parametrize(("promise", "model", "weaker"), PROMISES)
def test_model_promises_what_the_next_weaker_one_does_not(
    remote: Region, promise: Promise, model: Model, weaker: Model
) -> None:
    assert is_kept(promise, model, remote)
    assert not is_kept(promise, weaker, remote)


def test_value_is_the_same_from_both_nodes(remote: Region) -> None:
    item = remote.alloc("item", 300_000, keep=2)
    large = os.urandom(300_000)
    with Region.open(here(remote)) as near:
        assert near.find("item").get() is None
        assert item.get() is None
        assert item.put(large) == 1
        assert near.find("item").get() == Value(large, 1)
        assert near.find("item").put(b"2") == 2
        assert item.get() == Value(b"2", 2)
        assert item.copy(1) == Value(large, 1)
        assert (item.version, item.facts().value_bytes) == (2, 1)
        assert [row.name for row in remote.items()] == ["item"]
        near.find("item").free()
    with refused(errno.EBADF):
        item.get()
    with pytest.raises(FileNotFoundError):
        remote.find("item")


def test_job_is_that_of_the_caller(node: Agent, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    with Region.create(f"job/{name}@{node.address}") as region:
        assert region.facts().name == f"4711/{name}"
    Region.remove(f"4711/{name}")


def test_who_waits_on_another_node_is_told(remote: Region) -> None:
    item = remote.alloc("item", 64)
    with Peer(remote.name) as peer:
        peer.begin("wait", "item", 0)
        item.put(b"1")
        assert peer.answer() == {"result": True}
    remote.patience(0.05)
    assert not item.wait(1)


def test_lock_excludes_both_nodes_and_outlives_a_dead_holder(remote: Region) -> None:
    remote.alloc("item", 64, Model.STRICT)
    with Region.open(here(remote)) as near:
        item = near.find("item")
        with Peer(remote.name) as peer:
            assert peer.do("lock", "item") == {"result": False}
            near.patience(0.05)
            with pytest.raises(TimeoutError):
                item.lock().__enter__()
            peer.kill()
        near.patience(PATIENCE)
        with item.lock() as after_dead:
            assert after_dead
        with item.lock() as after_dead:
            assert not after_dead


def test_one_thread_waits_while_another_unlocks(remote: Region) -> None:
    """A call that waits does not keep the other calls of the region from going on."""
    remote.alloc("locked", 64, Model.WRITE)
    with Peer(remote.name) as peer, remote.find("locked").lock():
        peer.begin("put", "locked", "of the other")
        waiting = threading.Thread(target=remote.alloc("awaited", 64).wait, args=(0,))
        waiting.start()
        remote.find("locked").put(b"mine")
        remote.find("awaited").put(b"1")
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
    # the lock is given back by the context, so the other's put comes


@pytest.mark.parametrize("ends_by", ["close", "the item", "a call"])
def test_child_of_fork_harms_nothing_of_its_parents(remote: Region, ends_by: str) -> None:
    """Also where it leaves the block in which the region was opened, or what it has is collected."""
    items = [remote.alloc("item", 10)]
    items[0].put(b"1")
    if (child := os.fork()) == 0:
        status = 1
        with contextlib.suppress(BaseException):
            if ends_by == "close":
                remote.close()
            elif ends_by == "the item":
                items.clear()
            else:
                with refused(errno.EHOSTDOWN):
                    items[0].get()
            status = 0
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert items[0].get() == Value(b"1", 1)
    assert items[0].put(b"2") == 2
    assert [row.name for row in remote.items()] == ["item"]


@as_root
def test_user_has_the_rights_of_that_user_there(node: Agent, name: str) -> None:
    with Region.create(f"{name}@{node.address}", mode=0o644) as region:
        assert region.facts().owner == 0
        region.alloc("item", 64).put(b"1")
        with Peer(f"root:{name}@{node.address}", user=NOBODY) as peer:
            assert peer.do("get", "item") == {"result": "1"}
            for line in (("put", "item", "2"), ("lock", "item"), ("free", "item")):
                assert peer.do(*line) == {"error": "PermissionError", "errno": errno.EACCES}
    Region.remove(name)
    with Region.create(name):  # its owner's alone
        opened = ran(command_of("owner-of", f"root:{name}@{node.address}", NOBODY), code=None)
        assert int(opened.stdout) == errno.EACCES
    Region.remove(name)
    subprocess.run(command_of("make", f"{name}@{node.address}", NOBODY), check=True)
    with Region.open(f"nobody:{name}") as theirs:
        assert theirs.facts().owner == NOBODY
    with pytest.raises(PermissionError):
        Region.create(f"nobody:{name}@{node.address}")
    Region.remove(f"nobody:{name}@{node.address}")


def hand_shake(address: str, credential: str | None = None, version: int = 1) -> tuple[int, bytes]:
    """Say what a process says; the status of the welcome, and the agent's number."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        whole = connection.makefile("rb")
        connection.sendall(struct.pack("=II16s", 0x52414653, version, secrets.token_bytes(16)))
        proof = whole.read(4096 + 16 + 160)
        if not proof:
            return errno.ENOTSUP, b""
        number = proof[4096:4112]
        about = f"ses-share 1 process {number.hex()} at {host} {port}"
        made = (
            credential
            or ran(
                ["munge", f"--socket={os.environ['SES_MUNGE_SOCKET']}", f"--string={about}"]
            ).stdout.strip()
        )
        connection.sendall(made.encode().ljust(4096, b"\0") + bytes(16 + 160))
        return struct.unpack_from("=i", whole.read(8 + 16 + 160))[0], made.encode()


def test_credential_is_good_once_and_for_one_connection(node: Agent) -> None:
    status, shown = hand_shake(node.address)
    assert status != errno.EACCES, "the proof is good; there is no endpoint to talk to"
    assert hand_shake(node.address, shown.decode())[0] == errno.EACCES, "shown before"
    assert hand_shake(node.address, "MUNGE:nonsense:")[0] == errno.EACCES
    assert hand_shake(node.address, version=2)[0] == errno.ENOTSUP


def test_agent_of_another_user_is_not_believed(munged: Path, name: str) -> None:
    """Who listens there must be root, or the caller."""
    if os.geteuid() != 0:
        pytest.skip("takes another user's part: needs root")
    with agent(munged, user=NOBODY) as running:
        assert (
            ran(command_of("owner-of", f"{name}@{running.address}", NOBODY), code=None).stdout
            == f"{errno.ENOENT}\n"
        )
        made = ran(command_of("owner-of", f"{name}@{running.address}", NOBODY - 1), code=None)
        assert int(made.stdout) == errno.EACCES


def test_munged_with_another_key_proves_nobody(node: Agent, name: str) -> None:
    with running_munged("127.0.0.1") as (other,), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SES_MUNGE_SOCKET", str(other.socket))
        with pytest.raises(PermissionError):
            Region.create(f"{name}@{node.address}")


def test_sessions_of_one_user_are_bounded(munged: Path, name: str) -> None:
    with agent(munged, "--sessions", "8") as running:
        address = f"{name}@{running.address}"
        with Region.create(address), Region.open(address):
            with contextlib.suppress(OSError), Region.open(address) as third:
                wait_until(lambda: not is_alive(third), "the third is ended")
            with Region.open(name) as near:
                assert near.facts().opened <= 4
        Region.remove(name)


def test_sessions_that_ended_are_counted_no_more(munged: Path, name: str) -> None:
    """Also where who started the agent ignores the ends of children, as then it does."""
    ignoring = ("env", "--ignore-signal=CHLD")

    def is_served() -> bool:
        with contextlib.suppress(OSError), Region.open(address):
            return True
        return False

    with agent(munged, "--sessions", "8", inside=ignoring) as running:
        address = f"{name}@{running.address}"
        with Region.create(name):
            for _ in range(10):
                wait_until(is_served, "no place is free", 10)
        Region.remove(name)


def silent(address: str, source: str) -> socket.socket:
    """A connection from this address of the machine that will prove nothing."""
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE, source_address=(source, 0))


def test_who_proves_nothing_keeps_nobody_out(munged: Path, name: str) -> None:
    """More than all places are taken by somebody who says nothing, and are taken again."""
    with agent(munged, "--sessions", "8") as running, contextlib.ExitStack() as held:
        strangers = [held.enter_context(silent(running.address, "127.0.0.2")) for _ in range(24)]
        address = f"{name}@{running.address}"
        with Region.create(address) as region:
            strangers += [held.enter_context(silent(running.address, "127.0.0.2")) for _ in range(24)]
            wait_until(
                lambda: sum(is_open(connection) for connection in strangers) <= 8, "there are no more than 8"
            )
            assert is_alive(region), "who is proven gives way to nobody"
            with Region.open(address):
                pass
        Region.remove(name)


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not ended it."""
    try:
        return connection.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def is_alive(region: Region) -> bool:
    try:
        region.facts()
    except OSError:
        return False
    return True


def ports_of(process: int) -> set[int]:
    """The TCP ports where a process listens."""
    sockets = set()
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(str(path.readlink()))
    rows = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]]
    listening = "0A"
    return {
        int(row[1].partition(":")[2], 16)
        for row in rows
        if row[3] == listening and f"socket:[{row[9]}]" in sockets
    }


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that sends to any endpoint of libfabric."""
    program = tmp_path_factory.mktemp("stranger") / "stranger"
    libses, built = ROOT / "libses", BUILD / "extras/net/libses_net.a"
    extras = libses / "extras"
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program]
    command += ["-I", libses, "-I", extras, "-I", extras / "include", "-I", extras / "share"]
    command += [Path(__file__).with_name("stranger.c"), extras / "share/remote/fabric.c", built, "-ldl"]
    subprocess.run(command, check=True)
    return program


def test_messages_of_strangers_end_no_session(munged: Path, name: str, stranger: Path) -> None:
    """Whoever reaches the endpoints may send, to either side: what is too long, and what is too short."""
    with agent(munged) as running:
        own = ports_of(os.getpid())
        with Region.create(f"{name}@{running.address}") as region:
            item = region.alloc("item", 64)
            children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
            (session,) = map(int, children.read_text().split())
            near, far = ports_of(os.getpid()) - own, ports_of(session)
            assert near
            assert far
            for port, size in itertools.product(near | far, ("3", "6000", "40000")):
                sending = subprocess.Popen([stranger, str(port), size])
                for number in itertools.count():
                    item.put(struct.pack("=q", number))
                    assert item.get().data == struct.pack("=q", number)
                    if sending.poll() is not None:
                        break
                assert sending.returncode == 0
            item.put(b"still")
            assert item.get().data == b"still"
        Region.remove(name)


def test_end_of_the_agent_is_an_error(munged: Path, name: str) -> None:
    with agent(munged) as running, Region.create(f"{name}@{running.address}") as region:
        item = region.alloc("item", 64)
        item.put(b"1")
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
        with refused(errno.EHOSTDOWN):
            for _ in iter(item.get, None):
                time.sleep(0.01)
        with refused(errno.EHOSTDOWN):
            item.put(b"2")
    Region.remove(name)


def test_nobody_listens(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with refused(errno.EHOSTUNREACH):
            Region.open(f"{name}@127.0.0.1:{free.getsockname()[1]}")
    for wrong in (f"{name}@", f"{name}@:1", f"{name}@[::1", f"/{name}@127.0.0.1:1"):
        with pytest.raises(OSError, match="Errno"):
            Region.open(wrong)


def test_without_libfabric_the_own_node_is_as_before(node: Agent, name: str, tmp_path: Path) -> None:
    subprocess.run(["gcc", "-shared", "-o", tmp_path / "libfabric.so.1", "-x", "c", "/dev/null"], check=True)
    without = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    opened = {
        where: ran(command_of("owner-of", name + where), code=None, env=without).stdout.strip()
        for where in ("", f"@{node.address}")
    }
    assert opened == {"": str(errno.ENOENT), f"@{node.address}": str(errno.ENOTSUP)}


# ------------------------------------------------------------- a network that breaks


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def apart(munged: Path) -> Iterator[tuple[Agent, str]]:
    """An agent in a network of its own, and the link to it, in another one that the test is in meanwhile.

    The network of the machine stays as it is: browsers break off their requests when it changes.
    """
    if os.geteuid() != 0:
        pytest.skip("makes network namespaces: needs root")
    mark = secrets.token_hex(3)
    space, link = f"ses-remote-{mark}", f"sf{mark}"
    first = secrets.randbelow(60) * 4 + 1  # of a net of two addresses that nobody else uses
    subnet = f"198.{18 + secrets.randbelow(2)}.{secrets.randbelow(256)}"  # of tests, and of no real network
    own, theirs = f"{subnet}.{first}", f"{subnet}.{first + 1}"
    machine = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    ip("netns", "add", space)
    try:
        assert LIBC.unshare(CLONE_NEWNET) == 0
        ip("link", "set", "lo", "up")
        ip("link", "add", link, "type", "veth", "peer", "name", "inner", "netns", space)
        ip("addr", "add", f"{own}/30", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", space, "addr", "add", f"{theirs}/30", "dev", "inner")
        ip("-n", space, "link", "set", "inner", "up")
        inside = ("ip", "netns", "exec", space)
        with agent(munged, host=theirs, inside=inside) as running:
            yield running, link
    finally:
        assert LIBC.setns(machine, CLONE_NEWNET) == 0
        os.close(machine)
        subprocess.run(["ip", "netns", "del", space], capture_output=True)


def test_node_that_falls_silent_is_an_error_and_its_lock_is_taken_over(
    apart: tuple[Agent, str], name: str
) -> None:
    """The cable is pulled while the lock is held: both sides notice, and neither waits without end."""
    running, link = apart
    with Region.create(f"{name}@{running.address}") as region, Region.open(name) as near:
        item = region.alloc("item", 64, Model.STRICT)
        item.put(b"1")
        with contextlib.suppress(OSError), item.lock():
            ip("link", "set", link, "down")
            with pytest.raises(OSError, match="Errno"):
                item.get()
            with refused(errno.EHOSTDOWN):
                item.get()
        near.patience(PATIENCE)
        with near.find("item").lock() as after_dead:
            assert after_dead
            assert value_of(near.find("item").get()) == b"1"
    Region.remove(name)
