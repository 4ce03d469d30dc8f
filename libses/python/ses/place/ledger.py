"""The file that holds the claims of a machine: of one user, or of a group that shares it.

A file of SQLite, with claims and samples as JSON.  Whatever is in it that ``ses place`` did not write is
refused and left as it is: where a group shares the file, others write it, so its tables are compared word by
word before anything is read, and each value is checked.  Commits go into a write-ahead log without waiting
for the disk: a failure of power may cost the claims of the last half minute, but not the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ses_client.devices import server_of
from ses_client.errors import NotFoundError, SesError, UsageError
from ses_client.messages.message import Message
from ses_client.mounts import MOUNTINFO, mount_of, mount_with

from ses.place.claims import Claim
from ses.place.samples import Sample

M = TypeVar("M", bound=Message)

_PATIENCE = 10.0  # seconds while others write
MAX_CLAIMS = 10_000  # with more it is none that ses place writes
_KEPT_SIZES, _MAX_SIZES = 31, 10_000  # of one label, as the service's history; of all
_END = 1e11  # seconds since the epoch; no claim is made later
_LARGEST = 2**62  # of any number
_LONG_LOG = 1 << 20  # bytes, of some 40 choices: it takes a fifth of a choice to read
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH)
_SHARED_BYTES = (0x40000002, 510)  # who has the file open has these locked (sqlite.org/fileformat.html)
# File systems of several machines whose mounts need not name a server.
_SHARED = ("beegfs", "ceph", "fuse.ceph-fuse", "fuse.glusterfs", "gfs2", "gpfs", "ocfs2")
_held_open: dict[tuple[int, int], int] = {}
_TABLES = {
    "claim": "CREATE TABLE claim (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)",
    "size": "CREATE TABLE size (id INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER, label TEXT, bytes)",
    "sample": "CREATE TABLE sample (device TEXT PRIMARY KEY, boot TEXT NOT NULL, text TEXT NOT NULL)",
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",  # as SQLite makes it
}


def own_file() -> Path:
    """Return where the claims of the caller are kept for this machine; a home may serve many."""
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError as error:
        raise UsageError("It is not known where your home is: set HOME, or name a --ledger.") from error
    return folder / "ses" / f"places-{os.uname().nodename.replace('/', '_')}.sqlite"


@contextmanager
def opened(named: Path | None, *, create: bool = True) -> Iterator[Ledger]:
    """Open the ledger a caller named, or the caller's own; raises NotFoundError where it is not to be made.

    Raises SesError.
    """
    file = named.absolute() if named else own_file()
    before = _prepared(file, own=named is None, create=create)
    try:
        connection = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        with closing(connection):
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = NORMAL")
            ledger = Ledger(connection, file, before)
            ledger.check_tables()
            ledger.keep_log()
            if not ledger.is_current():
                raise _cannot(file, "it was exchanged meanwhile")
            yield ledger
    except sqlite3.Error as error:
        raise _in_a_sentence(file, error) from error


class Ledger:
    """An open ledger; what is read and written between the two ends of ``transaction`` is one step."""

    def __init__(self, connection: sqlite3.Connection, file: Path, identity: tuple[int, int]) -> None:
        self._connection = connection
        self._identity = identity
        self._claims: dict[tuple[int, str], Claim] = {}  # as they were read last
        self.file = file

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let nobody else write meanwhile; nothing is written where an exception is raised.

        Raises SesError where the file cannot be written.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise _in_a_sentence(self.file, error) from error
            raise

    def check_tables(self) -> None:
        """Make the tables of an empty file; raises SesError where there are others."""
        if self._tables() == _TABLES:
            return
        with self.transaction():
            tables = self._tables()
            if not tables:
                for name in ("claim", "size", "sample"):
                    self._connection.execute(_TABLES[name])
            elif tables != _TABLES:
                raise self._damaged("it has other tables than ses place makes")

    def keep_log(self) -> None:
        """Have neither a commit nor a close wait for the disk; who finds a long log takes it in.

        Each process reads the log from its begin, and writes it anew where all of it was taken in before.
        """
        with suppress(
            sqlite3.OperationalError, OSError
        ):  # others are at it; without a log all wait, and are as safe
            (mode,) = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode == "wal":
                _stay_open(self.file, self._identity)
                if os.stat(f"{self.file}-wal").st_size > _LONG_LOG:  # noqa: PTH116
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _tables(self) -> dict[str, str]:
        query = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 10"
        return {str(name): str(sql) for name, sql in self._connection.execute(query)}

    def version(self) -> int:
        """Return a number that is another one as soon as another has written."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def is_current(self) -> bool:
        """Return whether the file is still there under its name."""
        try:
            return _regular(self.file) == self._identity
        except (OSError, SesError):
            return False

    def claims(self) -> list[Claim]:
        """Return all claims, the eldest first."""
        query = f"SELECT id, text FROM claim ORDER BY id LIMIT {MAX_CLAIMS + 1}"
        before, rows = self._claims, self._connection.execute(query).fetchall()
        if len(rows) > MAX_CLAIMS:
            raise self._damaged(f"it has more than {MAX_CLAIMS:,} claims")
        self._claims = {row: before.get(row) or self._claim(*row) for row in rows}
        return [*self._claims.values()]

    def _claim(self, number: int, text: str) -> Claim:
        claim = self._read(Claim, text).but(id=number)
        sound = all(
            path.startswith("/") and os.path.normpath(path) == path for path in (claim.path, claim.base)
        )
        sound = sound and claim.bytes >= 0 and claim.streams in (0, 1) and (claim.size or 0) >= 0
        sound = sound and 0 <= claim.user < 2**32 and 0 <= claim.made < _END and 0 <= claim.until < _END
        if not sound or not (claim.job or "0").isdecimal():
            raise self._damaged("a claim has values that ses place does not write")
        return claim

    def add(self, claim: Claim) -> Claim:
        """Write a claim down; return it with its number, which no other one has had."""
        added = self._connection.execute("INSERT INTO claim VALUES (NULL, ?)", (json.dumps(claim),))
        return claim.but(id=added.lastrowid)

    def remove(self, claim: Claim) -> bool:
        """Forget a claim; return whether it was there."""
        return self._connection.execute("DELETE FROM claim WHERE id = ?", (claim.id,)).rowcount > 0

    def end(self, claims: Iterable[Claim], held: Mapping[str, int]) -> None:
        """Forget claims, and note what was written into the directories that were made for them."""
        for claim in claims:
            size = None if claim.label is None else held.get(claim.path)
            if self.remove(claim) and size is not None:
                self._learn(claim.user, str(claim.label), size)

    def change(self, claim: Claim, **values: float | None) -> None:
        """Write down what a claim stands for by now, and until when."""
        change = "UPDATE claim SET text = json_patch(text, ?) WHERE id = ?"
        self._connection.execute(change, (json.dumps(values), claim.id))

    def _learn(self, user: int, label: str, size: int) -> None:
        self._connection.execute("INSERT INTO size VALUES (NULL, ?, ?, ?)", (user, label, size))
        self._connection.execute(f"DELETE FROM size WHERE id <= (SELECT max(id) FROM size) - {_MAX_SIZES}")

    def room(self, user: int, label: str) -> int | None:
        """Return a size that few directories like these exceed, by the rule of the service's history."""
        latest = f"SELECT bytes FROM size WHERE user = ? AND label = ? ORDER BY id DESC LIMIT {_KEPT_SIZES}"
        sizes = [size for (size,) in self._connection.execute(latest, (user, label))]
        if any(type(size) is not int or not 0 <= size < 2**62 for size in sizes):
            raise self._damaged("it has sizes that ses place does not write")
        return int(max(sizes) * (1 + 2 / len(sizes))) if sizes else None

    def samples(self, boot: str) -> dict[str, Sample]:
        """Return what was kept of each device since this start of the machine."""
        rows = self._connection.execute("SELECT device, text FROM sample WHERE boot = ? LIMIT 1000", (boot,))
        return {device: self._read(Sample, text) for device, text in rows}

    def keep(self, samples: Mapping[str, Sample], boot: str) -> None:
        """Keep the last sample of each device; those of another start of the machine go."""
        self._connection.execute("DELETE FROM sample WHERE boot <> ?", (boot,))
        rows = [(name, boot, json.dumps(entry)) for name, entry in samples.items() if entry.use is not None]
        self._connection.executemany("INSERT OR REPLACE INTO sample VALUES (?, ?, ?)", rows)

    def _read(self, kind: type[M], text: str) -> M:
        try:
            read = kind.of(json.loads(text))
            if all(abs(number) < _LARGEST for number in read.values() if isinstance(number, int)):
                return read
            why: object = "a number is too large"
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            why = error
        raise self._damaged(f"it has what ses place does not write: {why}")

    def _damaged(self, why: str) -> SesError:
        return _damage(self.file, why)


def _prepared(file: Path, *, own: bool, create: bool) -> tuple[int, int]:
    """Return which file it is, made if there was none, and if it is to be."""
    try:
        if create and own:
            file.parent.mkdir(0o700, parents=True, exist_ok=True)
        elif not create and not os.path.lexists(file):
            raise NotFoundError(f"There is no claim: nothing is claimed in {file}.")
        _check_folder(file.parent, own=own)
        if create and not os.path.lexists(file):
            if not own:
                _check_machine(file.parent)
            _make(file)
        return _regular(file)
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error


def _stay_open(file: Path, identity: tuple[int, int]) -> None:
    """Count as one who has the file open until the process ends.

    The last one to close it would take its log in, and wait for the disk thrice.  This descriptor is never
    closed: that would unlock what SQLite has locked.
    """
    if identity not in _held_open:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        _held_open[identity] = opened
        lock = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, *_SHARED_BYTES, 0)
        with suppress(OSError):
            fcntl.fcntl(opened, fcntl.F_OFD_SETLK, lock)


def _in_a_sentence(file: Path, error: sqlite3.Error) -> SesError:
    """Say in sentences what SQLite meets."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _BUSY:
        return SesError(
            f"{file} is being written by others for {_PATIENCE:g} s.",
            "Try again; see who has it open: fuser.",
        )
    return (_damage if code in _DAMAGED else _cannot)(file, str(error))


def _damage(file: Path, why: str) -> SesError:
    return SesError(
        f"{file} is no ledger of ses place, or is damaged ({why}). It was left as it is.",
        "Name another by --ledger, or move it away: the claims in it then count no more.",
    )


def _cannot(file: Path, why: str) -> SesError:
    return SesError(f"The ledger {file} cannot be used: {why}.", "Name one that you may write by --ledger.")


def _check_folder(folder: Path, *, own: bool) -> None:
    """Raise UsageError for a directory in which others could put files in the place of ours."""
    status = folder.stat()
    if status.st_mode & stat.S_IWOTH:
        raise UsageError(f"Anybody may write in {folder}: no ledger is kept there. Name another by --ledger.")
    if own and status.st_uid != os.geteuid():
        raise UsageError(f"{folder} is not yours: no ledger is kept there. Name one by --ledger.")


def _check_machine(folder: Path) -> None:
    """Raise UsageError for a directory that other machines have: processes and locks are those of one."""
    here = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mount = mount_with(mount_of(here), MOUNTINFO.read_bytes())
    finally:
        os.close(here)
    if mount is not None and (mount.type in _SHARED or server_of(mount.source)):
        raise UsageError(
            f"Other machines may have {folder} ({mount.source}): no ledger is kept there. "
            "Name one on a disk of this machine by --ledger."
        )


def _make(file: Path) -> None:
    """Make an empty file, unless there is one; the group's in a directory with the setgid bit."""
    with suppress(FileExistsError):
        made = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if file.parent.stat().st_mode & stat.S_ISGID:
                os.fchmod(made, 0o660)
        finally:
            os.close(made)


def _regular(file: Path) -> tuple[int, int]:
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise _cannot(file, "it is no file, or a link")
    return status.st_dev, status.st_ino
