"""A directory chosen among several, claimed while a block of Python runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ses.api.amount import mb_per_s, whole_bytes

if TYPE_CHECKING:
    from ses.place.placing import Placement


@contextmanager
def place(
    among: Iterable[str | os.PathLike[str]],
    *,
    need: str | Iterable[str] = (),
    size: int | str | None = None,
    mkdir: str | None = None,
    rates: Mapping[str, float | str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Iterator[Placement]:
    """Choose one of the directories as ``ses place`` does; its claim ends with the block, or the process.

        with ses.api.place(among=["/scratch1", "/scratch2"], need="write>=200MB/s", size="300GB") as chosen:
            write_into(chosen.directory)

    ``size`` is bytes and ``rates`` are MB/s of directories, or texts with a unit; ``mkdir`` names a directory
    to make there, which stays.  Raises ``ses_client.errors.SesError`` where nothing fits, with each reason,
    or the claims cannot be kept.
    """
    from ses.place import placing
    from ses.place.claims import holder
    from ses.quantities import requirements_in

    request = placing.Request(
        [os.fspath(one) for one in among],
        holder(f"pid:{os.getpid()}", time.time()),
        requirements_in([need] if isinstance(need, str) else need),
        None if size is None else whole_bytes("size", size),
        mkdir,
        {name: mb_per_s("rates", rate) * 1e6 for name, rate in (rates or {}).items()},
    )
    file = None if ledger is None else Path(ledger)
    with _until_its_end(placing.place(request, file), file) as placement:
        yield placement


@contextmanager
def place_again(
    chosen: Placement | str | int,
    *,
    size: int | str | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Iterator[Placement]:
    """Choose a directory on another file system for what is written next, as ``ses place --again`` does.

    ``chosen`` is what :func:`place` gave, or the directory or number of a claim of the caller's.  The claim
    of the directory that is given ends with the block, or the process.  Raises as :func:`place`.

        with ses.api.place(among=["/scratch1", "/scratch2"], mkdir="step-XXXX") as chosen:
            try:
                write_into(chosen.directory)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                with ses.api.place_again(chosen) as other:
                    write_into(other.directory)
    """
    from ses.place import placing
    from ses.place.claims import holder

    file = None if ledger is None else Path(ledger)
    named = str(chosen if isinstance(chosen, (str, int)) else chosen.claim.id)
    whole = None if size is None else whole_bytes("size", size)
    until = holder(f"pid:{os.getpid()}", time.time())
    with _until_its_end(placing.place_again(named, file, size=whole, holder=until), file) as placement:
        yield placement


@contextmanager
def _until_its_end(placement: Placement, file: Path | None) -> Iterator[Placement]:
    from ses_client.errors import NotFoundError

    from ses.place import placing

    try:
        yield placement
    finally:
        with suppress(NotFoundError):  # somebody released it meanwhile
            placing.release(str(placement.claim.id), file)
