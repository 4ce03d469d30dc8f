"""Answers made from what the core returns.

Turns bytes per second into MB/s and bytes into GB; ``nan`` never gets here (unknown is ``None``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, get_args

import orjson
from flask import Response
from ses_client.messages import (
    element_groups,
    elements,
    files,
    nodes,
    requirements,
    selections,
    vocabulary,
)
from ses_client.messages.message import JSON, Message

from ses_service.decision.element_groups import Group, Measure
from ses_service.decision.question import Decision
from ses_service.decision.resolve import PassedOver
from ses_service.knowledge.times import written
from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.nodes import Node
from ses_service.ledger.ordered_by import OrderName
from ses_service.ledger.placement import Candidate, Placement, Prediction, Refusal
from ses_service.ledger.size_history import SizeKey, Sizes
from ses_service.model.entities import (
    Element,
    Kind,
    Level,
    MeasuredRun,
    Observation,
    Profile,
    Requirement,
    RequirementSet,
    ResolvedRequirement,
    StorageSystem,
    Subject,
)
from ses_service.model.kinds import KindDescription
from ses_service.model.limits import MAX_REQUIREMENTS
from ses_service.security.tokens import Principal, Role

PLACES = 6
_ORDER = get_args(OrderName)
MB = Kind.CURRENT_READ_RATE.size
GB = Kind.FREE_CAPACITY.size


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it goes over the wire, for Flask and for ASGI."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]

    def response(self) -> Response:
        """Return it as Flask takes it."""
        return Response(self.body, self.status, list(self.headers))

    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as ASGI takes them, with the length."""
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


def requirement(one: Requirement) -> requirements.Requirement:
    """Return a requirement in the unit its kind is shown in."""
    return requirements.Requirement(**_stated(one))


def _stated(one: Requirement) -> JSON:
    kind = one.kind
    members: JSON = {
        "kind": kind,
        _bound_name(kind): float(format(one.bound / kind.size, ".15g")),  # 1.5 GiB is that again for a client
        "unit": kind.unit,
        "weight": one.weight,
        "strictness": str(one.strictness),
    }
    if one.unit and one.unit != kind.unit:
        members["stated_unit"] = one.unit
    if one.valid_from is not None:
        members["valid_from"] = written(one.valid_from)
    if one.valid_until is not None:
        members["valid_until"] = written(one.valid_until)
    return members


def resolved(many: Iterable[ResolvedRequirement]) -> list[requirements.ResolvedRequirement]:
    """Return requirements with the levels they came from."""
    return [
        requirements.ResolvedRequirement(
            **_stated(one.requirement),
            level=str(one.level),
            level_name=one.level_name,
            **_unless_none(profile=one.profile),
        )
        for one in many
    ]


def passed_over(many: Iterable[PassedOver], now: float) -> list[requirements.PassedOver]:
    """Return requirements that do not count, with the reason."""
    passed = []
    for one, body in zip(many, resolved(one.stated for one in many), strict=True):
        by = one.hidden_by
        if by is not None:
            itself = by.level is one.stated.level
            place = "the set itself" if itself else f"{by.level.value} {by.level_name}"
            reason = f"hidden by the requirement of {place}"
        elif one.stated.requirement.applies(now):
            reason = f"more than the {MAX_REQUIREMENTS} kinds a file can have, of which hard ones go first"
        elif one.stated.requirement.valid_from is not None and now < one.stated.requirement.valid_from:
            reason = "not valid yet"
        else:
            reason = "not valid any more"
        passed.append(requirements.PassedOver(**body, reason=reason))
    return passed


def kind(one: KindDescription) -> vocabulary.Kind:
    """Return what people must know of a kind."""
    return vocabulary.Kind(
        kind=one.kind,
        spellings=[*one.spellings],
        label=one.label,
        definition=one.definition,
        bound=_bound_name(one.kind),
        unit=one.kind.unit,
        units=[*one.units],
        sizes={unit: size / one.kind.size for unit, size in one.units.items()},
        default_weight=one.weight,
    )


def profile(one: Profile) -> vocabulary.Profile:
    """Return a profile."""
    return vocabulary.Profile(
        profile=one.name,
        label=one.label,
        definition=one.definition,
        requirements=[requirement(stated) for stated in one.requirements],
        measured=_measured(one.measured),
        modified_at=one.modified_at,
        modified_by=one.modified_by,
    )


def _measured(run: MeasuredRun | None) -> requirements.MeasuredRun | None:
    return None if run is None else requirements.MeasuredRun(**asdict(run))


def _unless_none(**members: Any) -> JSON:
    return {name: value for name, value in members.items() if value is not None}


def _bound_name(kind: Kind) -> str:
    return "maximum" if kind.at_most else "minimum"


def subject(one: Subject) -> requirements.Subject:
    """Return a subject."""
    return requirements.Subject(
        user=one.user, application=one.application, vo=one.vo, node=one.node, job=one.job
    )


def predictions(many: Iterable[Prediction]) -> list[selections.Prediction]:
    """Return predicted values in the units their kinds are shown in."""
    return [_prediction(one.kind, one.value, one.bound, one.shortfall) for one in many]


@lru_cache(4096)
def _prediction(kind: Kind, value: float | None, bound: float, shortfall: float) -> selections.Prediction:
    stated: JSON = {_bound_name(kind): in_units(bound, kind.size)}
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
            rank=one.rank,
            element=one.element.id,
            storage_system=one.element.storage_system,
            backend=backends.get(one.element.storage_system, ""),
            target=one.element.target,
            distance=_rounded(one.distance),
            available=rates(one.available_read, one.available_write),
            free_gb=in_units(one.free, GB),
            predicted=predictions(one.predicted),
            age_seconds=one.age if one.age is None else round(one.age, 3),
            basis=str(one.basis),
            ordered_by=one.ordered_by or None,
            after=one.after,
            order=dict(zip(_ORDER, one.keys, strict=False)) or None,
        )
        for one in many
    ]


def refusals(many: Iterable[Refusal]) -> list[selections.Refusal]:
    """Return refused elements with their reasons."""
    return [
        selections.Refusal(element=one.element, reason=one.reason.value, detail=one.detail) for one in many
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
            selections.Stripe(element=one.id, target=one.target)
            for one in placement.stripes or (placement.element,)
        ],
    }


def placement_summary(placement: Placement) -> selections.Placement:
    """Return a placement without its explanation."""
    return selections.Placement(
        placement_id=placement.placement_id,
        state=placement.state.value,
        subject=subject(placement.subject),
        element=placement.element.id,
        storage_system=placement.element.storage_system,
        target=placement.element.target,
        **_stripes(placement),
        path=placement.path,
        device=placement.device,
        inode=placement.inode,
        distance=round(placement.distance, PLACES),
        predicted=predictions(placement.predicted),
        requirements=resolved(placement.requirements),
        placed_at=placement.placed_at,
        opened_at=placement.opened_at,
        ended_at=placement.ended_at,
        end_reason=None if placement.end_reason is None else placement.end_reason.value,
        bytes_written=placement.bytes_written,
        expected_bytes=placement.expected_bytes,
        expected_from=placement.expected_from,
        decided_by=placement.decided_by,
        lease_until=placement.lease_until if math.isfinite(placement.lease_until) else None,
    )


def held(placement: Placement) -> JSON:
    """Return the file of an open placement."""
    return {
        "placement_id": placement.placement_id,
        "user": placement.subject.user,
        "device": placement.device,
        "inode": placement.inode,
        "path": placement.path,
        "pid": placement.pid,
    }


def sizes(key: SizeKey, one: Sizes) -> files.Sizes:
    """Return an entry of the history of sizes."""
    return files.Sizes(
        user=key.user,
        application=key.application or None,
        pattern=key.pattern or None,
        count=one.count,
        median_bytes=one.median,
        last_bytes=one.last,
        last_at=one.last_at,
    )


def node(one: Node, open_placements: int, reader: Principal) -> nodes.HeardNode:
    """Return a node whose agent reports, or did."""
    return nodes.HeardNode(
        node=one.name,
        incarnation=one.incarnation,
        since=one.since,
        heard_at=one.heard_at,
        silent_after=one.until,
        version=one.version or None,
        open_placements=open_placements,
        stalled=stalled(one),
        excluded=all_excluded(one, reader),
    )


def stalled(one: Node) -> list[nodes.StalledThread]:
    """Return the threads of a node's agent that do not go on."""
    return [
        nodes.StalledThread(node=one.name, thread=thread, since=round(since))
        for thread, since in sorted(one.stalled.items())
    ]


def all_excluded(one: Node, reader: Principal) -> list[nodes.ExcludedElement]:
    """Return the elements to which no file of a node, or of a user there, can go, as far as one may read."""
    return excluded([(one.name, each) for each in one.exclusions], reader)


def excluded(found: Iterable[tuple[str, Exclusion]], reader: Principal) -> list[nodes.ExcludedElement]:
    """Return what nodes exclude; people read of their own files alone."""
    return [
        nodes.ExcludedElement(node=node, element=one.element, user=one.user, why=one.why)
        for node, one in found
        if reader.role is Role.ADMIN or reader.user is None or one.user in (None, reader.user)
    ]


def placement_record(
    placement: Placement, now: Iterable[Prediction], backends: dict[str, str]
) -> selections.PlacementRecord:
    """Return a placement with its explanation, and what it would get from ``now`` on."""
    return selections.PlacementRecord(
        **placement_summary(placement),
        predicted_now=predictions(now),
        rank=placement.rank,
        batch_number=placement.batch_number,
        batch_size=placement.batch_size,
        notes=list(placement.notes),
        candidates=candidates(placement.candidates, backends),
        refused=refusals(placement.refused),
    )


def observation(one: Observation, now: float, *, seen: bool = True) -> elements.Observation:
    """Return what the monitor last saw of an element; what is not ``seen`` any more is stale."""
    return elements.Observation(
        element=one.element,
        source=one.source,
        target=one.target,
        state=one.state if seen or one.state != "ok" else "stale",
        sampled_at=one.sampled_at,
        age_seconds=None if one.sampled_at is None else round(max(0.0, now - one.sampled_at), 3),
        read_bytes_per_second=elements.RatePair(current=one.current_read_rate, average=one.average_read_rate),
        write_bytes_per_second=elements.RatePair(
            current=one.current_write_rate, average=one.average_write_rate
        ),
        queue_depth=one.queue_depth,
        free_bytes=one.free_bytes,
        size_bytes=one.size_bytes,
        read_only=one.read_only,
        degraded=one.degraded,
        no_create=one.no_create,
        detail=one.detail,
    )


def element(one: Element, system: StorageSystem | None, now: float) -> JSON:
    """Return the static facts of an element; a state that is over is left out."""
    state = one.state_at(now)
    in_effect = state is one.state
    return {
        "id": one.id,
        "iri": one.iri,
        "label": one.label,
        "storage_system": one.storage_system,
        "backend": system.backend if system else "",
        "mount_point": system.mount_point if system else "",
        "target": one.target,
        "file_system": one.file_system,
        "server": one.server,
        "tier": one.tier,
        "pool": one.pool,
        "state": state.value,
        "state_reason": one.state_reason if in_effect else None,
        "state_until": written(one.state_until) if in_effect else None,
        "capacity_bytes": one.capacity_bytes,
        "nominal": rates(one.nominal_read_rate, one.nominal_write_rate),
        "server_link_mb_s": in_units(one.server_rate, MB),
    }


def element_group(
    one: Group, systems: Mapping[str, StorageSystem], measure: Measure
) -> element_groups.ElementGroup:
    """Return a group of elements; ``measure`` is what its sums are of."""
    size = GB if measure is Measure.FREE else MB
    system = systems.get(one.system)
    return element_groups.ElementGroup(
        storage_system=one.system,
        backend=system.backend if system else "",
        value=one.value,
        elements=one.elements,
        usable=sum(one.fifths[1:]),
        now=in_units(one.now, size),
        whole=in_units(one.whole, size),
        fifths=[*one.fifths],
    )


def requirement_set(one: RequirementSet) -> requirements.RequirementSet:
    """Return a requirement set."""
    described: JSON = {"definition": one.definition, "measured": _measured(one.measured)}
    return requirements.RequirementSet(
        level=one.level.value,
        name=one.name,
        requirements=[requirement(stated) for stated in one.requirements],
        profile=one.profile.name if one.profile else None,
        revision=one.revision,
        modified_at=one.modified_at,
        modified_by=one.modified_by,
        **(described if one.level is Level.PROFILE else {}),
    )
