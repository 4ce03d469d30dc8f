"""The file that holds the claims of a machine: of one user, or of a group that shares it.

A file of SQLite.  Whatever is in it that ``ses place`` did not write is refused and left as it is: where a
group shares the file, others write it, so its tables are compared word by word before anything is read, and
each value is checked.  Commits go into a write-ahead log without waiting for the disk: a failure of power may
cost the claims of the last half minute, but not the file.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ses_client.errors import SesError, UsageError

from ses.place.claims import Claim, Holder
from ses.place.devices import Counters
from ses.place.samples import Learned, Load, Sample

Kinds = tuple[tuple[type, ...], ...]
_PATIENCE = 10.0  # seconds while others write
_MAX_CLAIMS = 10_000
_KEPT_SIZES, _MAX_SIZES = 31, 10_000  # of one label, as the service's history; of all
_END = 1e11  # seconds since the epoch; no claim is made later
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH)
_SHARED_BYTES = (0x40000002, 510)  # who has the file open has these locked (sqlite.org/fileformat.html)
_held_open: dict[tuple[int, int], int] = {}
_TABLES = {
    "claim": "CREATE TABLE claim (id INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, "
    "path BLOB NOT NULL, base BLOB NOT NULL, file_system TEXT NOT NULL, device TEXT NOT NULL, "
    "boot TEXT NOT NULL, bytes INTEGER NOT NULL, made REAL NOT NULL, until REAL NOT NULL, "
    "pid INTEGER, started INTEGER, namespace INTEGER, job TEXT, streams INTEGER NOT NULL, size INTEGER, "
    "asked TEXT NOT NULL, why TEXT NOT NULL)",
    "size": "CREATE TABLE size (id INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, "
    "label TEXT NOT NULL, bytes INTEGER NOT NULL)",
    "sample": "CREATE TABLE sample (device TEXT PRIMARY KEY, boot TEXT NOT NULL, at REAL NOT NULL, "
    "busy_ms INTEGER NOT NULL, queue_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, since REAL NOT NULL, "
    "busy REAL NOT NULL, queue REAL NOT NULL, moved REAL NOT NULL, own REAL NOT NULL, "
    "learned_bytes REAL NOT NULL, learned_seconds REAL NOT NULL)",
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
}
_NONE = type(None)
_OF_CLAIM: Kinds = (
    *((int,), (int,), (bytes,), (bytes,), (str,), (str,), (str,), (int,), (float,), (float,)),
    *((int, _NONE), (int, _NONE), (int, _NONE), (str, _NONE), (int,), (int, _NONE), (str,), (str,)),
)
_OF_SAMPLE: Kinds = ((str,), (str,), (float,), (int,), (int,), (int,), *((float,),) * 7)


def own_file() -> Path:
    """Return where the claims of the caller are kept for this machine; a home may serve many."""
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError as error:
        raise UsageError("It is not known where your home is: set HOME, or name a --ledger.") from error
    return folder / "ses" / f"places-{os.uname().nodename.replace('/', '_')}.sqlite"


@contextmanager
def opened(named: Path | None, *, create: bool = True) -> Iterator[Ledger | None]:
    """Open the ledger a caller named, or the caller's own; ``None`` where it is none yet and is not to be.

    Raises SesError.
    """
    file = named.absolute() if named else own_file()
    before = _prepared(file, own=named is None, create=create)
    if before is None:
        yield None
        return
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
            found = self._tables()
            if not found:
                for name, made in _TABLES.items():
                    if not name.startswith("sqlite_"):
                        self._connection.execute(made)
            elif found != _TABLES:
                raise self._damaged("it has other tables than ses place makes")

    def keep_log(self) -> None:
        """Have neither a commit nor a close wait for the disk."""
        with suppress(sqlite3.OperationalError):  # others are at it; without a log all wait, and are as safe
            (mode,) = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode == "wal":
                _stay_open(self.file, self._identity)

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
        rows = self._connection.execute(f"SELECT * FROM claim ORDER BY id LIMIT {_MAX_CLAIMS + 1}").fetchall()
        if len(rows) > _MAX_CLAIMS:
            raise self._damaged(f"it has more than {_MAX_CLAIMS:,} claims")
        return [self._claim(row) for row in rows]

    def _claim(self, row: tuple[Any, ...]) -> Claim:
        self._check(row, _OF_CLAIM)
        (
            id_,
            user,
            path,
            base,
            file_system,
            device,
            start,
            counted,
            made,
            until,
            *held,
            streams,
            size,
            asked,
            why,
        ) = row
        pid, started, namespace, job = held
        paths = [os.fsdecode(path), os.fsdecode(base)]
        sound = all(entry.startswith("/") and os.path.normpath(entry) == entry for entry in paths)
        sound = sound and counted >= 0 and 0 <= user < 2**32 and 0 <= made < _END and 0 <= until < _END
        sound = sound and streams in (0, 1) and (size is None or size >= 0)
        if not sound or not (job or "0").isdecimal():
            raise self._damaged("a claim has values that ses place does not write")
        holder = Holder(until, pid, started, namespace, job)
        return Claim(
            *(id_, user, paths[0], paths[1], file_system, device, start, counted, made, holder),
            *(streams, size, asked, why),
        )

    def add(self, claim: Claim) -> int:
        """Write a claim down; return its number, which no other one has had."""
        held = claim.holder
        row = (
            *(None, claim.user, os.fsencode(claim.path), os.fsencode(claim.base)),
            *(claim.file_system, claim.device, claim.boot, claim.bytes, claim.made),
            *(held.until, held.pid, held.started, held.namespace, held.job),
            *(claim.streams, claim.size, claim.asked, claim.why),
        )
        added = self._connection.execute(
            f"INSERT INTO claim VALUES ({','.join('?' * len(row))})", row
        ).lastrowid
        assert added is not None
        return added

    def remove(self, claims: Iterable[Claim]) -> None:
        """Forget claims."""
        self._connection.executemany("DELETE FROM claim WHERE id = ?", [(claim.id,) for claim in claims])

    def change(self, claim: Claim) -> None:
        """Write down what a claim stands for by now, and until when."""
        held = claim.holder
        self._connection.execute(
            "UPDATE claim SET bytes = ?, streams = ?, until = ?, pid = ?, job = ? WHERE id = ?",
            (claim.bytes, claim.streams, held.until, held.pid, held.job, claim.id),
        )

    def learn(self, user: int, label: str, size: int) -> None:
        """Note how much was written into a directory of this label in the end."""
        self._connection.execute("INSERT INTO size VALUES (NULL, ?, ?, ?)", (user, label, size))
        for query, values in (
            (
                "DELETE FROM size WHERE user = ? AND label = ? AND id NOT IN "
                "(SELECT id FROM size WHERE user = ? AND label = ? ORDER BY id DESC LIMIT ?)",
                (user, label, user, label, _KEPT_SIZES),
            ),
            ("DELETE FROM size WHERE id <= (SELECT max(id) FROM size) - ?", (_MAX_SIZES,)),
        ):
            self._connection.execute(query, values)

    def room(self, user: int, label: str) -> int | None:
        """Return a size that few directories like these exceed, by the rule of the service's history."""
        query = "SELECT bytes FROM size WHERE user = ? AND label = ? LIMIT ?"
        sizes = self._connection.execute(query, (user, label, _KEPT_SIZES)).fetchall()
        if any(type(entry) is not int or not 0 <= entry < 2**62 for (entry,) in sizes):
            raise self._damaged("it has sizes that ses place does not write")
        return int(max(sizes)[0] * (1 + 2 / len(sizes))) if sizes else None

    def samples(self, boot: str) -> dict[str, Sample]:
        """Return what was kept of each device since this start of the machine."""
        found = {}
        for row in self._connection.execute("SELECT * FROM sample WHERE boot = ? LIMIT 1000", (boot,)):
            self._check(row, _OF_SAMPLE)
            device, _, at, busy_ms, queue_ms, moved, *load, learned, seconds = row
            counted = Counters(busy_ms, queue_ms, moved)
            found[device] = Sample(at, counted, Load(*load), Learned(learned, seconds))
        return found

    def keep(self, samples: Mapping[str, Sample], boot: str) -> None:
        """Keep the last sample of each device; those of another start of the machine go."""
        self._connection.execute("DELETE FROM sample WHERE boot <> ?", (boot,))
        rows = [
            (
                *(name, boot, entry.at, counted.busy_ms, counted.queue_ms, counted.moved),
                *(entry.load.since, entry.load.busy, entry.load.queue, entry.load.moved, entry.load.own),
                *(entry.learned.moved, entry.learned.seconds),
            )
            for name, entry in samples.items()
            if entry.load
            for counted in [entry.counters]
        ]
        marks = ",".join("?" * len(_OF_SAMPLE))
        self._connection.executemany(f"INSERT OR REPLACE INTO sample VALUES ({marks})", rows)

    def _check(self, row: Iterable[Any], kinds: Kinds) -> None:
        if any(type(entry) not in kind for entry, kind in zip(row, kinds, strict=True)):
            raise self._damaged("it has values of other kinds than ses place writes")

    def _damaged(self, why: str) -> SesError:
        return _damage(self.file, why)


def _prepared(file: Path, *, own: bool, create: bool) -> tuple[int, int] | None:
    """Return which file it is, made if there was none; ``None`` where there is none and is not to be."""
    try:
        if create and own:
            file.parent.mkdir(0o700, parents=True, exist_ok=True)
        elif not create and not os.path.lexists(file):
            return None
        _check_folder(file.parent, own=own)
        if create:
            _make(file)
        return _regular(file)
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error


def _stay_open(file: Path, identity: tuple[int, int]) -> None:
    """Count as one who has the file open until the process ends.

    The last one to close it would take its log in, and wait for the disk thrice; so whose log has grown to
    a thousand pages does it.  This descriptor is never closed: that would unlock what SQLite has locked.
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
    found = folder.stat()
    if found.st_mode & stat.S_IWOTH:
        raise UsageError(f"Anybody may write in {folder}: no ledger is kept there. Name another by --ledger.")
    if own and found.st_uid != os.geteuid():
        raise UsageError(f"{folder} is not yours: no ledger is kept there. Name one by --ledger.")


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
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise _cannot(file, "it is no file, or a link")
    return found.st_dev, found.st_ino
