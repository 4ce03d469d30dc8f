"""Files in a set of directories: each new one goes where ``ses place`` says, and is found again by its name.

A name is a path below the set, and may lie in any of the directories.  What is read is searched for in all of
them; the parents of a file are made where it goes.  A file is created in one step that no other creator of
the name comes between: it has the sticky bit until its creator has seen the name in no other directory, and
whoever sees another one first takes its own away.

A directory whose mount hangs is left out, and so are the names in it.  They can be created elsewhere
meanwhile; of several files of one name the one that was changed last counts.
"""

from __future__ import annotations

import errno
import io
import os
import random
import stat
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ses_client.errors import SesError

from ses.place.directories import Directory, Looks
from ses.place.sets import DirectorySet

if TYPE_CHECKING:
    from ses.api.prepared import Places

_FRESH = 1.0  # seconds until a directory is looked at again
_MAX_UNMADE = 5.0  # seconds for which a file may have the sticky bit: its creator died after that
_AWAY = (errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory of the set: where it is, and what it is like."""

    path: Path
    base: Path
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def being_made(self) -> bool:
        """Whether its creator has not looked yet whether it is the only one."""
        return stat.S_ISREG(self.status.st_mode) and bool(self.status.st_mode & stat.S_ISVTX)


class FileSet:
    """The files of a set of directories.  Threads may share it, and after a fork both processes may.

    Each method raises OSError as the call of that name in ``os`` does, with ENOSPC where no directory has
    room, and ValueError for a name that leads out of the set.
    """

    def __init__(self, directories: DirectorySet) -> None:
        self._set = directories
        self._begin()
        self._places: Places | None = None

    def open(
        self,
        name: str,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        size: int | str | None = None,
    ) -> IO[Any]:
        """Open a file as Python's ``open`` does; one that is created goes where ``size`` bytes fit.

        While a file that was created is open, its stream and its size are claimed.
        """
        raw = _Raw(self, _name(name), mode.replace("b", "").replace("t", ""), size)
        try:
            return _layers(raw, mode, buffering, encoding, errors, newline)
        except BaseException:
            raw.close()
            raise

    def find(self, name: str) -> Entry:
        """Return where a name is; of several files the one that was changed last."""
        return self._existing(_name(name))[0]

    def entries(self, name: str = "") -> dict[str, Entry]:
        """Return what is in a directory, of all directories of the set, by name."""
        merged: dict[str, Entry] = {}
        entries = self._existing(_name(name))
        for directory in [entry for entry in entries if entry.is_directory] or entries:
            for path in directory.path.iterdir():
                with suppress(FileNotFoundError):
                    entry = Entry(path, directory.base, _status(path))
                    merged[path.name] = min(entry, merged.get(path.name, entry), key=_order)
        return merged

    def remove(self, name: str) -> None:
        """Remove a file."""
        for entry in self._existing(_name(name)):
            entry.path.unlink()

    def rename(self, old: str, new: str) -> None:
        """Give a file or directory another name, in one step, in the directory of the set where it is.

        Raises OSError (EXDEV) for a directory whose files lie in several of them.
        """
        old, new = _name(old), _name(new)
        first, *copies = self._existing(old)
        if old == new:
            return
        there = self._all(new)
        if any(entry.is_directory != first.is_directory for entry in there):
            raise _failure(errno.EISDIR if there[0].is_directory else errno.ENOTDIR, new)
        if first.is_directory and copies:
            why = ": its files lie in several directories of the set, and no step moves them all."
            raise _failure(errno.EXDEV, old, f"{why} Move the files one by one, or copy and remove it")
        if first.is_directory and there:
            raise _failure(errno.EEXIST, new)
        self._make_parents(first.base, new)
        first.path.rename(first.base / new)
        for entry in (*copies, *(entry for entry in there if entry.base != first.base)):
            entry.path.unlink(missing_ok=True)

    def make_directory(self, name: str, *, exist_ok: bool = False) -> None:
        """Make a directory and its parents, in the first directory of the set that can be written."""
        name = _name(name)
        there = self._all(name)
        if there and not (exist_ok and there[0].is_directory):
            raise _failure(errno.EEXIST, name)
        if not there:
            base = next((base for base in self._bases() if os.access(base, os.W_OK)), self._bases()[0])
            self._make_parents(base, f"{name}/.")

    def remove_directory(self, name: str) -> None:
        """Remove a directory that is empty wherever it is."""
        if self.entries(name):
            raise _failure(errno.ENOTEMPTY, name)
        for entry in self._all(_name(name)):
            entry.path.rmdir()

    def descriptor(self, name: str, flags: int, size: int | str | None, claim: ExitStack) -> int:
        """Open the file that has the name, or create it; what is claimed ends with ``claim``."""
        creates, until = bool(flags & os.O_CREAT), time.monotonic() + _MAX_UNMADE
        while True:
            there, late = self._all(name), time.monotonic() > until
            if not there:
                if not creates:
                    raise _failure(errno.ENOENT, name, self._absent())
                made = self._create(name, flags, size, claim)
                if made is not None:
                    return made
            elif late or not (creates and there[0].being_made):
                if flags & os.O_EXCL:
                    raise _failure(errno.EEXIST, name)
                with suppress(FileNotFoundError):
                    return os.open(there[0].path, flags & ~os.O_CREAT | os.O_CLOEXEC)
            if late:
                raise _failure(errno.EBUSY, name, ": it comes and goes")
            time.sleep(random.uniform(0.001, 0.02))

    def _create(self, name: str, flags: int, size: int | str | None, claim: ExitStack) -> int | None:
        """Create a file; ``None`` where another creator of the name was seen."""
        with ExitStack() as while_made:
            base = self._choose(size, while_made)
            path = base / name
            self._make_parents(base, name)
            try:
                made = os.open(path, flags | os.O_EXCL | os.O_CLOEXEC, 0o666 | stat.S_ISVTX)
            except FileExistsError:
                return None
            alone = False
            try:
                alone = all(entry.base == base for entry in self._all(name))
                if alone:
                    with suppress(PermissionError):  # a file system without modes
                        os.fchmod(made, os.fstat(made).st_mode & 0o777)
            finally:
                if not alone:
                    path.unlink(missing_ok=True)
                    os.close(made)
            if alone:
                claim.enter_context(while_made.pop_all())
            return made if alone else None

    def _choose(self, size: int | str | None, claim: ExitStack) -> Path:
        from ses.api.places import place

        arguments = self._set.arguments()
        try:
            if "among" in arguments:
                directory = claim.enter_context(self._prepared(**arguments).place(size=size)).directory
            else:
                directory = claim.enter_context(place(**arguments, size=size)).directory
            return Path(os.path.realpath(directory))
        except SesError as error:
            from ses.place.request import NothingFitsError

            number = errno.ENOSPC if isinstance(error, NothingFitsError) else errno.EIO
            raise OSError(number, error.full_message) from error

    def _prepared(self, among: Sequence[str], **more: Any) -> Places:
        """Return what chooses from the directories; of equal ones it chooses the first."""
        if self._places is None:
            from ses.api.prepared import Places

            self._places = Places(random.sample(among, len(among)), **more)
        return self._places

    def _existing(self, name: str) -> list[Entry]:
        entries = self._all(name)
        if not entries:
            raise _failure(errno.ENOENT, name, self._absent())
        return entries

    def _all(self, name: str) -> list[Entry]:
        """Return each directory and file of a name: directories first, then what was changed last."""
        entries = []
        for base in self._bases():
            try:
                entries.append(Entry(base / name, base, _status(base / name)))
            except OSError as error:
                if error.errno not in (*_ABSENT, *_AWAY):
                    raise
        return sorted(entries, key=_order)

    def _make_parents(self, base: Path, name: str) -> None:
        """Make the directories above a name, each with the mode that it has elsewhere in the set."""
        for number, _ in enumerate(parts := name.split("/")[:-1], start=1):
            above = "/".join(parts[:number])
            there = self._all(above)
            if there and not there[0].is_directory:
                raise _failure(errno.ENOTDIR, above)
            if all(entry.base != base for entry in there):
                with suppress(FileExistsError):
                    (base / above).mkdir()
                    if there:
                        (base / above).chmod(stat.S_IMODE(there[0].status.st_mode))

    def _bases(self) -> list[Path]:
        bases = [Path(entry.path) for entry in self._looked_at() if entry.path]
        if not bases:
            raise OSError(errno.EIO, f"{self._set.name}: no directory of the set answers{self._absent()}")
        return bases

    def _absent(self) -> str:
        left_out = [entry for entry in self._looked_at() if not entry.path]
        return "".join(f"; not searched: {entry.given}: {entry.reason}" for entry in left_out)

    def _begin(self) -> None:
        self._looks = Looks(self._set.directories, _FRESH)
        self._lock, self._process = threading.Lock(), os.getpid()

    def _looked_at(self) -> list[Directory]:
        """Return what each directory is like; one that does not answer has no path."""
        if self._process != os.getpid():
            self._begin()  # a thread that is not here may be in the middle of a look
        with self._lock:
            return self._looks.now()


class _Raw(io.FileIO):
    """A file of a set; what was claimed for it ends when it is closed, by the process that opened it."""

    def __init__(self, files: FileSet, name: str, mode: str, size: int | str | None) -> None:
        self._claim, self._process = ExitStack(), os.getpid()
        super().__init__(name, mode, opener=lambda _, flags: files.descriptor(name, flags, size, self._claim))

    def close(self) -> None:
        try:
            super().close()
        finally:
            if os.getpid() == self._process:
                self._claim.close()


def _layers(
    raw: io.FileIO, mode: str, buffering: int, encoding: str | None, errors: str | None, newline: str | None
) -> IO[Any]:
    """Return what Python's ``open`` puts around a raw file."""
    if buffering == 0 and "b" in mode:
        return raw
    size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
    layer = io.BufferedRandom if "+" in mode else io.BufferedWriter if raw.writable() else io.BufferedReader
    buffered = layer(raw, size)
    if "b" in mode:
        return buffered
    return io.TextIOWrapper(buffered, encoding, errors, newline, line_buffering=buffering == 1)


def _name(name: str) -> str:
    """Return a name without empty parts.  Raises ValueError for one that leads out of the set."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise ValueError(f"{name!r} leads out of the set of directories.")
    return "/".join(parts)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        return path.lstat()  # a link that leads nowhere


def _order(entry: Entry) -> tuple[bool, int]:
    return not entry.is_directory, -entry.status.st_mtime_ns


def _failure(number: int, name: str, more: str = "") -> OSError:
    return OSError(number, f"{os.strerror(number)}{more}", name)
