"""The caller's side of ``ses map-near --shuffle``: which node merges what, and where it gets it from."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ses_client.errors import SesError

from ses.near.execution.connection import LostError, NotStartedError
from ses.near.execution.conversation import Conversation, Ended
from ses.near.execution.executors import HERE as LOCAL
from ses.near.execution.executors import NO_LIMITS, imported, unpacked
from ses.near.execution.run import Run
from ses.near.keeping import Output
from ses.near.run_near import Wanted
from ses.near.shuffle.sorted_output import FAILED
from ses.near.tasks import HERE, Task

_HERE = "ses.near.shuffle"
_SORT_BYTES = 256 << 20
_START_SECONDS = 60.0
_LEAVE_SECONDS = 3.0


class MergeError(SesError):
    """The nodes could not bring together what they have."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted: lines by their ``field`` (0: the whole line), read by a ``reducer`` on each node.

    ``into``: the folder on the nodes that the output goes to; ``None``: it comes here.
    """

    field: int
    reducer: tuple[str, ...] | None = None
    into: str | None = None


@dataclass(slots=True)
class Sorted:
    """A task's sorted output on a node: its bytes, and keys that are evenly spread over them."""

    task: int
    size: int
    keys: list[bytes]


@dataclass(slots=True)
class Server:
    """What serves the sorted output of one node.  ``facts``: where; ``None``: ``error`` says why not."""

    node: str
    token: str
    done: threading.Event = field(default_factory=threading.Event)
    conversation: Conversation | None = None
    thread: threading.Thread | None = None
    stdin: int = -1
    facts: dict[str, Any] | None = None
    error: str = "it gave no answer"
    printed: bytearray = field(default_factory=bytearray)
    outputs: list[Sorted] = field(default_factory=list)


class Shuffle:
    """Sorts what tasks print, on the nodes where they run.  A context; methods may be called by any thread.

    ``sent``: bytes that nodes sent each other, known at its end.
    """

    def __init__(self, wanted: Wanted, order: Order) -> None:
        """Raises SesError where no certificate can be made."""
        self.sent = 0
        self._wanted, self._order = wanted, order
        self._certificate, self._key = _certificate()
        self._servers: dict[str, Server] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Shuffle:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        stopped = kind is not None and not issubclass(kind, Exception)
        for server in self._servers.values():
            os.close(server.stdin)
        for server in self._servers.values():
            if server.thread is not None:
                server.thread.join(_LEAVE_SECONDS if stopped else _START_SECONDS)
                if server.thread.is_alive() and server.conversation is not None:
                    server.conversation.leave()
            for line in bytes(server.printed).splitlines()[1:]:
                self.sent += json.loads(line)["sent"]

    def mapped(self, run: Run, task: Task, node: str) -> Run:
        """Return the run of a task with its output sorted on the node; raises NotStartedError."""
        server = self._server(node)
        assert server.facts is not None
        most = min(_SORT_BYTES, (run.limits.memory or _SORT_BYTES << 2) >> 2)
        words = (server.facts["folder"], str(task.number), str(self._order.field), f"{most >> 10}K")
        return replace(run, argv=(*_sorting(node), *words, *run.argv))

    def take(self, task: Task, node: str, kept: Output) -> None:
        """Keep what a task reported in the place of its output; raises LostError."""
        text = kept.out.taken()
        try:
            report = json.loads(text)
        except ValueError:
            report = {"failed": f"{self._wanted.argv[0]} was not run to its end"}
        if "failed" in report:
            raise LostError(report["failed"])
        keys = [bytes.fromhex(key) for key in report["keys"]]
        output = Sorted(task.number, report["size"], keys)
        with self._lock:
            self._servers[node].outputs.append(output)

    def merge(self, folder: Path, merged: Callable[[Output, int], object]) -> list[Ended]:
        """Merge on each node, and call ``merged`` with each output in order and the bytes of its lines.

        Raises MergeError.
        """
        with self._lock:
            servers = [server for _, server in sorted(self._servers.items()) if server.facts is not None]
        outputs = [output for server in servers for output in server.outputs]
        parts = [server for server in servers if server.node != HERE] or servers
        bounds = [b"", *divided(outputs, len(parts))]
        kept = [Output(folder) for _ in parts]
        ended: list[Ended | Exception | None] = [None] * len(parts)
        conversations: list[tuple[Conversation, int]] = []
        for number, server in enumerate(parts):
            upper = bounds[number + 1] if number + 1 < len(parts) else None
            config = self._merge_config(server, (number, len(parts)), (bounds[number], upper), servers)
            run = self._run(server.node, "merge")
            conversations.append((Conversation(run), _pipe_of(config)))

        def hold(number: int) -> None:
            conversation, stdin = conversations[number]
            try:
                ended[number] = conversation.hold(kept[number].out.write, kept[number].errors.write, stdin)
                kept[number].close()
            except (NotStartedError, LostError, OSError) as error:
                ended[number] = error

        threads = [threading.Thread(target=hold, args=(number,), daemon=True) for number in range(len(parts))]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except BaseException:
            for conversation, _ in conversations:
                conversation.end()
            raise
        return [
            _accepted(how, output, server.node, merged)
            for how, output, server in zip(ended, kept, parts, strict=True)
        ]

    def _merge_config(
        self,
        server: Server,
        place: tuple[int, int],
        keys: tuple[bytes, bytes | None],
        servers: Sequence[Server],
    ) -> dict[str, Any]:
        """Return what the merge of a server needs: its place among how many, and its first and next key."""
        assert server.facts is not None
        (part, parts), (lower, upper) = place, keys
        return {
            "certificate": self._certificate, "key": self._key, "folder": server.facts["folder"],
            "token": server.token, "node": server.node or "here", "field": self._order.field, "part": part,
            "parts": parts,
            "lower": lower.hex(), "upper": None if upper is None else upper.hex(),
            "reducer": self._order.reducer, "into": self._order.into,
            "sources": [
                {
                    "node": other.node or "the caller", "token": other.token, "port": other.facts["port"],
                    "addresses": other.facts["addresses"],
                    "tasks": sorted(output.task for output in other.outputs if output.size),
                }
                for other in servers if other.facts is not None
                if other is server or any(output.size for output in other.outputs)
            ],
        }  # fmt: skip

    def _run(self, node: str, *role: str) -> Run:
        here = node == HERE
        executor, rsh = (LOCAL, ()) if here else (self._wanted.executor_used, self._wanted.rsh)
        return Run((*_exchange(node), *role), node or "here", executor, limits=self._wanted.limits, rsh=rsh)

    def _server(self, node: str) -> Server:
        """Return the server of a node, started by the first who asks; raises NotStartedError."""
        with self._lock:
            server = self._servers.get(node)
            if server is None:
                server = self._servers[node] = Server(node, secrets.token_hex(16))
                config = {"certificate": self._certificate, "key": self._key, "token": server.token}
                reading, server.stdin = os.pipe()
                os.write(server.stdin, json.dumps(config).encode() + b"\n")
                server.thread = threading.Thread(target=self._attend, args=(server, reading), daemon=True)
                server.thread.start()
        if not server.done.wait(_START_SECONDS) or server.facts is None:
            raise NotStartedError(f"its output cannot be sorted there: {server.error}")
        return server

    def _attend(self, server: Server, stdin: int) -> None:
        errors = bytearray()

        def output(data: bytes) -> None:
            server.printed.extend(data)
            if server.facts is None and b"\n" in server.printed:
                server.facts = json.loads(server.printed.partition(b"\n")[0])
                server.done.set()

        try:
            run = self._run(server.node, "serve", server.node or "localhost")
            server.conversation = Conversation(replace(run, limits=NO_LIMITS))
            server.conversation.hold(output, errors.extend, stdin)
            server.error = errors.decode("utf-8", "replace").strip().rpartition("\n")[2] or server.error
        except SesError as error:
            server.error = str(error)
        finally:
            server.done.set()


def divided(outputs: Sequence[Sorted], parts: int) -> list[bytes]:
    """Return the keys at which ``parts`` parts of about the same size begin, but for the first."""
    weights = sorted(
        (key, output.size / len(output.keys)) for output in outputs for key in output.keys
    )  # fmt: skip
    total, before, bounds = sum(weight for _, weight in weights), 0.0, list[bytes]()
    for key, weight in weights:
        if len(bounds) + 1 < parts and before >= total * (len(bounds) + 1) / parts:
            bounds.append(key)
        before += weight
    return bounds + [weights[-1][0] + b"\xff" if weights else b""] * (parts - 1 - len(bounds))


def _accepted(
    how: Ended | Exception | None, output: Output, node: str, merged: Callable[[Output, int], object]
) -> Ended:
    if not isinstance(how, Ended):
        raise MergeError(f"{node or 'This node'} could not merge: {how}.")
    if how.status in (FAILED, -9):
        why = output.errors.taken().decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise MergeError(f"{node or 'This node'} could not merge: {why or 'it was ended'}.")
    merged(output, how.returned)
    return how


def _python(node: str, text: str) -> tuple[str, ...]:
    """Return the command that runs a text; Python looks for modules in its own library only."""
    return (
        sys.executable if node == HERE else "python3",
        "-IS",
        "-c",
        f"import base64,sys,types,zlib;{text}",
    )


def _sorting(node: str) -> tuple[str, ...]:
    return _python(node, f"exec({unpacked('sorted_output', _HERE)})")


def _exchange(node: str) -> tuple[str, ...]:
    return _python(node, f"{imported('sorted_output', _HERE)};exec({unpacked('exchange', _HERE)})")


def _pipe_of(config: dict[str, Any]) -> int:
    """Return where a line of JSON can be read.  It is left open: a thread of a conversation reads it."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(config).encode())

    threading.Thread(target=write, daemon=True).start()
    return reading


def _certificate() -> tuple[str, str]:
    """Return a certificate for this command alone, and its key; raises SesError."""
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-days", "30", "-subj", "/CN=ses-map-near", "-keyout", "/dev/stdout", "-out", "/dev/stdout"]
    try:
        made = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        raise SesError("--shuffle needs the command openssl here, which is not installed.") from None
    key, mark, certificate = made.stdout.partition("-----BEGIN CERTIFICATE-----")
    if made.returncode or not mark or "PRIVATE KEY" not in key:
        raise SesError(f"openssl made no certificate: {made.stderr.strip()[-200:]}")
    return mark + certificate, key
