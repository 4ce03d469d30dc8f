"""A damaged SQLite file is set aside: renamed, with its write-ahead log, so that a new one can be begun.

Nothing is overwritten or removed.  The name says when; ``ses-service repair-ledger`` reads what can be read
and gives the file a name that says so.
"""

import shlex
from datetime import UTC, datetime
from pathlib import Path

from ses_service.store.errors import DatabaseError

LEDGER = "ledger.db"  # in the state directory, unless --database-url names another
MAX_FILES = 5  # damaged again and again: the disk is at fault, and must not be filled as well
_DAMAGED, _REPAIRED = "-damaged-", "-repaired-"
_WITH_IT = ("-wal", "-shm")


def set_aside(file: Path) -> Path:
    """Give a damaged file a dated name; return it.

    Nobody may have the file open.  Raises DatabaseError where it cannot, or where ``MAX_FILES`` are there.
    """
    if len(set_aside_files(file)) >= MAX_FILES:
        raise DatabaseError(
            f"{file} is damaged, and {MAX_FILES} damaged ones lie there already: look at the disk, then stop "
            f"the service and run: {repair_command(file)}"
        )
    stem = f"{file.name}{_DAMAGED}{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    target, number = file.with_name(stem), 1
    while any(_along(target, suffix).exists() for suffix in ("", *_WITH_IT)):
        number += 1
        target = file.with_name(f"{stem}-{number}")
    _rename(file, target)
    return target


def set_aside_files(file: Path) -> list[Path]:
    """Return the files that were set aside in place of this one and not repaired, the earliest first."""
    paths = file.parent.glob(f"{file.name}{_DAMAGED}*")
    return sorted(path for path in paths if not path.name.endswith(_WITH_IT))


def repair_command(file: Path) -> str:
    """Return what puts back what can be read of a damaged ledger, from its name before or after."""
    whole = file.name.partition(_DAMAGED)[0]
    elsewhere = [] if whole == LEDGER else ["--database-url", f"sqlite:///{file.with_name(whole).absolute()}"]
    return shlex.join(
        ["ses-service", "repair-ledger", "--state-dir", str(file.parent.absolute()), *elsewhere]
    )


def repaired(aside: Path) -> Path:
    """Rename a file that was set aside, since what could be read of it was put back; return its name."""
    target = aside.with_name(aside.name.replace(_DAMAGED, _REPAIRED))
    _rename(aside, target)
    return target


def _rename(file: Path, target: Path) -> None:
    try:
        for end in (*_WITH_IT, ""):  # the log first: a new file must never find an old log
            if _along(file, end).exists():
                _along(file, end).rename(_along(target, end))
    except OSError as error:
        raise DatabaseError(f"{file} cannot be renamed to {target}: {error.strerror}") from error


def _along(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)
