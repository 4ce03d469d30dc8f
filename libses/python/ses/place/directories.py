"""What directories are like now: where they are, whether one may write there, how much is free.

Another process looks at them, since a mount whose server is away holds its caller for ever, and would hold
the end of a process, too: that one is left behind, and nobody waits for it.  It keeps nothing of the caller's
open.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import stat
import time
import warnings
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from ses_client.devices import device_of, file_system_of
from ses_client.messages.message import Message
from ses_client.mounts import MOUNTINFO, Mount, mount_of, parse_mounts

PATIENCE = 2.0  # seconds until a directory counts as hanging
_LEFT_OUT = 30.0  # seconds until such a one is looked at again
_SOON = 0.05  # seconds until the rest is looked at all at once
_STARTS = 5  # times as long may a process take to begin: that of a large one on a busy machine
_MAX_ENTRIES = 1000  # of a claimed directory; one with more is not added up
_RESULT = 3  # the descriptor by which a process answers
_one_at_a_time = allocate_lock()
_left_behind: list[tuple[int, bool]] = []  # a process, and whether it hangs


class Directory(Message):
    """A directory as it was given, and what was seen.  ``reason`` says why it is left out, if it is.

    ``path`` has no links in it, ``identity`` distinguishes the directory, and ``mount`` is the number of
    its mount.  ``file_system`` names what has the free space and ``device`` what has the load.  ``held`` are
    the bytes in claimed directories below it, where they were added up.
    """

    given: str
    reason: str = ""
    path: str = ""
    identity: str = ""
    file_system: str = ""
    device: str = ""
    size: int = 0
    free: int = 0
    held: Mapping[str, int] = MappingProxyType({})
    mount: str = ""
    read_only: bool = False


class Looks:
    """Looks at directories, again and again: seldom at one that hangs, else after ``fresh`` seconds."""

    def __init__(self, given: Sequence[str], fresh: float = 0.0) -> None:
        self._fresh = fresh
        self._due = dict.fromkeys(given, 0.0)
        self._seen: dict[str, Directory] = {}

    def now(
        self, claimed: Sequence[str] = (), meanwhile: Callable[[], object] = lambda: None
    ) -> list[Directory]:
        """Return what each directory is like, as :func:`look_at` does, or what it was like."""
        began = time.monotonic()
        due = [entry for entry, at in self._due.items() if at <= began]
        for seen in look_at(due, claimed, meanwhile) if due else ():
            hangs = not seen.path and time.monotonic() - began >= PATIENCE
            self._due[seen.given] = time.monotonic() + (_LEFT_OUT if hangs else self._fresh)
            self._seen[seen.given] = seen
        return [self._seen[entry] for entry in self._due]


def look_at(
    given: Sequence[str],
    claimed: Sequence[str] = (),
    meanwhile: Callable[[], object] = lambda: None,
    patience: float = PATIENCE,
) -> list[Directory]:
    """Return what each directory is like; one that does not answer in time is left out with its reason.

    Calls ``meanwhile``.  The process that looked ends later: :func:`end_lookers` takes note of it.
    """
    end_lookers()
    answers: dict[str, dict[str, Any]] = {}
    pid, reading = _ask(given, claimed)
    began = time.monotonic()
    try:
        meanwhile()
        _take(reading, answers, set(given), patience)
    finally:
        os.close(reading)
        hangs = answers.keys() < set(given) or time.monotonic() - began >= _SOON
        if hangs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _left_behind.append((pid, hangs))
    late = f"it did not answer within {patience:g} s"
    return [Directory(**answers.get(entry, {"given": entry, "reason": late})) for entry in given]


def end_lookers() -> None:
    """Take note of processes that have looked and ended; one that hangs is left behind."""
    _left_behind[:] = [(pid, hangs) for pid, hangs in _left_behind if not _is_over(pid, hangs=hangs)]


def _take(reading: int, answers: dict[str, dict[str, Any]], given: set[str], patience: float) -> None:
    """Take the answers of a process, until it has said all, or time is up since it began to look."""
    waiting, said, until = select.poll(), b"", time.monotonic() + _STARTS * patience
    waiting.register(reading, select.POLLIN)
    while answers.keys() < given and waiting.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(reading, 1 << 16)
        if not part:
            break
        *lines, said = (said + part).split(b"\n")
        if lines and not lines[0]:  # it begins
            until = time.monotonic() + patience
        answers |= {answer["given"]: answer for answer in map(json.loads, filter(None, lines))}


def _is_over(pid: int, *, hangs: bool) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG if hangs else 0)[0] == pid
    except ChildProcessError:  # the caller has children end unseen
        return True


def _ask(given: Sequence[str], claimed: Sequence[str]) -> tuple[int, int]:
    """Start a process that looks at directories; return it, and where its answers come.

    It looks at one after the other, which is the fastest, and soon at the rest at once, since one may hang.
    """
    reading, writing = os.pipe()
    pid = _fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.dup2(writing, _RESULT)
        close_all_from(_RESULT + 1)
        os.write(_RESULT, b"\n")
        mounts = {mount.number: mount for mount in parse_mounts(MOUNTINFO.read_bytes())}
        rest = dict.fromkeys(given)
        start_new_thread(_at_once, (rest, claimed, mounts))
        for name in list(rest):
            _answer(name, claimed, mounts)
            del rest[name]
    finally:
        os._exit(0)


def _fork() -> int:
    """Fork; what the child has of others is never collected there.

    A finalizer may wait for a lock that a thread of the caller held: a connection to SQLite does that.
    """
    collects = gc.isenabled()
    gc.disable()
    pid = -1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: it takes no lock of theirs
            pid = os.fork()
    finally:
        if collects and pid:
            gc.enable()
    return pid


def _at_once(rest: Mapping[str, None], claimed: Sequence[str], mounts: Mapping[str, Mount]) -> None:
    time.sleep(_SOON)
    for name in list(rest):
        start_new_thread(_answer, (name, claimed, mounts))


def _answer(given: str, claimed: Sequence[str], mounts: Mapping[str, Mount]) -> None:
    line = json.dumps({"given": given, **_seen(given, claimed, mounts)}).encode() + b"\n"
    with _one_at_a_time:
        os.write(_RESULT, line)


def close_all_from(first: int) -> None:
    """Close what a caller has open from a descriptor on: who reads its output waits for no child."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _seen(given: str, claimed: Sequence[str], mounts: Mapping[str, Mount]) -> dict[str, Any]:
    try:
        here = os.open(given, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        status, space = os.fstat(here), os.fstatvfs(here)
    except OSError as error:
        return {"reason": f"it cannot be looked at: {error.strerror}"}
    entry = f"/proc/self/fd/{here}"
    path = os.readlink(entry)  # noqa: PTH115  # what pathlib loads at first takes longer than all of this
    below = [item for item in claimed if item.startswith(f"{path.rstrip('/')}/")]
    number = mount_of(here)
    mount = mounts.get(number)
    file_system = file_system_of(mount, status.st_dev)
    reason = ""
    if space.f_flag & os.ST_RDONLY:
        reason = "it is mounted read-only"
    elif not os.access(entry, os.W_OK | os.X_OK, effective_ids=True):
        reason = "you may not write there"
    elif space.f_files and not space.f_favail:
        reason = "it has no inodes left"
    return {
        "reason": reason,
        "path": path,
        "read_only": bool(space.f_flag & os.ST_RDONLY),
        "mount": number,
        "identity": identity_of(status),
        "file_system": file_system,
        "device": device_of(mount, file_system),
        "size": space.f_blocks * space.f_frsize,
        "free": space.f_bavail * space.f_frsize,
        "held": {item: held for item in below if (held := _held(item, status.st_dev)) is not None},
    }


def identity_of(status: os.stat_result) -> str:
    """Return what distinguishes a directory from others."""
    return f"{status.st_dev}:{status.st_ino}"


def held_in(directory: str) -> int | None:
    """Return the bytes below a directory, as far as they are few files."""
    with suppress(OSError):
        return _held(directory, os.lstat(directory).st_dev)
    return None


def _held(directory: str, device: int) -> int | None:
    """Return the bytes below a directory; ``None`` where they are many files, or one may not look."""
    left, total, waiting = _MAX_ENTRIES, 0, [directory]
    try:
        top = os.lstat(directory)
        if not stat.S_ISDIR(top.st_mode) or top.st_dev != device:
            return None
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return None
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                        waiting.append(entry.path)
    except OSError:
        return None
    return total
