"""Requirement sets in the store: read all, replace one."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog
from rdflib import XSD, Literal, URIRef

from ses_service.knowledge.environment import size_in
from ses_service.knowledge.errors import RevisionConflictError, StoreRefusedError
from ses_service.knowledge.history import Signature, recording_set
from ses_service.knowledge.profiles import stored_profile
from ses_service.knowledge.queries import bind, sequence
from ses_service.knowledge.requirement_statements import set_edit
from ses_service.knowledge.statements.statements import graph_of
from ses_service.knowledge.store.store import Row, SparqlReader, SparqlStore
from ses_service.knowledge.terms import (
    REQUIREMENTS_GRAPH,
    STRICTNESS,
    requirement_set_iri,
    requirement_set_of,
)
from ses_service.knowledge.times import moment
from ses_service.knowledge.vocabulary import Metric, vocabulary
from ses_service.model.entities import (
    Level,
    MeasuredRun,
    Profile,
    Requirement,
    RequirementSet,
    Strictness,
)
from ses_service.model.limits import MAX_BOUND, MAX_WEIGHT

_STRICTNESS = {str(term): strictness for strictness, term in STRICTNESS.items()}
_TRIES = 5
_log = structlog.get_logger(__name__)


def read_requirement_sets(store: SparqlReader) -> tuple[RequirementSet, ...]:
    """Return every set in the store, by level and name; without requirements of kinds nobody describes.

    A set of which something cannot be read is left out and logged: the others hold all the same.
    """
    metrics = vocabulary().by_iri()
    profiles = {profile.iri: profile for profile in vocabulary().profiles.values()}
    heads: dict[tuple[str, str], Row] = {}
    stated: dict[tuple[str, str], list[Requirement]] = {}
    odd: dict[tuple[str, str], str] = {}
    for row in store.select(bind("requirement-sets.rq", graph=REQUIREMENTS_GRAPH)):
        key = row["level"], row["subject"]
        heads[key] = row
        stated.setdefault(key, [])
        metric = metrics.get(row.get("metric", ""))
        if metric is not None:
            try:
                stated[key].append(_requirement(row, metric))
            except (ValueError, StoreRefusedError) as error:
                odd[key] = str(error)
    sets: dict[tuple[str, str], RequirementSet] = {}
    # Profiles first, which the others take up.
    for key in sorted(heads.keys() - odd.keys(), key=lambda set_key: set_key[0] != Level.PROFILE):
        try:
            sets[key] = _set(heads[key], stated[key], {} if key[0] == Level.PROFILE else profiles)
        except ValueError as error:
            odd[key] = str(error)
            continue
        if key[0] == Level.PROFILE:
            profile = stored_profile(sets[key])
            profiles[profile.iri] = profile
    for level, name in sorted(odd):
        _log.warning(
            "requirements cannot be read and do not hold", level=level, name=name, detail=odd[level, name]
        )
    return tuple(sets[key] for key in heads if key in sets)


def replace_requirement_set(
    store: SparqlStore,
    wanted: RequirementSet,
    *,
    author: str,
    now: float,
    expected_revision: int | None = None,
) -> RequirementSet:
    """Store what a set says in place of the one before and return it.

    The change is one request the store applies as a whole, on condition of the revision; reading back
    whose change it holds shows whether this one won. Raises ``RevisionConflictError`` when the stored
    revision is not ``expected_revision``; without one, the last writer wins. What it says was checked
    where it came in.
    """
    target = requirement_set_iri(wanted.level, wanted.name)
    for _ in range(_TRIES):
        revision, _change = _last_change(store, target)
        if expected_revision is not None and revision != expected_revision:
            break
        replaced = replace(wanted, revision=revision + 1, modified_at=now, modified_by=author)
        change = str(uuid.uuid4())
        store.update(_request(store, target, replaced, change))
        if _last_change(store, target) == (revision + 1, change):
            return replaced
    revision, _change = _last_change(store, target)
    expected = revision if expected_revision is None else expected_revision
    raise RevisionConflictError(wanted.level.value, wanted.name, expected, revision)


def _request(store: SparqlStore, target: URIRef, made: RequirementSet, change: str) -> str:
    """Return the request that puts a set in place of the revision before, with its record in the history."""
    subjects = [target]
    before = graph_of(
        store.select_terms(bind("descriptions.rq", graph=REQUIREMENTS_GRAPH, subjects=subjects))
    )
    edit = set_edit(made, change, before)
    author, now = made.modified_by or "", made.modified_at or 0.0
    head = bind(
        "replace-requirements.ru",
        graph=REQUIREMENTS_GRAPH,
        set=target,
        level=Literal(made.level.value),
        subject=Literal(made.name),
        expected=Literal(made.revision - 1),
        next=Literal(made.revision),
        change=Literal(change),
        modifiedAt=Literal(now, datatype=XSD.double),
        modifiedBy=Literal(author),
    )
    insert = bind(
        "add-to-set.ru", graph=REQUIREMENTS_GRAPH, set=target, change=Literal(change), statements=edit.add
    )
    if edit.before == edit.after:
        return sequence([head, insert])
    signature = Signature(author, now, f"requirements of {made.level.value} {made.name}")
    return sequence([head, insert, *recording_set(target, change, edit, signature)])


def _last_change(store: SparqlStore, target: URIRef) -> tuple[int, str]:
    rows = store.select(bind("requirement-change.rq", graph=REQUIREMENTS_GRAPH, set=target))
    if not rows:
        return 0, ""
    return int(rows[-1]["revision"]), rows[-1].get("change", "")


def _requirement(row: Row, metric: Metric) -> Requirement:
    bound = float(row["bound"]) * size_in(row["unit"])
    weight = float(row.get("weight", metric.described.weight))
    if not bound >= 0 or not weight > 0:
        raise ValueError(
            f"{metric.kind}: {bound} of weight {weight} is not a bound from 0, of a weight above 0"
        )
    return Requirement(
        metric.kind,
        min(bound, MAX_BOUND),
        min(weight, MAX_WEIGHT),
        _STRICTNESS.get(row.get("strictness", ""), Strictness.SOFT),
        moment(row.get("validFrom")),
        moment(row.get("validUntil")),
        unit=metric.symbol(row["unit"]),
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
        None if profile is None else profiles.get(profile) or _unknown(profile),
        row.get("definition", ""),
        _measured(row),
    )


def _unknown(iri: str) -> Profile:
    """Return a profile nobody describes any more, by its name where it was a stored one."""
    stored = requirement_set_of(URIRef(iri))
    return Profile(iri if stored is None else stored[1], iri=iri)


def _measured(row: Row) -> MeasuredRun | None:
    if "bytesRead" not in row:
        return None
    return MeasuredRun(
        read_bytes=float(row["bytesRead"]),
        written_bytes=float(row["bytesWritten"]),
        seconds=float(row["runTime"]),
        processor_seconds=float(row["processorTime"]),
        cores=int(row["cores"]),
    )
