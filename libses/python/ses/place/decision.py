"""The choice among directories by the decision core: the same rule that places files (``ses/core.h``).

The core is called by cffi over a few rows, without numpy, whose import alone takes longer than the whole
choice.  libses has the core as well, but exports no choice over rows that a caller gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ses_client.errors import SesError, UsageError
from ses_client.messages.message import JSON, Message
from ses_client.messages.requirements import Requirement
from ses_client.quantities import RATES, SIZES, meant

from ses.place.claims import Claim
from ses.place.directories import Directory
from ses.place.samples import Sample
from ses.quantities import written

_UNKNOWN = math.nan
_RATES = {"read": 1, "average-read": 2, "write": 3, "average-write": 4}  # enum ses_core_kind
_KINDS = {**_RATES, **{f"{name}-rate": kind for name, kind in _RATES.items() if "-" in name}}
_KINDS |= {"current-read-rate": 1, "current-write-rate": 3, "free": 5, "free-capacity": 5}
_FREE = 5
_NO_ROOM, _MISSES = 5, 6  # enum ses_core_refusal


class Candidate(Message):
    """A directory, the streams and bytes of claims that count there, and what moves on its device.

    ``rate`` (bytes per second) and ``load`` are ``None`` where they are not known, ``last`` is the number of
    the last claim.  ``reason`` says why it is left out, if it is, and ``read`` and ``write`` what a stream
    would get there (bytes per second); ``foreign`` is ``None`` where it was not compared.
    """

    directory: Directory
    streams: int = 0
    reserved: int = 0
    last: int = 0
    load: Sample | None = None
    rate: float | None = None
    reason: str = ""
    read: float | None = None
    write: float | None = None
    foreign: float | None = None

    def as_json(self) -> JSON:
        """Return what is shown of it, in bytes and bytes per second."""
        shown = {"directory": self.directory.given, "reason": self.reason or None}
        if self.foreign is None:
            return shown
        return shown | {
            "predicted": {"read": self.read, "write": self.write},
            "free": self.directory.free,
            "claimed": self.reserved,
            "streams": self.streams,
            "rate": self.rate,
            "foreign_streams": self.foreign,
            "busy": self.load.use if self.load else None,
            "moved": self.load.rate if self.load else None,
        }

    def add(self, claim: Claim, *, lives: bool = True) -> None:
        """Count a claim, where it is on this device or file system."""
        seen = self.directory
        if claim.is_on(seen.path, seen.device):
            self["streams"] = self.streams + (claim.streams if lives else 0)
            self["last"] = max(self.last, claim.id)
        if claim.is_on(seen.path, seen.file_system):
            self["reserved"] = self.reserved + max(0, claim.bytes - seen.held.get(claim.path, 0))

    def remove(self, claim: Claim) -> None:
        """Count its stream no more."""
        if claim.is_on(self.directory.path, self.directory.device):
            self["streams"] = self.streams - claim.streams


def check(requirements: Sequence[Requirement]) -> None:
    """Raise UsageError for a requirement that a choice without a service cannot weigh."""
    for requirement in requirements:
        if requirement.kind not in _KINDS:
            raise UsageError(
                f"{written(requirement)}: directories are chosen by {', '.join(sorted(_KINDS))} only."
            )
        units = SIZES if _KINDS[requirement.kind] == _FREE else RATES
        if requirement.unit not in units:
            near = meant(f"{requirement.bound:.15g}", requirement.unit, units)
            hint = f"; did you mean {near}?" if near else ""
            raise UsageError(
                f"{written(requirement)}: unit {requirement.unit!r} is none of {', '.join(units)}{hint}"
            )
        if requirement.valid_from or requirement.valid_until:
            raise UsageError(f"{written(requirement)}: from and until are for requirements that are stored.")
        if not requirement.weight > 0:
            raise UsageError(f"{written(requirement)}: a weight is above 0.")


def choose(
    candidates: Sequence[Candidate],
    requirements: Sequence[Requirement],
    size: int | None,
    room: int | None = None,
) -> tuple[int | None, list[Candidate]]:
    """Return the row of the best candidate, and each as it is compared.

    ``room`` is what it should find where the size is not known; directories with less come last.
    ``None`` where all are refused.  Raises SesError where the core is not installed.
    """
    ffi, lib = core()
    count = len(candidates)
    if not count:
        return None, []
    policy, need = ffi.new("struct ses_core_policy *"), ffi.new("struct ses_core_need *")
    lib.ses_core_defaults(policy)
    _state(need, requirements, size)
    need.room = -1.0 if room is None else room
    elements = ffi.new("struct ses_core_element[]", count)
    samples = ffi.new("struct ses_core_sample[]", count)
    asked = any(_KINDS[requirement.kind] != _FREE for requirement in requirements)
    fastest = max(
        (candidate.rate for candidate in candidates if candidate.rate is not None and not asked),
        default=_UNKNOWN,
    )
    for element, sample, entry in zip(elements, samples, candidates, strict=True):
        _describe(element, sample, entry, fastest)
    lib.ses_core_observe_all(elements, samples, count, policy)
    query = ffi.new("struct ses_core_query *")
    query.need, query.policy, query.elements, query.count = need, policy, elements, count
    verdicts = ffi.new("struct ses_core_verdict[]", count)
    offers = ffi.new("struct ses_core_offer[]", count)
    row = lib.ses_core_choose(query, verdicts)
    lib.ses_core_predict_all(query, offers)
    judged = [
        entry.but(
            reason=_reason(verdict, entry, requirements, size),
            read=None if entry.rate is None else _known(offer.read),
            write=None if entry.rate is None else _known(offer.write),
            foreign=element.foreign,
        )
        for entry, verdict, offer, element in zip(candidates, verdicts, offers, elements, strict=True)
    ]
    return (None if row < 0 else row), judged


@cache
def core() -> tuple[Any, Any]:
    """Return the core; raises SesError, which says what to install."""
    try:
        from ses_core.c import ffi, lib
    except ImportError as error:
        raise _no_core(str(error)) from error
    return ffi, lib


def need_core() -> None:
    """Raise SesError where the core is not installed; that it can be loaded is seen when it is needed."""
    try:
        import_module("ses_core")
    except ImportError as error:
        raise _no_core(str(error)) from error


def _no_core(why: str) -> SesError:
    return SesError(
        f"ses place decides by the decision core, which this Python cannot load ({why}).",
        "Install qstorman-ses-core there: pip install SOURCES/libses/core/python.",
    )


def _state(need: Any, requirements: Sequence[Requirement], size: int | None) -> None:
    if len(requirements) > len(need.requirements):
        raise UsageError(
            f"These are {len(requirements)} requirements; {len(need.requirements)} can be weighed."
        )
    need.bytes = -1.0 if size is None else size
    need.count = len(requirements)
    for slot, entry in zip(need.requirements, requirements, strict=False):
        kind = _KINDS[entry.kind]
        slot.kind, slot.hard, slot.at_most = kind, entry.strictness == "hard", entry.at_most
        slot.bound = entry.bound * (SIZES if kind == _FREE else RATES)[entry.unit]
        slot.weight = entry.weight


def _describe(element: Any, sample: Any, candidate: Candidate, fastest: float) -> None:
    """Fill in what the core reads; a directory that was never busy is tried as if it were the fastest.

    A program has many requests under way at once, so while own streams are there the queue says nothing of
    others.
    """
    rate = fastest if candidate.rate is None else candidate.rate
    element.read_rate = element.write_rate = rate
    element.size, element.free, element.reserved = (
        candidate.directory.size,
        candidate.directory.free,
        candidate.reserved,
    )
    element.server_rate = _UNKNOWN
    element.stated = [_UNKNOWN] * len(element.stated)
    element.own, element.last_placed = candidate.streams, candidate.last
    sample.busy = sample.busy_average = _UNKNOWN if candidate.load is None else candidate.load.use
    sample.queue = _UNKNOWN if candidate.load is None or candidate.load.own else candidate.load.queue
    sample.own = sample.own_average = 0.0 if candidate.load is None else candidate.load.own


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _reason(verdict: Any, candidate: Candidate, requirements: Sequence[Requirement], size: int | None) -> str:
    if verdict.refusal == _NO_ROOM:
        asked = "no room is left" if size is None else f"{shown(size)} do not fit"
        free = shown(max(0, candidate.directory.free - candidate.reserved))
        return f"{asked}: {free} are free beside the claims there"
    if verdict.refusal == _MISSES:
        missed = requirements[verdict.unmet]
        unknown = (
            " (its rate is not known: --rate states it)"
            if _KINDS[missed.kind] != _FREE and candidate.rate is None
            else ""
        )
        return f"it misses {written(missed)}{unknown}"
    return "" if verdict.refusal == 0 else f"the decision core refuses it ({verdict.refusal})"


def shown(size: float) -> str:
    """Return bytes in the largest unit that has at least one of them."""
    unit = next((name for name in ("TB", "GB", "MB", "kB") if size >= SIZES[name]), "B")
    return f"{size / SIZES[unit]:.4g} {unit}"
