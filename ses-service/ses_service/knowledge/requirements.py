"""Requirement sets in the store: read all, replace one."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence

from rdflib import XSD, Literal, URIRef

from ses_service.knowledge.environment import size_in
from ses_service.knowledge.errors import InvalidDescriptionError, RevisionConflictError
from ses_service.knowledge.queries import bind, sequence
from ses_service.knowledge.store import Row, SparqlStore
from ses_service.knowledge.terms import (
    METRICS,
    REQUIREMENTS_GRAPH,
    STRICTNESS,
    requirement_set_iri,
    unit_of,
)
from ses_service.model import Kind, Level, Requirement, RequirementSet, Strictness

_KINDS = {str(metric): kind for kind, metric in METRICS.items()}
_STRICTNESS = {str(term): strictness for strictness, term in STRICTNESS.items()}
_TRIES = 5


def read_requirement_sets(store: SparqlStore) -> tuple[RequirementSet, ...]:
    """Return every set in the store, by level and name."""
    heads: dict[tuple[str, str], Row] = {}
    stated: dict[tuple[str, str], list[Requirement]] = {}
    for row in store.select(bind("requirement-sets.rq", graph=REQUIREMENTS_GRAPH)):
        key = row["level"], row["subject"]
        heads[key] = row
        stated.setdefault(key, [])
        if row.get("metric") in _KINDS:
            stated[key].append(_requirement(row))
    return tuple(_set(row, stated[key]) for key, row in heads.items())


def replace_requirement_set(
    store: SparqlStore,
    level: Level,
    name: str,
    requirements: Sequence[Requirement],
    *,
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
    faults = _faults(requirements)
    if faults:
        raise InvalidDescriptionError(f"{level.value} {name}", faults)
    target = requirement_set_iri(level, name)
    for _ in range(_TRIES):
        found, _change = _last_change(store, target)
        if expected_revision is not None and found != expected_revision:
            break
        change = str(uuid.uuid4())
        store.update(_request(target, level, name, requirements, author, now, found, change))
        if _last_change(store, target) == (found + 1, change):
            return RequirementSet(level, name, tuple(requirements), found + 1, now, author)
    found, _change = _last_change(store, target)
    raise RevisionConflictError(level.value, name, expected_revision or found, found)


def _request(
    target: URIRef,
    level: Level,
    name: str,
    requirements: Sequence[Requirement],
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
    parts += [
        bind(
            "add-requirement.ru",
            graph=REQUIREMENTS_GRAPH,
            set=target,
            change=Literal(change),
            requirement=URIRef(f"{target}/{requirement.kind.value}"),
            metric=METRICS[requirement.kind],
            minimum=Literal(requirement.minimum, datatype=XSD.double),
            unit=unit_of(requirement.kind),
            weight=Literal(requirement.weight, datatype=XSD.double),
            strictness=STRICTNESS[requirement.strictness],
        )
        for requirement in requirements
    ]
    return sequence(parts)


def _faults(requirements: Sequence[Requirement]) -> list[str]:
    found = []
    for requirement in requirements:
        if not (math.isfinite(requirement.minimum) and requirement.minimum >= 0):
            found.append(
                f"{requirement.kind.value}: the minimum {requirement.minimum} is not a number from 0 up"
            )
        if not (math.isfinite(requirement.weight) and requirement.weight > 0):
            found.append(f"{requirement.kind.value}: the weight {requirement.weight} is not greater than 0")
    kinds = [requirement.kind.value for requirement in requirements]
    return found + [f"{kind} is stated twice" for kind in sorted(set(kinds)) if kinds.count(kind) > 1]


def _last_change(store: SparqlStore, target: URIRef) -> tuple[int, str]:
    rows = store.select(bind("requirement-change.rq", graph=REQUIREMENTS_GRAPH, set=target))
    if not rows:
        return 0, ""
    return int(rows[-1]["revision"]), rows[-1].get("change", "")


def _requirement(row: Row) -> Requirement:
    kind: Kind = _KINDS[row["metric"]]
    return Requirement(
        kind,
        float(row["minimum"]) * size_in(row["unit"]),
        float(row.get("weight", 1.0)),
        _STRICTNESS.get(row.get("strictness", ""), Strictness.SOFT),
    )


def _set(row: Row, requirements: Sequence[Requirement]) -> RequirementSet:
    modified = row.get("modifiedAt")
    return RequirementSet(
        Level(row["level"]),
        row["subject"],
        tuple(requirements),
        int(row.get("revision", 1)),
        float(modified) if modified else None,
        row.get("modifiedBy"),
    )
