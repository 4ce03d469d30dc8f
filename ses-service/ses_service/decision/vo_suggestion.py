"""What a virtual organisation (VO) could require of storage, by what its members state and get.  Pure.

Of each kind a member counts once, with the strictest that holds for any of their programs now.  A kind is
proposed that half of those who state anything state, two at least: the middle of their bounds, or the middle
of what their files got where that is less.  A bound that most files miss orders elements no better, and
refuses none, as what is proposed is soft.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ses_service.decision.resolve import SetIndex
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import File
from ses_service.model.entities import Kind, Level, Requirement
from ses_service.model.kinds import in_order

MIN_MEMBERS = 2


@dataclass(frozen=True, slots=True)
class Suggested:
    """One kind: what ``members`` state, in base units; ``got``: the middle of ``files`` that can be judged.

    ``proposed`` ``None``: too few state it.
    """

    kind: Kind
    proposed: Requirement | None
    members: int
    least: float
    middle: float
    most: float
    got: float | None
    files: int


def stated(vo: str, homes: Mapping[str, str], sets: SetIndex, now: float) -> dict[str, list[Requirement]]:
    """Return what each member of a VO states for themselves, the strictest of each kind."""
    strictest: dict[tuple[str, Kind], Requirement] = {}
    for (level, name), of_set in sets.items():
        user = name if level is Level.USER else name.partition(":")[0]
        if level not in (Level.USER, Level.APPLICATION) or homes.get(user) != vo:
            continue
        applying = (entry for entry in reversed(of_set.with_profile) if entry.applies(now))
        own = {requirement.kind: requirement for requirement in applying}
        for kind, entry in own.items():
            known = strictest.get((user, kind))
            if known is None or (entry.bound < known.bound) == kind.at_most:
                strictest[user, kind] = entry
    members: dict[str, list[Requirement]] = {}
    for (user, _), entry in strictest.items():
        members.setdefault(user, []).append(entry)
    return members


def suggest(members: Mapping[str, list[Requirement]], files: Iterable[File]) -> list[Suggested]:
    """Return each kind that members state, in the order of kinds, with what is proposed."""
    by_kind: dict[Kind, list[Requirement]] = {}
    for requirements in members.values():
        for requirement in requirements:
            by_kind.setdefault(requirement.kind, []).append(requirement)
    got: dict[str | None, list[float]] = {}
    for file in files:
        if file.achieved is not None and file.verdict not in (None, Verdict.CANNOT_SAY):
            got.setdefault(file.kind, []).append(file.achieved)
    enough = max(MIN_MEMBERS, len(members) / 2)
    return [_suggested(kind, by_kind[kind], got.get(kind.record, []), enough) for kind in in_order(by_kind)]


def _suggested(kind: Kind, wanted: list[Requirement], got: list[float], enough: float) -> Suggested:
    bounds = [entry.bound for entry in wanted]
    middle = _middle(bounds)
    received = _middle(got) if got else None
    given = middle if received is None else received
    bound = max(middle, given) if kind.at_most else min(middle, given)
    unit = next((entry.unit for entry in wanted if entry.bound == middle), "")
    proposed = Requirement(kind, bound, _middle(entry.weight for entry in wanted), unit=unit)
    return Suggested(
        kind, proposed if len(bounds) >= enough else None, len(bounds), min(bounds), middle, max(bounds),
        received, len(got),
    )  # fmt: skip


def _middle(values: Iterable[float]) -> float:
    """Return the middle one; of an even number the lower of both, which somebody stated or got."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]
