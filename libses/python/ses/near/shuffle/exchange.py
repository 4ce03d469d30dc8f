"""Merges what ``ses map-near --shuffle`` has sorted on several nodes; runs on each of them.

Needs Python 3.8 and GNU sort, and nothing else: its text is sent with that of
:mod:`ses.near.shuffle.sorted_output`.  ``serve`` makes a folder for sorted output and gives other nodes
ranges of it, over TLS: both sides have the certificate that was made for this one command.  ``merge`` merges
one range of all nodes' folders, and lets a program read it.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from ses.near.shuffle.sorted_output import FAILED, Failed, in_bytes, key_of, sort

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, Any, BinaryIO

HEAD = struct.Struct("!I")
PIECE = 1 << 18
CONNECT_SECONDS = 5
FILES_AT_ONCE = 200
OTHER_FILES = 32  # that a server has open
FILES_OF_A_REQUEST = 8  # beside two of each sorted file that it reads
REMOVALS = 50
NO_CHECK_TIME = (
    0x200000  # X509_V_FLAG of OpenSSL: clocks of nodes differ, and it lives as long as the command
)


def start_of(file: BinaryIO, size: int, key: str | None, field: int) -> int:
    """Return where the lines begin whose key is not less than ``key`` (hexadecimal; ``None``: the end)."""
    if key is None:
        return size
    wanted, low, high = bytes.fromhex(key), 0, size
    while low < high:  # a line that begins in [low, high) is the answer, or high
        middle = (low + high) // 2
        file.seek(max(0, middle - 1))
        if middle:
            file.readline()
        begin = file.tell()
        if begin >= high or key_of(file.readline(), field) >= wanted:
            high = middle
        else:
            low = file.tell()
    file.seek(max(0, low - 1))  # low may lie within the line before
    if low:
        file.readline()
    return file.tell()


def range_of(path: Path, lower: str, upper: str | None, field: int) -> tuple[int, int]:
    """Return the bytes [start, end) of a sorted file whose keys lie within [lower, upper)."""
    size = path.stat().st_size
    with path.open("rb") as file:
        return start_of(file, size, lower, field), start_of(file, size, upper, field)


def copy_range(path: Path, start: int, end: int, to: IO[bytes]) -> None:
    """Copy a range to a pipe, as much as its reader wants.  Raises Failed."""
    with contextlib.suppress(BrokenPipeError), to, path.open("rb") as file:
        file.seek(start)
        while start < end:
            data = file.read(min(PIECE, end - start))
            if not data:
                raise Failed(f"{path} has become shorter")
            to.write(data)
            start += len(data)


class Merging:
    """Merges sorted streams: :meth:`pipe` for each, then :meth:`start`."""

    def __init__(self, field: int, folder: Path) -> None:
        self._field, self._folder = field, folder
        self._inputs: list[int] = []

    def pipe(self) -> IO[bytes]:
        """Return where one stream is written to."""
        reader, writer = os.pipe()
        self._inputs.append(reader)
        return os.fdopen(writer, "wb", 0)

    def start(self, output: int) -> subprocess.Popen[bytes]:
        """Start the merge into a descriptor."""
        options = ["-m", "-T", str(self._folder)]
        if len(self._inputs) > 2:
            options.append(f"--batch-size={len(self._inputs)}")
        command = sort(self._field, *options, *(f"/dev/fd/{number}" for number in self._inputs))
        process = subprocess.Popen(command, stdout=output, pass_fds=self._inputs, env=in_bytes())
        for number in self._inputs:
            os.close(number)
        return process


class Threads:
    """Calls, each in a thread.  ``failed``: why some were not done."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self._all: list[threading.Thread] = []

    def begin(self, call: Callable[..., object], *words: object) -> None:
        """Begin one."""

        def guarded() -> None:
            try:
                call(*words)
            except (Failed, OSError) as error:
                self.failed.append(str(error))

        self._all.append(threading.Thread(target=guarded, daemon=True))
        self._all[-1].start()

    def join(self) -> None:
        """Wait for all; raises Failed if one was not done."""
        for thread in self._all:
            thread.join()
        if self.failed:
            raise Failed("; ".join(self.failed))


def merged_here(request: dict[str, Any], folder: Path, to: IO[bytes]) -> None:
    """Write this node's lines of a range to a pipe, sorted, and close it.  Raises Failed."""
    field, name = request["field"], str(request["part"])
    at_once = files_at_once(request["parts"])
    with to:
        paths = [folder / str(task) for task in request["tasks"]]
        ranges = [(path, *range_of(path, request["lower"], request["upper"], field)) for path in paths]
        ranges = [(path, start, end) for path, start, end in ranges if start < end]
        while len(ranges) > at_once:
            name += "m"
            groups = [ranges[at : at + at_once] for at in range(0, len(ranges), at_once)]
            ranges = [
                merged_into(folder / f"{name}{number}", group, field, folder)
                for number, group in enumerate(groups)
            ]
        if not ranges:
            return
        end = merging_of(ranges, field, folder, to.fileno())
    end()


def merged_into(path: Path, ranges: list[tuple[Path, int, int]], field: int, folder: Path) -> Any:
    """Merge ranges of sorted files into one; returns the range that is all of it.  Raises Failed."""
    with path.open("wb") as file:
        merging_of(ranges, field, folder, file.fileno())()
    return path, 0, path.stat().st_size


def merging_of(
    ranges: list[tuple[Path, int, int]], field: int, folder: Path, output: int
) -> Callable[[], None]:
    """Begin to merge ranges of sorted files into a descriptor; returns what does it, and raises Failed."""
    merging = Merging(field, folder)
    copies = [(*part, merging.pipe()) for part in ranges]
    process = merging.start(output)

    def end() -> None:
        threads = Threads()
        for copy in copies:
            threads.begin(copy_range, *copy)
        if process.wait() not in (0, -signal.SIGPIPE):
            raise Failed("sort cannot merge")
        threads.join()

    return end


def files_at_once(parts: int) -> int:
    """Return how many sorted files one of ``parts`` requests may have open, which may come at once."""
    most = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - OTHER_FILES) // parts
    return max(2, min(FILES_AT_ONCE, (most - FILES_OF_A_REQUEST) // 2))


def allow_open_files() -> tuple[int, int]:
    """Let this process have as many files open as it may; returns the limits before."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    return before


def secured(config: dict[str, Any], server: bool, folder: Path) -> ssl.SSLContext:
    """Return TLS in which both sides prove that they have the one certificate of this command."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= NO_CHECK_TIME
    context.load_verify_locations(cadata=config["certificate"])
    descriptor, name = tempfile.mkstemp(dir=folder)  # ssl reads keys of files only
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(config["certificate"] + config["key"])
        context.load_cert_chain(name)
    finally:
        os.unlink(name)  # noqa: PTH108
    return context


def addresses(node: str) -> list[str]:
    """Return where others may reach this node, the likeliest first."""
    by_ssh = os.environ.get("SSH_CONNECTION", "").split()[2:3]
    own: list[str] = []
    with contextlib.suppress(OSError):
        own = [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    return list(dict.fromkeys([*by_ssh, node.rpartition("@")[2], *own, "127.0.0.1"]))


class Server:
    """Gives other nodes ranges of the folder.  ``sent``: bytes so far."""

    def __init__(self, config: dict[str, Any], folder: Path) -> None:
        self._token, self._folder = config["token"], folder
        self._context = secured(config, True, folder)
        dual = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual else socket.AF_INET
        self._listening = socket.create_server(("", 0), family=family, backlog=512, dualstack_ipv6=dual)
        self.port = self._listening.getsockname()[1]
        self.sent = 0
        self._counting = threading.Lock()

    def run(self) -> None:
        """Serve until the process ends."""
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # no more files may be open, perhaps: others end
                time.sleep(0.1)
                continue
            Threads().begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(CONNECT_SECONDS)
            with self._context.wrap_socket(connection, server_side=True) as peer:
                request = json.loads(frame_from(peer))
                if not hmac.compare_digest(request["token"], self._token):
                    return
                watched(peer)
                peer.sendall(HEAD.pack(0))
                reader, writer = os.pipe()
                threads = Threads()
                threads.begin(merged_here, request, self._folder, os.fdopen(writer, "wb", 0))
                with os.fdopen(reader, "rb", 0) as merged:
                    while data := merged.read(PIECE):
                        peer.sendall(HEAD.pack(len(data)) + data)
                        with self._counting:
                            self.sent += len(data)
                threads.join()
                peer.sendall(HEAD.pack(0))


def watched(peer: socket.socket) -> None:
    """Wait for a peer as long as it is there: one that died is noticed in a minute, as by ssh."""
    peer.settimeout(None)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 3)):
        peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def frame_from(peer: socket.socket) -> bytes:
    """Return the next frame of a connection; raises Failed when it ends before."""
    return exactly(peer, HEAD.unpack(exactly(peer, HEAD.size))[0])


def exactly(peer: socket.socket, count: int) -> bytes:
    """Return that many bytes; raises Failed when the connection ends before."""
    data = bytearray()
    while len(data) < count:
        more = peer.recv(min(PIECE, count - len(data)))
        if not more:
            raise Failed("the connection was lost")
        data += more
    return bytes(data)


def reached(source: dict[str, Any], context: ssl.SSLContext, request: bytes) -> ssl.SSLSocket:
    """Return a connection to a node on which it has taken the request; raises Failed."""
    why: object = "it has no address"
    for address in source["addresses"]:
        try:
            plain = socket.create_connection((address, source["port"]), CONNECT_SECONDS)
            peer = context.wrap_socket(plain)
            peer.sendall(HEAD.pack(len(request)) + request)
            frame_from(peer)
            watched(peer)
            return peer
        except (OSError, Failed) as error:
            why = f"{address}: {error}"
    raise Failed(f"{source['node']} cannot be reached, at last as {why}")


def fetch(peer: ssl.SSLSocket, node: str, to: IO[bytes]) -> None:
    """Pass on what a node sends; raises Failed if that is not all."""
    try:
        with peer, to:
            while data := frame_from(peer):
                with contextlib.suppress(BrokenPipeError):  # the reader may want no more
                    to.write(data)
    except (OSError, Failed) as error:
        raise Failed(f"{node}: {error}") from None


def merge() -> int:
    """Merge one range of all nodes, and return the status of the program that reads it.  Raises Failed."""
    before = allow_open_files()
    config = json.load(sys.stdin)
    folder = Path(config["folder"])
    context = secured(config, False, folder)
    merging = Merging(config["field"], folder)
    calls: list[tuple[Any, ...]] = []
    for source in config["sources"]:
        request = {name: config[name] for name in ("field", "lower", "upper", "part", "parts")}
        request["tasks"] = source["tasks"]
        if source["token"] == config["token"]:
            calls.append((merged_here, request, folder, merging.pipe()))
        else:
            text = json.dumps({**request, "token": source["token"]}).encode()
            calls.append((fetch, reached(source, context, text), source["node"], merging.pipe()))
    with written_to(config) as output:
        reducer = subprocess.Popen(
            config["reducer"] or ["cat"], stdin=subprocess.PIPE, stdout=output,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, before),
        )  # fmt: skip
        assert reducer.stdin is not None
        with reducer.stdin:
            process = merging.start(reducer.stdin.fileno())
        threads = Threads()
        for call in calls:
            threads.begin(*call)
        try:
            if process.wait() not in (0, -signal.SIGPIPE):
                raise Failed("sort cannot merge")
            threads.join()
        except Failed:
            reducer.kill()
            raise
        status = reducer.wait()
    return min(128 - status if status < 0 else status, FAILED - 1)


@contextlib.contextmanager
def written_to(config: dict[str, Any]) -> Iterator[Any]:
    """Where output goes: to the caller, or into a file of this node that is there once it is whole."""
    if config["into"] is None:
        yield None
        return
    path = Path(config["into"]) / f"part-{config['part']:05}"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("xb") as output:
            yield output
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    print(f"{config['node']}:{path}")


def serve(node: str) -> int:
    """Make a folder and serve it until standard input ends or a signal comes; nothing of it is left.

    Every node may ask at once, for a range of each file.
    """
    allow_open_files()

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    folder = Path(tempfile.mkdtemp(prefix="ses-shuffle-"))
    try:
        server = Server(json.loads(sys.stdin.readline()), folder)
        Threads().begin(server.run)
        facts = {"folder": str(folder), "port": server.port, "addresses": addresses(node)}
        print(json.dumps(facts), flush=True)
        sys.stdin.read()
        print(json.dumps({"sent": server.sent}), flush=True)
    finally:
        for _ in range(REMOVALS):  # a program that is ending may still add to it
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(serve(sys.argv[2]) if sys.argv[1] == "serve" else merge())
    except (Failed, OSError) as reason:
        sys.stderr.write(f"{reason}\n")
        sys.exit(FAILED)
