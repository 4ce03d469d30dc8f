"""Runs one program on the node it was sent to, for someone elsewhere.  Needs Python 3.8, and nothing else.

Its text is given to ``python3 -c`` there, so that nothing has to be installed: see
:func:`ses.near.execution.executors.bootstrap`.  Standard input and output carry frames
(:mod:`ses.near.execution.frames`).  When the other side goes away the program gets SIGHUP, and SIGKILL 5 s
later.  The program is refused before it starts if it would not be the same run as elsewhere: another user, no
such directory, a file that differs.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

HEAD = struct.Struct("!cI")
PIECE = 1 << 18
KILL_SECONDS = 5.0
OF_THIS_NODE = ("SLURM", "SLURMD", "SRUN", "SSH", "PMI", "PMIX", "XDG_RUNTIME_DIR", "XDG_SESSION_ID")
LIST_CONTROLS = """while IFS=: read -r _ names path; do
  case $path in */run-*.scope) ls "/sys/fs/cgroup/$names$path" ;; esac
done </proc/self/cgroup"""
CONTROLS = {
    "processors": {"cpu.max", "cpu.cfs_quota_us"},
    "memory": {"memory.max", "memory.limit_in_bytes"},
    "I/O": {"io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight"},
}
told = threading.Lock()
if TYPE_CHECKING:
    Parts = queue.SimpleQueue[bytes | None]


class Refused(Exception):
    """The program cannot run here as it would elsewhere."""


def tell(kind: bytes, data: bytes = b"") -> None:
    """Send a frame; raises OSError when nobody is there any more."""
    with told:
        view = memoryview(HEAD.pack(kind, len(data)) + data)
        while view:
            view = view[os.write(1, view) :]


def exactly(count: int) -> bytes:
    """Return that many bytes of standard input; fewer: it ended."""
    found = b""
    while len(found) < count:
        more = os.read(0, count - len(found))
        if not more:
            break
        found += more
    return found


def heard() -> tuple[bytes, bytes]:
    """Return the next frame; of no kind: nobody is there any more."""
    head = exactly(HEAD.size)
    if len(head) < HEAD.size:
        return b"", b""
    kind, length = HEAD.unpack(head)
    return kind, exactly(length)


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


def limited(argv: list[str], limits: dict[str, Any], executor: str) -> tuple[list[str], Any, str]:
    """Return the command under its limits, what the child does before it, and how they are kept in words."""
    cpus, memory, weight = limits["cpus"], limits["memory"], limits["io_weight"]
    asked = [name for name, value in (("processors", cpus), ("memory", memory), ("I/O", weight)) if value]
    if not asked:
        return argv, None, ""
    if executor == "slurm":
        return argv, None, "limits kept by Slurm" + ("; I/O is not limited" if weight else "")
    scope, kept = scope_of(cpus, memory, weight)
    left = [one for one in asked if one not in kept]
    others = {"processors": "whole processors", "memory": "the address space of each process"}
    if "I/O" in left and shutil.which("ionice"):
        others["I/O"] = "the class of I/O"
        argv = ["ionice", "-c", "2", "-n", "7" if weight < 50 else "4" if weight <= 100 else "0", *argv]

    def child() -> None:
        if "memory" in left:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if "processors" in left:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: max(1, -int(-cpus // 1))])

    by_group = f"a control group limits {', '.join(one for one in asked if one in kept)}" if kept else ""
    by_hand = ", ".join(others[one] for one in left if one in others) or "nothing"
    by_hand = f"no control group limits {', '.join(left)}; limited in their place: {by_hand}" if left else ""
    return [*scope, *argv], child if left else None, "; ".join(one for one in (by_group, by_hand) if one)


def scope_of(cpus: Any, memory: Any, weight: Any) -> tuple[list[str], set[str]]:
    """Return what runs a command in a control group of its own by systemd, and what that limits there.

    A user's systemd accepts limits of which the administrator has delegated no controller, so they are looked
    for.
    """
    if not Path("/run/systemd/system").is_dir() or not shutil.which("systemd-run"):
        return [], set()
    scope = ["systemd-run", "--scope", "--quiet", *([] if os.getuid() == 0 else ["--user"])]
    scope += ["-p", f"CPUQuota={round(cpus * 100)}%"] if cpus else []
    scope += ["-p", f"MemoryMax={memory}"] if memory else []
    scope += ["-p", f"IOWeight={weight}"] if weight else []
    looking = [*scope, "--", "sh", "-c", LIST_CONTROLS]
    done = subprocess.run(looking, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if "cgroup.procs" not in done.stdout:
        return [], set()
    found = set(done.stdout.split())
    return [*scope, "--"], {name for name, controls in CONTROLS.items() if found & controls}


def line_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of a line, in parts: it may be long."""
    while part := file.readline(PIECE):
        yield part
        if part.endswith(b"\n"):
            return


def piece_of(piece: dict[str, Any]) -> Iterator[bytes]:
    """Yield the bytes of the lines that begin within [start, end) of a file."""
    with Path(piece["path"]).open("rb") as file:
        position = piece["start"]
        if position:
            file.seek(position - 1)
            position += sum(len(part) for part in line_of(file)) - 1
        while position < piece["end"]:
            data = file.read(min(PIECE, piece["end"] - position))
            if not data:
                return
            position += len(data)
            yield data
            if position >= piece["end"] and not data.endswith(b"\n"):
                yield from line_of(file)


def feed(pipe: IO[bytes], source: Iterator[bytes]) -> None:
    """Write what comes to a pipe until its reader wants no more, and close it."""
    with contextlib.suppress(OSError):
        for data in source:
            pipe.write(data)
    with contextlib.suppress(OSError):
        pipe.close()
    for _ in source:
        pass


def passed_on(waiting: Parts) -> Iterator[bytes]:
    """Yield what arrives as standard input, and tell that each part was taken, so that more is sent."""
    while (data := waiting.get()) is not None:
        with contextlib.suppress(OSError):
            tell(b"A")
        yield data


def listen(process: subprocess.Popen[bytes], waiting: Parts) -> None:
    """Pass on input and signals until the other side ends, and then end the program."""
    while True:
        kind, data = heard()
        if kind == b"K":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, int(data))
        elif kind in (b"I", b"Z"):
            waiting.put(data if kind == b"I" else None)
        else:
            break
    end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started."""
    for number in (signal.SIGHUP, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(KILL_SECONDS)


def run(request: dict[str, Any]) -> None:
    """Do what a request says; raises Refused before anything is started."""
    check(request)
    argv, child, limits = limited(request["argv"], request["limits"], request["executor"])
    env = environment(request["environment"])
    if shutil.which(request["argv"][0], path=env.get("PATH")) is None:
        raise Refused(f"{request['argv'][0]}: no such program there")
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
            bufsize=0, start_new_session=True, preexec_fn=child,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(f"{argv[0]}: {error}") from None
    tell(b"G", json.dumps({"limits": limits, "cores": cores(), "memory": memory()}).encode())
    assert process.stdin is not None
    waiting: Parts = queue.SimpleQueue()
    source = piece_of(request["piece"]) if request["piece"] else passed_on(waiting)
    threading.Thread(target=feed, args=(process.stdin, source), daemon=True).start()
    if request["attended"]:
        listener = threading.Thread(target=listen, args=(process, waiting), daemon=True)
        listener.start()
    else:
        waiting.put(None)
        signal.signal(signal.SIGTERM, lambda *_: end(process))
    try:
        report(process, started)
    except OSError:  # nobody is there any more, or there is no room for what it says
        if request["attended"]:
            listener.join()
        else:
            end(process)
            raise


def report(process: subprocess.Popen[bytes], started: float) -> None:
    """Send the program's output as it comes, and how it ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    streams = {process.stdout.fileno(): b"O", process.stderr.fileno(): b"E"}
    poll = select.poll()
    for one in streams:
        poll.register(one, select.POLLIN)
    while streams:
        for one, _ in poll.poll():
            data = os.read(one, PIECE)
            if data:
                tell(streams[one], data)
            else:
                poll.unregister(one)
                del streams[one]
    status = process.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = {
        "status": status, "seconds": time.monotonic() - started,
        "cpu_seconds": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024,
    }  # fmt: skip
    tell(b"X", json.dumps(ended).encode())


def own_controls(controller: str, control: str, *older: str) -> Iterator[str]:
    """Yield what a control says of this process's control groups; ``older``: the same in cgroup v1."""
    for entry in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = entry.split(":", 2)
        with contextlib.suppress(OSError):
            if not names:
                yield Path(f"/sys/fs/cgroup{path}/{control}").read_text()
            elif controller in names.split(","):
                yield " ".join(Path(f"/sys/fs/cgroup/{names}{path}/{one}").read_text() for one in older)


def cores() -> float:
    """Return the processors the program may use: affinity, or the quota of its control group if less."""
    found = float(len(os.sched_getaffinity(0)))
    for said in own_controls("cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        with contextlib.suppress(ValueError):
            quota, period = map(float, said.split())
            found = min(found, quota / period if quota > 0 else found)
    return found


def memory() -> float:
    """Return the bytes of memory that programs may use: what is available, or the control group's if less."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    found = next(float(one.split()[1]) * 1024 for one in lines if one.startswith("MemAvailable:"))
    for most in own_controls("memory", "memory.max", "memory.limit_in_bytes"):
        with contextlib.suppress(ValueError):
            found = min(found, float(most))
    return found


def main() -> None:
    """Hear one request and do it."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    kind, data = heard()
    if kind != b"R":
        sys.exit("no request came")
    try:
        run(json.loads(data))
    except Refused as reason:
        tell(b"N", str(reason).encode())


if __name__ == "__main__":
    main()
    os._exit(0)  # threads may wait for input for ever
