"""What is asked for, and what is given: a directory with its claim, or a sentence that says why none fits."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ses_client.errors import SesError, UsageError
from ses_client.messages.message import Message
from ses_client.messages.requirements import Requirement

from ses.place.claims import Claim, Holder, of_process
from ses.place.decision import Candidate, check
from ses.quantities import requirements_in, written

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MAX_DIRECTORIES = 64


class NothingFitsError(SesError):
    """Every directory is left out; the text names each with its reason."""


class Request(Message):
    """What is asked for: directories as they were given, needs, bytes, and what the claim lasts as long as.

    ``mkdir`` names a directory to make, whose X at the end become letters; ``rates`` are bytes per second.
    ``after`` is a claim that goes on in the directory to be chosen, on another file system.
    ``user`` is whose claim it is: root claims for others.  ``asked`` is what goes into the claim to be asked
    for again, as JSON.
    """

    among: Sequence[str]
    holder: Holder
    requirements: Sequence[Requirement]
    size: int | None = None
    mkdir: str | None = None
    rates: Mapping[str, float]
    after: Claim | None = None
    user: int
    asked: str


def request_of(
    among: Sequence[str],
    holder: Holder,
    requirements: Sequence[Requirement] = (),
    rates: Mapping[str, float] | None = None,
    **more: Any,
) -> Request:
    """Return a request; ``more`` are other members of it.  Raises UsageError for what makes no sense."""
    check(requirements)
    if not 0 < len(among) <= _MAX_DIRECTORIES:
        raise UsageError(f"Name 1 to {_MAX_DIRECTORIES} directories.")
    if "" in among:
        raise UsageError("An empty text is no name of a directory.")
    if unknown := set(rates or ()) - set(among):
        raise UsageError(f"--rate names {sorted(unknown)[0]}, which is none of the directories.")
    asked = {
        "among": [_whole(name) for name in among],
        "needs": [written(requirement) for requirement in requirements],
        "rates": {_whole(name): rate for name, rate in (rates or {}).items()},
    }
    check_name(more.get("mkdir"))
    members: dict[str, Any] = {"user": os.geteuid(), "asked": json.dumps(asked), **more}
    return Request(among=among, holder=holder, requirements=requirements, rates=rates or {}, **members)


def check_name(name: str | None) -> None:
    """Raise UsageError for what no directory to make can be called, in the ledger or on a disk."""
    if name is None:
        return
    try:
        is_name = name not in ("", ".", "..") and not {"/", "\0"} & set(name) and len(name.encode()) <= 200
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise UsageError(
            f"{name!r} is no name of a directory to make: one like run-XXXX, in UTF-8 and without a slash."
        )


def random_name(pattern: str) -> str:
    """Return a name by a pattern, with letters by chance for the X at its end."""
    stem = pattern.rstrip("X")
    drawn = (_LETTERS[byte % 64 % 62] for byte in os.urandom(len(pattern) - len(stem)))
    return stem + "".join(drawn)


def _whole(name: str) -> str:
    return name if name.startswith("/") else str(Path(name).absolute())


def again(claim: Claim, size: int | None, holder: Holder | None) -> Request:
    """Return the request of a claim, for the next part of what it stands for.  Raises SesError."""
    try:
        asked = json.loads(claim.asked)
        if not all(type(entry) is str and entry.startswith("/") for entry in asked["among"]):
            raise ValueError("a directory has no absolute path")
        return request_of(
            asked["among"],
            holder or of_process(claim),
            requirements_in(asked["needs"]),
            {str(name): float(rate) for name, rate in asked["rates"].items()},
            size=claim.size if size is None else size,
            mkdir=claim.label,
            after=claim,
        )
    except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
        raise SesError(
            f"What was asked for claim {claim.id} cannot be read ({error}).", "Name directories by --among."
        ) from error


class Placement(Message):
    """The directory that was chosen, its claim, and what was seen of each."""

    claim: Claim
    why: Sequence[Candidate]

    @property
    def directory(self) -> str:
        """The directory to use: absolute, without links."""
        return self.claim.path


def nothing_fits(seen: Sequence[Candidate]) -> NothingFitsError:
    """Return the error that names each directory with its reason."""
    reasons = [f"{entry.directory.given}: {entry.reason}" for entry in seen if entry.reason]
    return NothingFitsError(
        f"No directory fits. {'; '.join(dict.fromkeys(reasons))}.",
        "Release claims that are done (ses places, ses release), ask for less, or name other directories.",
    )


def no_claim_fits(ledger: Path) -> NothingFitsError:
    """Return the error that a ledger takes no more claims."""
    return NothingFitsError(
        f"{ledger} holds as many claims as it may.",
        "Release claims that are done (ses places, ses release), and let others end sooner (--for).",
    )
