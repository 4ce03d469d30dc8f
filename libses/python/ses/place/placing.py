"""A place: chosen among directories, claimed in one step with the choice, released at its end."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError, SesError, UsageError
from ses_client.messages.requirements import Requirement

from ses.place.claims import Claim, Holder, boot, jobs_running
from ses.place.decision import Candidate, Judged, check, choose, core
from ses.place.directories import Directory, look_at
from ses.place.ledger import Ledger, opened
from ses.place.samples import Sample, clock, measure
from ses.quantities import written

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MIN_LETTERS = 4  # in which two names hardly ever agree
_MAX_DIRECTORIES = 64


class NothingFitsError(SesError):
    """Every directory is left out; the text names each with its reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: directories as they were given, needs, bytes, and what the claim lasts as long as.

    ``mkdir`` names a directory to make, whose X at the end become letters; ``rates`` are bytes per second.
    """

    among: Sequence[str]
    holder: Holder
    requirements: Sequence[Requirement] = ()
    size: int | None = None
    mkdir: str | None = None
    rates: Mapping[str, float] | None = None

    def check(self) -> None:
        """Raise UsageError for what makes no sense."""
        check(self.requirements)
        if not 0 < len(self.among) <= _MAX_DIRECTORIES:
            raise UsageError(f"Name 1 to {_MAX_DIRECTORIES} directories.")
        if "" in self.among:
            raise UsageError("An empty text is no name of a directory.")
        if unknown := set(self.rates or ()) - set(self.among):
            raise UsageError(f"--rate names {sorted(unknown)[0]}, which is none of the directories.")
        check_name(self.mkdir)


def check_name(name: str | None) -> None:
    """Raise UsageError for what no directory to make can be called."""
    if name is not None and (
        name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > 200
    ):
        raise UsageError(f"{name!r} is no name of a directory to make: one like run-XXXX, without a slash.")


@dataclass(frozen=True, slots=True)
class Placement:
    """The directory that was chosen, its claim, and what was seen of each."""

    claim: Claim
    why: Sequence[Judged]
    left_out: Sequence[Directory]

    @property
    def directory(self) -> str:
        """The directory to use: absolute, without links."""
        return self.claim.path


def place(request: Request, file: Path | None = None) -> Placement:
    """Choose a directory and claim it, in one step that no other caller comes between.

    Raises NothingFitsError, UsageError, or SesError where the ledger cannot be used.
    """
    request.check()
    core()
    with opened(file) as ledger:
        assert ledger is not None
        known = ledger.claims()
        running = jobs_running(one.holder.job for one in known if one.holder.job)
        seen = look_at(_each_once(request.among), [one.path for one in known if one.own_directory])
        refused = {one.given: one for one in seen if one.reason}
        samples = measure({one.device for one in seen if not one.reason}, ledger.samples(boot()))
        while True:
            usable = [one for one in seen if one.given not in refused]
            with ledger.transaction():
                counting = _counting(ledger, running)
                ledger.keep(samples, boot())
                candidates = [_candidate(one, counting, samples, request) for one in usable]
                row, judged = choose(candidates, request.requirements, request.size)
                why = [*(_why(one) for one in judged), *(_left_out(one) for one in refused.values())]
                claim = None if row is None else _claim(ledger, usable[row], request, why)
            if claim is None or row is None:
                raise _nothing_fits(judged, list(refused.values()))
            try:
                _make(claim, usable[row])
                return Placement(claim, judged, list(refused.values()))
            except OSError as error:
                taken = isinstance(error, FileExistsError) and (request.mkdir or "").endswith(
                    _MIN_LETTERS * "X"
                )
                if not taken:  # by chance: another name is tried
                    reason = f"no directory can be made there: {error.strerror}"
                    refused[usable[row].given] = replace(usable[row], reason=reason)
                with ledger.transaction():
                    ledger.remove([claim])


def claims_on(among: Sequence[str], file: Path | None = None) -> list[Claim]:
    """Return the claims that count, on the file systems of these directories, or all of them."""
    with opened(file, create=False) as ledger:
        if ledger is None:
            return []
        found = _living(ledger.claims())
    if not among:
        return found
    seen = look_at(_each_once(among))
    for one in seen:
        if not one.path:
            raise NotFoundError(f"{one.given}: {one.reason}.")
    return [claim for claim in found if any(claim.is_on(one.path, one.file_system) for one in seen)]


def release(named: str, file: Path | None = None) -> Claim:
    """End a claim of the caller's, by its number or its directory.  Raises NotFoundError and UsageError."""
    with opened(file, create=False) as ledger:
        if ledger is not None:
            claim = _named(named, _living(ledger.claims()))
            with ledger.transaction():
                ledger.remove([claim])
            return claim
    raise NotFoundError(f"There is no claim {named}: nothing is claimed.")


def _named(named: str, claims: Sequence[Claim]) -> Claim:
    if named.isdecimal():
        found = [one for one in claims if str(one.id) == named]
    else:
        path = str(Path(named).absolute())
        found = [one for one in claims if one.path == path]
    mine = [one for one in found if os.geteuid() in (0, one.user)]
    if len(mine) == 1:
        return mine[0]
    if mine:
        numbers = ", ".join(str(one.id) for one in mine)
        raise UsageError(f"{named} has several claims: {numbers}. Name one by its number.")
    if found:
        raise SesError(f"Claim {found[0].id} is another user's.", "Only who made it can release it.")
    raise NotFoundError(f"There is no claim {named}. List them by ses places.")


def _living(claims: Sequence[Claim]) -> list[Claim]:
    running = jobs_running(one.holder.job for one in claims if one.holder.job)
    now = time.time()
    return [one for one in claims if not one.has_ended(now, running)]


def _counting(ledger: Ledger, running: Mapping[str, bool]) -> list[Claim]:
    """Return the claims that have not ended, and forget the others."""
    now = time.time()
    claims = ledger.claims()
    ended = {one.id for one in claims if one.has_ended(now, running)}
    ledger.remove(one for one in claims if one.id in ended)
    return [one for one in claims if one.id not in ended]


def _candidate(
    one: Directory, claims: Sequence[Claim], samples: Mapping[str, Sample], request: Request
) -> Candidate:
    streams = [claim for claim in claims if claim.is_on(one.path, one.device)]
    there = [claim for claim in claims if claim.is_on(one.path, one.file_system)]
    sample = samples.get(one.device)
    load = sample.load if sample else None
    began = time.time() - (clock() - load.since) if load else 0.0
    return Candidate(
        one,
        len(streams),
        sum(claim.made <= began for claim in streams),
        sum(max(0, claim.bytes - one.held.get(claim.path, 0)) for claim in there),
        max((claim.id for claim in streams), default=0),
        load,
        (request.rates or {}).get(one.given),
    )


def _claim(ledger: Ledger, chosen: Directory, request: Request, why: Sequence[dict[str, Any]]) -> Claim:
    path = chosen.path
    if request.mkdir is not None:
        path = f"{path.rstrip('/')}/{random_name(request.mkdir)}"
    claim = Claim(
        *(0, os.geteuid(), path, chosen.path, chosen.file_system, chosen.device, boot()),
        *(request.size or 0, time.time(), request.holder),
        json.dumps(
            {"asked": [written(one) for one in request.requirements], "chosen": chosen.given, "why": why}
        ),
    )
    return replace(claim, id=ledger.add(claim))


def random_name(pattern: str) -> str:
    """Return a name by a pattern, with letters by chance for the X at its end."""
    stem = pattern.rstrip("X")
    return stem + "".join(secrets.choice(_LETTERS) for _ in range(len(pattern) - len(stem)))


def _make(claim: Claim, chosen: Directory) -> None:
    """Make the claim's directory in the one that was looked at, whatever its name leads to by now."""
    if not claim.own_directory:
        return
    here = os.open(chosen.path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(here)
        if (found.st_dev, found.st_ino) != chosen.identity:
            raise OSError(0, "it was exchanged meanwhile")
        os.mkdir(Path(claim.path).name, 0o700, dir_fd=here)
    finally:
        os.close(here)


def _each_once(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(given))


def _nothing_fits(judged: Sequence[Judged], left_out: Sequence[Directory]) -> NothingFitsError:
    reasons = [f"{one.candidate.directory.given}: {one.reason}" for one in judged if one.reason]
    reasons += [f"{one.given}: {one.reason}" for one in left_out]
    return NothingFitsError(
        f"No directory fits. {'; '.join(dict.fromkeys(reasons))}.",
        "Release claims that are done (ses places, ses release), ask for less, or name other directories.",
    )


def as_json(placement: Placement) -> dict[str, Any]:
    """Return what ``--json`` prints: bytes, and bytes per second."""
    claim = placement.claim
    return {
        "id": claim.id,
        "directory": claim.path,
        "claim": claim_json(claim),
        "why": [*(_why(one) for one in placement.why), *(_left_out(one) for one in placement.left_out)],
    }


def claim_json(claim: Claim) -> dict[str, Any]:
    """Return a claim as ``--json`` prints it."""
    held = claim.holder
    return {
        "id": claim.id,
        "uid": claim.user,
        "user": user_of(claim),
        "directory": claim.path,
        "bytes": claim.bytes,
        "streams": 1,
        "made": claim.made,
        "until": None if held.pid is not None else held.until,
        "pid": held.pid,
        "job": held.job,
    }


def user_of(claim: Claim) -> str:
    """Return the name of the user who claimed, or ``uid-N`` where the machine knows none."""
    try:
        return pwd.getpwuid(claim.user).pw_name
    except KeyError:
        return f"uid-{claim.user}"


def _left_out(one: Directory) -> dict[str, Any]:
    return {"directory": one.given, "reason": one.reason}


def _why(one: Judged) -> dict[str, Any]:
    seen = one.candidate
    return {
        "directory": seen.directory.given,
        "reason": one.reason or None,
        "predicted": {"read": one.read, "write": one.write},
        "free": seen.directory.free,
        "claimed": seen.reserved,
        "streams": seen.streams,
        "foreign_streams": one.foreign,
        "busy": seen.load.busy if seen.load else None,
        "moved": seen.load.moved if seen.load else None,
    }
