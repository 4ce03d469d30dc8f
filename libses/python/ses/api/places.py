"""A directory chosen among several, claimed while a block of Python runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ses.api.amount import mb_per_s, whole_bytes

if TYPE_CHECKING:
    from ses_client.client import ServiceClient
    from ses_client.messages.places import PlaceGiven

    from ses.place.claims import Holder
    from ses.place.placing import Placement


@contextmanager
def place(
    among: Iterable[str | os.PathLike[str]] | None = None,
    *,
    on: str | None = None,
    need: str | Iterable[str] = (),
    size: int | str | None = None,
    mkdir: str | None = None,
    streams: int = 1,
    rates: Mapping[str, float | str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Iterator[Placement | PlaceGiven]:
    """Choose a directory as ``ses place`` does; its claim ends with the block, or the process.

        with ses.api.place(on="scratch", need="write>=200MB/s", size="300GB", mkdir="run-XXXX") as chosen:
            write_into(chosen.directory)

    ``on`` names a storage system of directories: the service chooses, for ``streams`` that write at a time.
    With ``among`` no service is asked; ``rates`` and ``ledger`` are for that.  ``size`` is bytes and
    ``rates`` are MB/s of directories, or texts with a unit; ``mkdir`` names a directory to make there, which
    stays.  Raises ``ses_client.errors.SesError`` where nothing fits, with each reason, where the claims
    cannot be kept, or the service does not answer.
    """
    from ses_client.errors import UsageError

    from ses.place import placing
    from ses.place.claims import holder
    from ses.quantities import requirements_in

    if (on is None) == (among is None):
        raise UsageError("Name a storage system (on), or directories (among).")
    needs = requirements_in([need] if isinstance(need, str) else need)
    amount = None if size is None else whole_bytes("size", size)
    held = holder(f"pid:{os.getpid()}", time.time())
    if on is not None:
        from ses_client.client import ServiceClient

        from ses.place import service
        from ses.settings import current_user, service_address

        client, name = ServiceClient(service_address(None, None)), os.environ.get("SES_APPLICATION") or None
        wanted = service.wanted(on, current_user(), held, needs, amount, streams, name)
        with _of_service(client, service.ask(client, wanted, mkdir), held) as given:
            yield given
        return
    named = [os.fspath(entry) for entry in among or ()]
    at_best = {name: mb_per_s("rates", rate) * 1e6 for name, rate in (rates or {}).items()}
    file = None if ledger is None else Path(ledger)
    request = placing.request_of(named, held, needs, at_best, size=amount, mkdir=mkdir)
    with _of_machine(placing.place(request, file), file) as chosen:
        yield chosen


@contextmanager
def place_again(
    chosen: Placement | PlaceGiven | str | int,
    *,
    size: int | str | None = None,
    ledger: str | os.PathLike[str] | None = None,
) -> Iterator[Placement | PlaceGiven]:
    """Choose a directory on another file system for what is written next, as ``ses place --again`` does.

    ``chosen`` is what :func:`place` gave, or the directory or number of a claim of the caller's.  The claim
    of the directory that is given ends with the block, or the process, and that of a service's place at once.
    Raises as :func:`place`.

        with ses.api.place(among=["/scratch1", "/scratch2"], mkdir="step-XXXX") as chosen:
            try:
                write_into(chosen.directory)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                with ses.api.place_again(chosen) as other:
                    write_into(other.directory)
    """
    from ses_client.client import ServiceClient
    from ses_client.messages.places import Place

    from ses.place import placing, service
    from ses.place.claims import holder
    from ses.settings import service_address

    whole = None if size is None else whole_bytes("size", size)
    until = holder(f"pid:{os.getpid()}", time.time())
    if isinstance(chosen, Place):
        client = ServiceClient(service_address(None, None))
        with _of_service(client, service.again(client, chosen, whole, until), until) as given:
            yield given
        return
    file = None if ledger is None else Path(ledger)
    named = str(chosen if isinstance(chosen, (str, int)) else chosen.claim.id)
    with _of_machine(placing.place_again(named, file, size=whole, holder=until), file) as placement:
        yield placement


@contextmanager
def _of_machine(placement: Placement, file: Path | None) -> Iterator[Placement]:
    from ses_client.errors import NotFoundError

    from ses.place import placing

    process = os.getpid()
    try:
        yield placement
    finally:
        if os.getpid() == process:  # and none that was forked in the block
            with suppress(NotFoundError):  # somebody released it meanwhile
                placing.release(str(placement.claim.id), file)


@contextmanager
def _of_service(client: ServiceClient, given: PlaceGiven, held: Holder) -> Iterator[PlaceGiven]:
    """Renew a place while the block runs, where nobody else does, and end it."""
    from ses_client.errors import SesError

    from ses.place import service

    over, process = threading.Event(), os.getpid()
    if service.needs_renewal(given):
        renewing = (client, given, held, lambda seconds: not over.wait(seconds))
        threading.Thread(target=service.renew_while_it_lives, args=renewing, daemon=True).start()
    try:
        yield given
    finally:
        over.set()
        if os.getpid() == process:  # and none that was forked in the block
            with suppress(SesError):  # it ends with the process, at the latest
                service.release(client, given)
