"""Answers made from what the core returns.

Turns bytes per second into MB/s and bytes into GB; ``nan`` never gets here (unknown is ``None``).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, get_args

import orjson
from flask import Response
from ses_client.messages import (
    files,
    requirements,
    selections,
    vocabulary,
)
from ses_client.messages.message import JSON, Message

from ses_service.decision.question import Decision
from ses_service.decision.resolve import PassedOver
from ses_service.knowledge.times import written
from ses_service.ledger.ordered_by import OrderName
from ses_service.ledger.placement import Candidate, Placement, Prediction, Refusal
from ses_service.ledger.places import has_own_directory
from ses_service.ledger.size_history import SizeKey, Sizes
from ses_service.model.entities import (
    Kind,
    Level,
    MeasuredRun,
    Profile,
    Requirement,
    RequirementSet,
    ResolvedRequirement,
    Subject,
)
from ses_service.model.kinds import KindDescription
from ses_service.model.limits import MAX_REQUIREMENTS

PLACES = 6
_ORDER = get_args(OrderName)
MB = Kind.CURRENT_READ_RATE.size
GB = Kind.FREE_CAPACITY.size


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it goes over the wire, by Flask or past it."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]

    def response(self) -> Response:
        """Return it as Flask takes it."""
        return Response(self.body, self.status, list(self.headers))

    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as a connection takes them, with the length."""
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
        if not any(name == b"content-length" for name, _ in raw):
            raw.append((b"content-length", b"%d" % len(self.body)))
        return raw


NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_JSON_HEADERS = (("Content-Type", "application/json"),)


def reply(body: JSON, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
    """Return a JSON answer."""
    return Reply(status, orjson.dumps(body), (*_JSON_HEADERS, *headers.items()))


def fragments(texts: Iterable[bytes]) -> orjson.Fragment:
    """Return a list whose members are JSON already."""
    return orjson.Fragment(b"[%b]" % b",".join(texts))


def answer(body: Message, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    """Return a JSON answer as Flask takes it."""
    return reply(body, status, headers).response()


@lru_cache(16384)
def _rounded(value: float) -> float:
    return round(value, PLACES)


@lru_cache(16384)
def in_units(value: float | None, size: float) -> float | None:
    """Return a value in units of ``size``; most are asked for again, as long as nothing changes."""
    return None if value is None else round(value / size, PLACES)


@lru_cache(4096)
def rates(read: float | None, write: float | None) -> selections.Rates:
    """Return a pair of rates in MB/s."""
    return selections.Rates(read_mb_s=in_units(read, MB), write_mb_s=in_units(write, MB))


def requirement(requirement: Requirement) -> requirements.Requirement:
    """Return a requirement in the unit its kind is shown in."""
    return requirements.Requirement(**_stated(requirement))


def _stated(requirement: Requirement) -> JSON:
    kind = requirement.kind
    members: JSON = {
        "kind": kind,
        # fifteen digits: 1.5 GiB is that again for a client
        kind.bound_name: float(format(requirement.bound / kind.size, ".15g")),
        "unit": kind.unit,
        "weight": requirement.weight,
        "strictness": str(requirement.strictness),
    }
    if requirement.unit and requirement.unit != kind.unit:
        members["stated_unit"] = requirement.unit
    if requirement.valid_from is not None:
        members["valid_from"] = written(requirement.valid_from)
    if requirement.valid_until is not None:
        members["valid_until"] = written(requirement.valid_until)
    return members


def resolved(many: Iterable[ResolvedRequirement]) -> list[requirements.ResolvedRequirement]:
    """Return requirements with the levels they came from."""
    return [
        requirements.ResolvedRequirement(
            **_stated(requirement.requirement),
            level=str(requirement.level),
            level_name=requirement.level_name,
            **_unless_none(profile=requirement.profile),
        )
        for requirement in many
    ]


def passed_over(many: Iterable[PassedOver], now: float) -> list[requirements.PassedOver]:
    """Return requirements that do not count, with the reason."""
    passed = []
    for passed_over, body in zip(many, resolved(passed_over.stated for passed_over in many), strict=True):
        by = passed_over.hidden_by
        if by is not None:
            itself = by.level is passed_over.stated.level
            place = "the set itself" if itself else f"{by.level.value} {by.level_name}"
            reason = f"hidden by the requirement of {place}"
        elif passed_over.stated.requirement.applies(now):
            reason = f"more than the {MAX_REQUIREMENTS} kinds a file can have, of which hard ones go first"
        elif (
            passed_over.stated.requirement.valid_from is not None
            and now < passed_over.stated.requirement.valid_from
        ):
            reason = "not valid yet"
        else:
            reason = "not valid any more"
        passed.append(requirements.PassedOver(**body, reason=reason))
    return passed


def kind(described: KindDescription) -> vocabulary.Kind:
    """Return what people must know of a kind."""
    return vocabulary.Kind.like(
        described,
        bound=described.kind.bound_name,
        unit=described.kind.unit,
        units=[*described.units],
        sizes={unit: size / described.kind.size for unit, size in described.units.items()},
        default_weight=described.weight,
    )


def profile(profile: Profile) -> vocabulary.Profile:
    """Return a profile."""
    return vocabulary.Profile.like(
        profile,
        profile=profile.name,
        requirements=[requirement(stated) for stated in profile.requirements],
        measured=_measured(profile.measured),
    )


def _measured(run: MeasuredRun | None) -> requirements.MeasuredRun | None:
    return None if run is None else requirements.MeasuredRun(**asdict(run))


def _unless_none(**members: Any) -> JSON:
    return {name: value for name, value in members.items() if value is not None}


def subject(subject: Subject) -> requirements.Subject:
    """Return a subject."""
    return requirements.Subject.like(subject)


def predictions(many: Iterable[Prediction]) -> list[selections.Prediction]:
    """Return predicted values in the units their kinds are shown in."""
    return [
        _prediction(prediction.kind, prediction.value, prediction.bound, prediction.shortfall)
        for prediction in many
    ]


@lru_cache(4096)
def _prediction(kind: Kind, value: float | None, bound: float, shortfall: float) -> selections.Prediction:
    stated: JSON = {kind.bound_name: in_units(bound, kind.size)}
    return selections.Prediction(
        kind=kind,
        value=in_units(value, kind.size),
        unit=kind.unit,
        **stated,
        shortfall=round(shortfall, PLACES),
    )


def candidates(many: Iterable[Candidate], backends: dict[str, str]) -> list[selections.Candidate]:
    """Return ranks; ``backends`` gives the back end of each storage system."""
    return [
        selections.Candidate(
            rank=candidate.rank,
            element=candidate.element.id,
            storage_system=candidate.element.storage_system,
            backend=backends.get(candidate.element.storage_system, ""),
            target=candidate.element.target,
            distance=_rounded(candidate.distance),
            available=rates(candidate.available_read, candidate.available_write),
            free_gb=in_units(candidate.free, GB),
            predicted=predictions(candidate.predicted),
            age_seconds=candidate.age if candidate.age is None else round(candidate.age, 3),
            basis=str(candidate.basis),
            ordered_by=candidate.ordered_by or None,
            after=candidate.after,
            order=dict(zip(_ORDER, candidate.keys, strict=False)) or None,
        )
        for candidate in many
    ]


def refusals(many: Iterable[Refusal]) -> list[selections.Refusal]:
    """Return refused elements with their reasons."""
    return [
        selections.Refusal(element=refusal.element, reason=refusal.reason.value, detail=refusal.detail)
        for refusal in many
    ]


def selection(decision: Decision, notes: Iterable[str], backends: dict[str, str]) -> selections.Selection:
    """Return a decision; ``notes`` are added to its own."""
    return selections.Selection(
        decided_at=decision.decided_at,
        requirements=resolved(decision.requirements),
        stripe_count=decision.stripes.count,
        expected_bytes=decision.expected_bytes,
        expected_from=decision.expected_from,
        candidates=candidates(decision.candidates, backends),
        refused=refusals(decision.refused),
        notes=[*notes, *decision.notes],
    )


def _stripes(placement: Placement) -> JSON:
    """Return over what the file is spread, at least one element."""
    return {
        "stripe_count": placement.stripe_count,
        "stripe_size_bytes": placement.stripe_size,
        "elements": [
            selections.Stripe(element=stripe.id, target=stripe.target)
            for stripe in placement.stripes or (placement.element,)
        ],
    }


def placement_summary(placement: Placement) -> selections.Placement:
    """Return a placement without its explanation."""
    return selections.Placement.like(
        placement,
        subject=subject(placement.subject),
        element=placement.element.id,
        storage_system=placement.element.storage_system,
        target=placement.element.target,
        **_stripes(placement),
        distance=round(placement.distance, PLACES),
        predicted=predictions(placement.predicted),
        requirements=resolved(placement.requirements),
        lease_until=placement.lease_until if math.isfinite(placement.lease_until) else None,
    )


def held(placement: Placement, now: float) -> JSON:
    """Return the file, or the place, of an open placement."""
    held, place = placement.held, None
    if held is not None:
        place = {
            "started": held.started,
            "namespace": held.namespace,
            "own_directory": has_own_directory(placement),
            "seconds": max(0.0, now - placement.placed_at),
        }
    return {
        "placement_id": placement.placement_id,
        "user": placement.subject.user,
        "device": placement.device,
        "inode": placement.inode,
        "path": placement.path,
        "pid": placement.pid,
        "place": place,
    }


def sizes(key: SizeKey, sizes: Sizes) -> files.Sizes:
    """Return an entry of the history of sizes."""
    return files.Sizes.like(
        sizes,
        user=key.user,
        application=key.application or None,
        pattern=key.pattern or None,
        median_bytes=sizes.median,
        last_bytes=sizes.last,
    )


def placement_record(
    placement: Placement, now: Iterable[Prediction], backends: dict[str, str]
) -> selections.PlacementRecord:
    """Return a placement with its explanation, and what it would get from ``now`` on."""
    return selections.PlacementRecord.like(
        placement,
        **placement_summary(placement),
        predicted_now=predictions(now),
        candidates=candidates(placement.candidates, backends),
        refused=refusals(placement.refused),
    )


def requirement_set(requirement_set: RequirementSet) -> requirements.RequirementSet:
    """Return a requirement set."""
    shown = requirements.RequirementSet.like(
        requirement_set,
        requirements=[requirement(stated) for stated in requirement_set.requirements],
        profile=requirement_set.profile.name if requirement_set.profile else None,
        measured=_measured(requirement_set.measured),
    )
    if requirement_set.level is not Level.PROFILE:
        del shown["definition"], shown["measured"]
    return shown
