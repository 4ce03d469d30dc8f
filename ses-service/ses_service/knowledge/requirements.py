"""Requirement sets in the store: read all, replace one."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence

from rdflib import XSD, Literal, URIRef

from ses_service.kinds import UnknownKindError
from ses_service.knowledge.environment import size_in
from ses_service.knowledge.errors import InvalidDescriptionError, RevisionConflictError
from ses_service.knowledge.moments import moment, written
from ses_service.knowledge.queries import bind, sequence
from ses_service.knowledge.store import Row, SparqlReader, SparqlStore
from ses_service.knowledge.terms import ODRL, QSM, REQUIREMENTS_GRAPH, STRICTNESS, requirement_set_iri
from ses_service.knowledge.vocabulary import Metric, vocabulary
from ses_service.model import Level, Profile, Requirement, RequirementSet, Strictness

_STRICTNESS = {str(term): strictness for strictness, term in STRICTNESS.items()}
_TRIES = 5


def read_requirement_sets(store: SparqlReader) -> tuple[RequirementSet, ...]:
    """Return every set in the store, by level and name; without requirements of kinds nobody describes."""
    metrics = vocabulary().by_iri()
    profiles = {one.iri: one for one in vocabulary().profiles.values()}
    heads: dict[tuple[str, str], Row] = {}
    stated: dict[tuple[str, str], list[Requirement]] = {}
    for row in store.select(bind("requirement-sets.rq", graph=REQUIREMENTS_GRAPH)):
        key = row["level"], row["subject"]
        heads[key] = row
        stated.setdefault(key, [])
        metric = metrics.get(row.get("metric", ""))
        if metric is not None:
            stated[key].append(_requirement(row, metric))
    return tuple(_set(row, stated[key], profiles) for key, row in heads.items())


def replace_requirement_set(
    store: SparqlStore,
    level: Level,
    name: str,
    requirements: Sequence[Requirement],
    *,
    profile: Profile | None = None,
    author: str,
    now: float,
    expected_revision: int | None = None,
) -> RequirementSet:
    """Store a set in place of the one before and return it.

    The change is one request the store applies as a whole, on condition of the revision; reading back
    whose change it holds tells whether this one won. Raises ``RevisionConflictError`` when the stored
    revision is not ``expected_revision``; without one, the last writer wins. Raises
    ``InvalidDescriptionError`` for numbers no store should hold and for a kind stated twice.
    """
    faults = _faults(requirements, profile)
    if faults:
        raise InvalidDescriptionError(f"{level.value} {name}", faults)
    target = requirement_set_iri(level, name)
    for _ in range(_TRIES):
        found, _change = _last_change(store, target)
        if expected_revision is not None and found != expected_revision:
            break
        change = str(uuid.uuid4())
        store.update(_request(target, level, name, requirements, profile, author, now, found, change))
        if _last_change(store, target) == (found + 1, change):
            return RequirementSet(level, name, tuple(requirements), found + 1, now, author, profile)
    found, _change = _last_change(store, target)
    expected = found if expected_revision is None else expected_revision
    raise RevisionConflictError(level.value, name, expected, found)


def _request(
    target: URIRef,
    level: Level,
    name: str,
    requirements: Sequence[Requirement],
    profile: Profile | None,
    author: str,
    now: float,
    revision: int,
    change: str,
) -> str:
    parts = [
        bind(
            "replace-requirements.ru",
            graph=REQUIREMENTS_GRAPH,
            set=target,
            level=Literal(level.value),
            subject=Literal(name),
            expected=Literal(revision),
            next=Literal(revision + 1),
            change=Literal(change),
            modifiedAt=Literal(now, datatype=XSD.double),
            modifiedBy=Literal(author),
        )
    ]
    details: list[tuple[URIRef, URIRef, URIRef | Literal]] = []
    if profile is not None:
        details.append((target, QSM.profile, URIRef(profile.iri)))
    for requirement in requirements:
        metric, node = vocabulary().metric(requirement.kind), URIRef(f"{target}/{requirement.kind.value}")
        parts.append(
            bind(
                "add-requirement.ru",
                graph=REQUIREMENTS_GRAPH,
                set=target,
                change=Literal(change),
                requirement=node,
                metric=metric.iri,
                operator=ODRL.lteq if requirement.kind.at_most else ODRL.gteq,
                bound=Literal(requirement.bound, datatype=XSD.double),
                unit=metric.base,
                weight=Literal(requirement.weight, datatype=XSD.double),
                strictness=STRICTNESS[requirement.strictness],
            )
        )
        for property_, moment_ in (
            (QSM.validFrom, requirement.valid_from),
            (QSM.validUntil, requirement.valid_until),
        ):
            if moment_ is not None:
                details.append((node, property_, Literal(written(moment_), datatype=XSD.dateTime)))
    parts += [
        bind(
            "add-detail.ru",
            graph=REQUIREMENTS_GRAPH,
            set=target,
            change=Literal(change),
            node=node,
            property=property_,
            value=value,
        )
        for node, property_, value in details
    ]
    return sequence(parts)


def _faults(requirements: Sequence[Requirement], profile: Profile | None) -> list[str]:
    found = []
    for requirement in requirements:
        kind, bound = requirement.kind, requirement.bound
        if not (math.isfinite(bound) and bound >= 0):
            limit = "maximum" if kind.at_most else "minimum"
            found.append(f"{kind}: the {limit} {bound} is not a number from 0 up")
        if not (math.isfinite(requirement.weight) and requirement.weight > 0):
            found.append(f"{kind}: the weight {requirement.weight} is not greater than 0")
        if not requirement.applies_ever:
            found.append(f"{kind}: it is valid until {requirement.valid_until}, before it is valid at all")
        try:
            vocabulary().metric(kind)
        except UnknownKindError as error:
            found.append(str(error))
    if profile is not None and profile.name not in vocabulary().profiles:
        found.append(f"unknown profile {profile.name!r}")
    kinds = [requirement.kind.value for requirement in requirements]
    return found + [f"{kind} is stated twice" for kind in sorted(set(kinds)) if kinds.count(kind) > 1]


def _last_change(store: SparqlStore, target: URIRef) -> tuple[int, str]:
    rows = store.select(bind("requirement-change.rq", graph=REQUIREMENTS_GRAPH, set=target))
    if not rows:
        return 0, ""
    return int(rows[-1]["revision"]), rows[-1].get("change", "")


def _requirement(row: Row, metric: Metric) -> Requirement:
    return Requirement(
        metric.kind,
        float(row["bound"]) * size_in(row["unit"]),
        float(row.get("weight", metric.described.weight)),
        _STRICTNESS.get(row.get("strictness", ""), Strictness.SOFT),
        moment(row.get("validFrom")),
        moment(row.get("validUntil")),
    )


def _set(row: Row, requirements: Sequence[Requirement], profiles: Mapping[str, Profile]) -> RequirementSet:
    modified, profile = row.get("modifiedAt"), row.get("profile")
    return RequirementSet(
        Level(row["level"]),
        row["subject"],
        tuple(requirements),
        int(row.get("revision", 1)),
        float(modified) if modified else None,
        row.get("modifiedBy"),
        None if profile is None else profiles.get(profile, Profile(profile, iri=profile)),
    )
