"""A place: chosen among directories, claimed in one step with the choice, released at its end."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError, SesError, UsageError

from ses.place.chooser import Chooser
from ses.place.claims import Claim, Holder, living
from ses.place.decision import need_core
from ses.place.directories import look_at
from ses.place.ledger import opened
from ses.place.request import NothingFitsError, Placement, Request, again, request_of

__all__ = ["Holder", "NothingFitsError", "Placement", "Request", "place", "place_again", "request_of"]


def place(request: Request, file: Path | None = None) -> Placement:
    """Choose a directory and claim it, in one step that no other caller comes between.

    Raises NothingFitsError, UsageError, or SesError where the ledger cannot be used.
    """
    need_core()
    with opened(file) as ledger:
        return Chooser(ledger, request.among, keeps_why=True).place(request)


def place_again(
    named: str, file: Path | None = None, *, size: int | None = None, holder: Holder | None = None
) -> Placement:
    """Choose a directory on another file system for the next part of what a claim of the caller's stands for.

    Needs, end and, unless it is stated, size are those of the claim, which then stands for what was written.
    It is named by its number or directory; an empty name is the caller's only claim.
    """
    need_core()
    with opened(file, create=False) as ledger:
        claim = _named(named, living(ledger.claims()))
        if claim.user != os.geteuid():
            raise SesError(f"Claim {claim.id} is another user's.", "Only who made it can go on with it.")
        request = again(claim, size, holder)
        return Chooser(ledger, request.among, keeps_why=True).place(request)


def claims_on(among: Sequence[str], file: Path | None = None) -> list[Claim]:
    """Return the claims that count, on the file systems of these directories, or all of them."""
    claims: list[Claim] = []
    with suppress(NotFoundError), opened(file, create=False) as ledger:
        claims = living(ledger.claims())
    if not among:
        return claims
    seen = look_at(list(dict.fromkeys(among)))
    for entry in seen:
        if not entry.path:
            raise NotFoundError(f"{entry.given}: {entry.reason}.")
    return [claim for claim in claims if any(claim.is_on(entry.path, entry.file_system) for entry in seen)]


def release(named: str, file: Path | None = None, user: int | None = None) -> Claim:
    """End a claim of the caller's, by its number or its directory; root ends those of all, or of ``user``.

    Raises NotFoundError and UsageError.
    """
    with opened(file, create=False) as ledger:
        claim = _named(named, living(ledger.claims()), user)
        seen = look_at([claim.base], [claim.path]) if claim.own_directory else []
        with ledger.transaction():
            ledger.end([claim], {path: held for entry in seen for path, held in entry.held.items()})
        return claim


def _named(named: str, claims: Sequence[Claim], user: int | None = None) -> Claim:
    if not named:
        matching = [claim for claim in claims if claim.user == os.geteuid()]
    elif named.isdecimal():
        matching = [claim for claim in claims if str(claim.id) == named]
    else:
        path = str(Path(named).absolute())
        matching = [claim for claim in claims if claim.path == path]
    who = os.geteuid() if user is None else user
    mine = [entry for entry in matching if who == entry.user or (who == 0 and user is None)]
    if len(mine) == 1:
        return mine[0]
    if mine:
        numbers = ", ".join(str(entry.id) for entry in mine)
        raise UsageError(
            f"{named or 'You'} ha{'s' if named else 've'} several claims: {numbers}. Name one by its number."
        )
    if matching:
        raise SesError(f"Claim {matching[0].id} is another user's.", "Only who made it can release it.")
    raise NotFoundError(f"There is no claim{named and ' '}{named}. List them by ses places.")


def as_json(placement: Placement) -> dict[str, Any]:
    """Return what ``--json`` prints: bytes, and bytes per second."""
    claim = placement.claim
    return {
        "id": claim.id,
        "directory": claim.path,
        "claim": claim_json(claim),
        "why": [entry.as_json() for entry in placement.why],
    }


def claim_json(claim: Claim) -> dict[str, Any]:
    """Return a claim as ``--json`` prints it."""
    return {
        "id": claim.id,
        "uid": claim.user,
        "user": user_of(claim),
        "directory": claim.path,
        "bytes": claim.bytes,
        "streams": claim.streams,
        "made": claim.made,
        "until": None if claim.pid is not None else claim.until,
        "pid": claim.pid,
        "job": claim.job,
    }


def user_of(claim: Claim) -> str:
    """Return the name of the user who claimed, or ``uid-N`` where the machine knows none."""
    try:
        return pwd.getpwuid(claim.user).pw_name
    except KeyError:
        return f"uid-{claim.user}"
