"""What is asked for, and what is given: a directory with its claim, or a sentence that says why none fits."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ses_client.errors import SesError, UsageError
from ses_client.messages.requirements import Requirement

from ses.place.claims import Claim, Holder, of_process
from ses.place.decision import Judged, check
from ses.quantities import requirements_in, written

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MAX_DIRECTORIES = 64


class NothingFitsError(SesError):
    """Every directory is left out; the text names each with its reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: directories as they were given, needs, bytes, and what the claim lasts as long as.

    ``mkdir`` names a directory to make, whose X at the end become letters; ``rates`` are bytes per second.
    ``after`` is a claim that goes on in the directory to be chosen, on another file system.
    ``user`` is whose claim it is: root claims for others.
    """

    among: Sequence[str]
    holder: Holder
    requirements: Sequence[Requirement] = ()
    size: int | None = None
    mkdir: str | None = None
    rates: Mapping[str, float] | None = None
    after: Claim | None = None
    user: int = field(default_factory=os.geteuid)

    @property
    def text(self) -> str:
        """All but size and holder, to be asked for again."""
        needs = tuple(written(requirement) for requirement in self.requirements)
        among = tuple(map(_whole, self.among))
        rates = tuple((_whole(name), rate) for name, rate in (self.rates or {}).items())
        return _text(among, needs, rates, self.mkdir)

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


def random_name(pattern: str) -> str:
    """Return a name by a pattern, with letters by chance for the X at its end."""
    stem = pattern.rstrip("X")
    drawn = (_LETTERS[byte % 64 % 62] for byte in os.urandom(len(pattern) - len(stem)))
    return stem + "".join(drawn)


@lru_cache(64)
def _text(
    among: tuple[str, ...], needs: tuple[str, ...], rates: tuple[tuple[str, float], ...], mkdir: str | None
) -> str:
    return json.dumps({"among": among, "needs": needs, "rates": dict(rates), "mkdir": mkdir})


def _whole(name: str) -> str:
    return name if name.startswith("/") else str(Path(name).absolute())


def again(claim: Claim, size: int | None, holder: Holder | None) -> Request:
    """Return the request of a claim, for the next part of what it stands for.  Raises SesError."""
    try:
        asked = json.loads(claim.asked)
        if not all(type(entry) is str and entry.startswith("/") for entry in asked["among"]):
            raise ValueError("a directory has no absolute path")
        request = Request(
            asked["among"],
            holder or of_process(claim),
            requirements_in(asked["needs"]),
            claim.size if size is None else size,
            asked["mkdir"],
            {str(name): float(rate) for name, rate in asked["rates"].items()},
            claim,
        )
        request.check()
    except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
        raise SesError(
            f"What was asked for claim {claim.id} cannot be read ({error}).", "Name directories by --among."
        ) from error
    return request


def label_of(claim: Claim) -> str | None:
    """Return what directories were made like that of a claim: the name it was made by, as in ``run-XXXX``."""
    with suppress(ValueError, TypeError, KeyError):
        label = json.loads(claim.asked)["mkdir"]
        return label if isinstance(label, str) else None
    return None


@dataclass(frozen=True, slots=True)
class Placement:
    """The directory that was chosen, its claim, and what was seen of each."""

    claim: Claim
    why: Sequence[Judged]

    @property
    def directory(self) -> str:
        """The directory to use: absolute, without links."""
        return self.claim.path


def nothing_fits(seen: Sequence[Judged]) -> NothingFitsError:
    """Return the error that names each directory with its reason."""
    reasons = [f"{entry.candidate.directory.given}: {entry.reason}" for entry in seen if entry.reason]
    return NothingFitsError(
        f"No directory fits. {'; '.join(dict.fromkeys(reasons))}.",
        "Release claims that are done (ses places, ses release), ask for less, or name other directories.",
    )


def seen_json(seen: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return what was seen of each directory, in bytes and bytes per second."""
    return [_why(entry) for entry in seen]


def _why(one: Judged) -> dict[str, Any]:
    seen = one.candidate
    why = {"directory": seen.directory.given, "reason": one.reason or None}
    if seen.directory.reason:
        return why
    return why | {
        "predicted": {"read": one.read, "write": one.write},
        "free": seen.directory.free,
        "claimed": seen.reserved,
        "streams": seen.streams,
        "rate": seen.rate,
        "foreign_streams": one.foreign,
        "busy": seen.load.busy if seen.load else None,
        "moved": seen.load.moved if seen.load else None,
    }
