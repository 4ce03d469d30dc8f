"""Runs programs on the node it was sent to, one after the other, for someone elsewhere.

Needs Python 3.8, and nothing else: its text and that of :mod:`ses.near.execution.limits` are given to
``python3 -c`` there, so that nothing has to be installed (:func:`ses.near.execution.executors.bootstrap`).
Few modules are imported, because starting it is what a short program waits for.  Standard input and output
carry frames (:mod:`ses.near.execution.frames`).  When the other side goes away the program gets SIGHUP, and
SIGKILL 5 s later.  A program is refused before it starts if it would not be the same run as elsewhere:
another user, no such directory, a file that differs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from ses.near.execution.limits import cores, limited, memory, runnable
from ses.near.execution.node_queue import NodeQueue, shares

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, Any, BinaryIO

    Parts = queue.SimpleQueue[bytes | None]
HEAD = struct.Struct("!cI")
PIECE = 1 << 18
KILL_SECONDS = 5.0
GATHER_SECONDS = 0.05
GATHER_BYTES = 1 << 16
OF_THIS_NODE = ("SLURM", "SLURMD", "SRUN", "SSH", "PMI", "PMIX", "XDG_RUNTIME_DIR", "XDG_SESSION_ID")
sending = threading.Lock()


class Refused(Exception):
    """The program cannot run here as it would elsewhere."""


def send_frame(kind: bytes, data: bytes = b"") -> None:
    """Send a frame; raises OSError when nobody is there any more."""
    with sending:
        view = memoryview(HEAD.pack(kind, len(data)) + data)
        while view:
            view = view[os.write(1, view) :]


def acknowledge() -> None:
    """Report that a signal arrived."""
    with contextlib.suppress(OSError):
        send_frame(b"S")


def exactly(count: int) -> bytes:
    """Return ``count`` bytes of standard input; fewer: it ended."""
    data = b""
    while len(data) < count:
        more = os.read(0, count - len(data))
        if not more:
            break
        data += more
    return data


def received() -> tuple[bytes, bytes]:
    """Return the next frame; of no kind: nobody is there any more."""
    head = exactly(HEAD.size)
    if len(head) < HEAD.size:
        return b"", b""
    kind, length = HEAD.unpack(head)
    return kind, exactly(length)


class Caller:
    """What the other side sends, received by a thread: programs to run, and what the one that runs gets.

    Without an audience (``attended`` is false in the request) a program is not ended with the other side.
    """

    def __init__(self) -> None:
        self._requests: Parts = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._input: Parts = queue.SimpleQueue()
        self._gone = self._queueing = False

    def listen(self) -> None:
        """Pass on what comes until the other side ends, and then end the program that runs."""
        while True:
            kind, data = received()
            if kind == b"R":
                self._requests.put(data)
            elif kind in (b"I", b"Z"):
                self._input.put(data if kind == b"I" else None)
            elif kind == b"K":
                self._signal(int(data))
                threading.Thread(target=acknowledge, daemon=True).start()  # it may wait, this one may not
            else:
                break
        self.leave()

    def leave(self) -> None:
        """End the program that runs, and let no other one begin: the other side is not there any more."""
        with self._lock:
            if self._queueing:
                os._exit(0)
            self._gone = True
            running = self._process
        if running is not None:
            end(running)
        self._requests.put(None)

    def request(self) -> Any:
        """Return the next program to run; ``None``: there are no more."""
        data = self._requests.get()
        return None if data is None else json.loads(data)

    def queues(self, whether: bool) -> None:
        """Tell whether the next program waits for its turn: until then nothing is to be ended."""
        with self._lock:
            if self._gone:
                os._exit(0)
            self._queueing = whether

    def started(self, process: subprocess.Popen[bytes], attended: bool) -> Parts:
        """Tell which program runs; returns where its input arrives."""
        with self._lock:
            self._input = queue.SimpleQueue()
            self._process = process if attended else None
            gone = self._gone
        if attended and gone:
            end(process)
        return self._input

    def ended(self) -> None:
        """Tell that no program runs: its number may be another's."""
        with self._lock:
            self._process = None

    def _signal(self, number: int) -> None:
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                os.killpg(self._process.pid, number)


def check(request: dict[str, Any]) -> None:
    """Raise Refused unless user, directory and files are those of the caller."""
    if os.getuid() != request["uid"]:
        raise Refused(f"you are uid {os.getuid()} there, and uid {request['uid']} here")
    try:
        os.chdir(request["directory"])
    except OSError as error:
        raise Refused(f"the directory {request['directory']}: {error.strerror}") from None
    for file in request["files"]:
        try:
            with Path(file["path"]).open("rb") as opened:
                status = os.fstat(opened.fileno())
        except OSError as error:
            raise Refused(f"{file['path']}: {error.strerror}") from None
        if status.st_size != file["size"] or status.st_mtime_ns // 10**9 != file["mtime"]:
            raise Refused(f"{file['path']} is another file there (size or time differs)")


def environment(theirs: dict[str, str]) -> dict[str, str]:
    """Return the caller's environment, with what belongs to this node as it is here."""

    def is_ours(name: str) -> bool:
        return name in OF_THIS_NODE or name.partition("_")[0] in OF_THIS_NODE

    mine = {name: value for name, value in os.environ.items() if is_ours(name)}
    return {**{name: value for name, value in theirs.items() if not is_ours(name)}, **mine}


def line_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of a line, in parts: it may be long."""
    while part := file.readline(PIECE):
        yield part
        if part.endswith(b"\n"):
            return


def piece_of(piece: dict[str, Any]) -> Iterator[bytes]:
    """Yield the bytes of the lines that begin within [start, end) of a file; raises OSError."""
    with Path(piece["path"]).open("rb") as file:
        position = piece["start"]
        if position:
            file.seek(position - 1)
            position += sum(len(part) for part in line_of(file)) - 1
        while position < piece["end"]:
            data = file.read(min(PIECE, piece["end"] - position))
            if not data:
                raise OSError("it has become shorter")
            position += len(data)
            yield data
            if position >= piece["end"] and not data.endswith(b"\n"):
                yield from line_of(file)


def feed(pipe: IO[bytes], source: Iterator[bytes], whole: bool, fail: Callable[[OSError], object]) -> None:
    """Write what comes to a pipe until its reader wants no more, and close it; ``whole``: let all come.

    ``fail`` is called before that if it does not all come: to the reader it must not look like all.
    """
    wanted = True
    try:
        for data in source:
            wanted = wanted and is_taken(pipe, data)
            if not (wanted or whole):
                break
    except OSError as error:
        fail(error)
    with contextlib.suppress(OSError):
        pipe.close()


def is_taken(pipe: IO[bytes], data: bytes) -> bool:
    """Write to a pipe; return whether its reader took it all."""
    view = memoryview(data)
    with contextlib.suppress(OSError):
        while view:
            view = view[pipe.write(view) :]
    return not view


def passed_on(waiting: Parts) -> Iterator[bytes]:
    """Yield what arrives as standard input, and report that each part was taken, so that more is sent."""
    while (data := waiting.get()) is not None:
        with contextlib.suppress(OSError):
            send_frame(b"A")
        yield data


def end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started."""
    for number in (signal.SIGHUP, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(KILL_SECONDS)


def run(request: dict[str, Any], caller: Caller) -> None:
    """Run the program of a request; raises Refused before anything is started."""
    check(request)
    env = environment(request["environment"])
    if not runnable(request["argv"][0], env.get("PATH", os.defpath)):
        raise Refused(f"{request['argv'][0]}: no such program there")
    queue = NodeQueue(env)
    try:
        waited = 0.0
        if request["at_once"]:
            caller.queues(True)
            asked = request["limits"]
            waited = queue.enter(*shares(request["at_once"], asked["cpus"], asked["memory"]))
            caller.queues(False)
        run_now(request, caller, env, waited)
    finally:
        queue.leave()


def run_now(request: dict[str, Any], caller: Caller, env: dict[str, str], waited: float) -> None:
    """Run the program of a request, which ``waited`` seconds for its turn; raises Refused."""
    argv, child, limits = limited(request["argv"], request["limits"], request["executor"])
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
            bufsize=0, start_new_session=True, preexec_fn=child,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(f"{argv[0]}: {error}") from None
    waiting = caller.started(process, request["attended"])
    begun = {
        "limits": limits, "cores": cores(), "memory": memory(), "process": process.pid,
        "waited_seconds": waited,
    }  # fmt: skip
    send_frame(b"G", json.dumps(begun).encode())
    assert process.stdin is not None
    piece, failures = request["piece"], []

    def fail(error: OSError) -> None:
        failures.append(f"{piece['path']} cannot be read to its end: {error.strerror or error}")
        end(process)

    fed = (process.stdin, piece_of(piece) if piece else passed_on(waiting), not piece, fail)
    threading.Thread(target=feed, args=fed, daemon=True).start()
    if not request["attended"]:
        waiting.put(None)
        signal.signal(signal.SIGTERM, lambda *_: end(process))
    try:
        report(process, started, failures)
    except OSError:  # nobody is there any more, or there is no room for its output
        end(process)
        raise
    finally:
        caller.ended()


class Gathered:
    """Output that is sent together, as each frame wakes all processes on its way.

    The first part goes at once, further ones when GATHER_SECONDS have passed since or GATHER_BYTES have come.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[bytes, bytes]] = []
        self._size = 0
        self._sent_at = 0.0

    def add(self, kind: bytes, data: bytes) -> None:
        """Keep a part to be sent as a frame of that kind."""
        self._parts.append((kind, data))
        self._size += len(data)
        if self._size >= GATHER_BYTES:
            self.send()

    def milliseconds(self) -> int | None:
        """Return when to call :meth:`send`; ``None``: there is nothing to send."""
        if not self._parts:
            return None
        return max(0, int(1000 * (self._sent_at + GATHER_SECONDS - time.monotonic())))

    def send(self) -> None:
        """Send all, in the order in which it came; raises OSError when nobody is there any more."""
        for kind, parts in itertools.groupby(self._parts, lambda part: part[0]):
            send_frame(kind, b"".join(part for _, part in parts))
        self._parts, self._size = [], 0
        self._sent_at = time.monotonic()


def report(process: subprocess.Popen[bytes], started: float, failures: list[str]) -> None:
    """Send the program's output as it comes, and how it ended, or why its input failed."""
    assert process.stdout is not None
    assert process.stderr is not None
    streams = {process.stdout.fileno(): b"O", process.stderr.fileno(): b"E"}
    poll = select.poll()
    for stream in streams:
        poll.register(stream, select.POLLIN)
    gathered = Gathered()
    while streams:
        for stream, _ in poll.poll(gathered.milliseconds()):
            data = os.read(stream, PIECE)
            if data:
                gathered.add(streams[stream], data)
            else:
                poll.unregister(stream)
                del streams[stream]
        if gathered.milliseconds() == 0:
            gathered.send()
    gathered.send()
    status, used = waited(process)
    if failures:
        send_frame(b"F", failures[0].encode("utf-8", "replace"))
        return
    ended = {
        "status": status, "seconds": time.monotonic() - started,
        "cpu_seconds": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024,
    }  # fmt: skip
    send_frame(b"X", json.dumps(ended).encode())


def waited(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    """Return the program's status, negative for a signal, and what it used."""
    try:
        _, status, used = os.wait4(process.pid, 0)
    except ChildProcessError:  # the thread that ended it has waited for it
        return process.wait(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return process.returncode, used


def main() -> None:
    """Run what is asked for until no more requests come."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    caller = Caller()

    def stop() -> None:
        """Say nothing more, end the program that runs, and end; by force where that takes too long."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        caller.leave()
        time.sleep(3 * KILL_SECONDS)
        os._exit(1)

    # From a caller that gave up before it knew that a program runs here.  The handler takes no lock.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop, daemon=True).start())
    send_frame(b"H", os.environ.get("SLURM_JOB_ID", "").encode())
    threading.Thread(target=caller.listen, daemon=True).start()
    while (request := caller.request()) is not None:
        try:
            run(request, caller)
        except Refused as reason:
            send_frame(b"N", str(reason).encode())


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # its output cannot be read any more
        sys.exit(str(error))
    os._exit(0)  # threads may wait for input for ever
