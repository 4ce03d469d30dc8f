"""What a machine found out about a storage system, merged into a description people have worked on.

A three-way merge, property by property: what was discovered before, what is described now, what is discovered
now. What people changed or added since the discovery before is theirs and stays; what they left as it was
discovered follows the discovery. Where both changed the same, that is a conflict: the human's value stays
unless the discovery is preferred, and either way it is reported. A pure function of its three descriptions.
"""

from collections.abc import Collection
from dataclasses import dataclass
from zlib import crc32

from rdflib import RDFS, Literal, URIRef

from ses_service.knowledge.statements.statements import Description, Facts, Nested, Value, types
from ses_service.knowledge.terms import QSM


@dataclass(frozen=True, slots=True)
class Conflict:
    """One property two sides changed. ``property`` is ``None`` for a subject that is not seen any more."""

    subject: URIRef
    property: URIRef | None
    discovered: frozenset[Value]
    described: frozenset[Value]
    kept: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The description after a merge, and what could not be merged without a choice."""

    description: Description
    conflicts: tuple[Conflict, ...]


HUMAN, DISCOVERED = "described", "discovered"


def merge(
    before: Description,
    present: Description,
    discovered: Description,
    *,
    single: Collection[URIRef] = (),
    prefer_discovered: bool = False,
) -> Merged:
    """Return the description after a discovery.

    ``before`` and ``discovered`` are the discovery before and this one, with the names ``present`` uses
    (:func:`aligned`). ``single`` are the properties a subject has at most one value of.
    """
    merged, conflicts = dict(present), list[Conflict]()
    for subject in sorted(before.keys() | discovered.keys()):
        old, now, new = before.get(subject, {}), present.get(subject, {}), discovered.get(subject, {})
        if not new:
            facts = _lost(subject, old, now, conflicts, prefer_discovered)
        elif old and not now:
            # Somebody removed what the discovery still sees: it stays removed unless it is preferred.
            facts = new if prefer_discovered else {}
            if old != new:
                conflicts.append(Conflict(subject, None, frozenset(), frozenset(), _kept(prefer_discovered)))
        else:
            facts = _facts(subject, (old, now, new), conflicts, single, prefer_discovered)
        if facts:
            merged[subject] = facts
        else:
            merged.pop(subject, None)
    used = {value for facts in merged.values() for values in facts.values() for value in values}
    for subject in discovered.keys() - present.keys():
        if QSM.Server in types(discovered[subject]) and subject not in used:
            merged.pop(subject, None)
    return Merged(merged, tuple(conflicts))


def apart(discovered: Description, present: Description) -> Description:
    """Return a discovery in which each union has the name that it has, or shall have, here.

    The same are unions with one mount point, and else those of one name. Where such a one is mounted
    elsewhere and has none of its elements, it is another: the name gets a checksum of the mount point. A
    Lustre file system has a name of its own, wherever it is mounted.
    """
    mounted = {subject: facts for subject, facts in sorted(present.items()) if QSM.mountPoint in facts}
    for subject, facts in discovered.items():
        if QSM.mountPoint not in facts or QSM.LustreFileSystem in types(facts):
            continue
        point, name = facts[QSM.mountPoint], facts.get(QSM.name, frozenset())
        here = [
            other
            for other, said in mounted.items()
            if said[QSM.mountPoint] == point and types(said) == types(facts)
        ]
        called = [other for other, said in mounted.items() if said.get(QSM.name) == name]
        same = next(iter([other for other in here if other in called] or here), None)
        if same is not None:
            discovered = _called(discovered, subject, same, present[same].get(QSM.name, frozenset()))
        elif called and _has_none_of(_targets(present, called[0]), _targets(discovered, subject)):
            mark = f"-{crc32(' '.join(sorted(map(str, point))).encode()):08x}"
            marked = frozenset(Literal(f"{part}{mark}") for part in name)
            discovered = _called(discovered, subject, URIRef(subject + mark), marked)
    return discovered


def _has_none_of(described: set[Value], discovered: set[Value]) -> bool:
    return bool(described and discovered) and described.isdisjoint(discovered)


def _targets(description: Description, system: URIRef) -> set[Value]:
    return {
        target
        for facts in description.values()
        if system in facts.get(QSM.elementOf, ())
        for target in facts.get(QSM.target, ())
    }


def _called(discovered: Description, subject: URIRef, other: URIRef, name: frozenset[Value]) -> Description:
    """Return it with another subject, and name, for a storage system.

    Its label ends with the name; targets of the monitor that were called after the one before are none of it.
    """
    renamed = {
        entry: {**facts, QSM.elementOf: frozenset({other})}
        if subject in facts.get(QSM.elementOf, ())
        else facts
        for entry, facts in discovered.items()
        if entry != subject
    }
    facts = {**discovered[subject], QSM.name: name}
    before = "".join(map(str, discovered[subject].get(QSM.name, ())))
    after = "".join(map(str, name))
    if after != before:
        facts.pop(QSM.observedAt, None)
        facts[RDFS.label] = frozenset(
            Literal(str(label).removesuffix(before) + after, lang=label.language)
            for label in facts.get(RDFS.label, ())
            if isinstance(label, Literal)
        )
    return {**renamed, other: facts}


def aligned(discovered: Description, present: Description) -> Description:
    """Return a discovery under the names the description uses for the same things.

    The same are storage systems and servers of one name, and elements of one storage system with one target
    on one file system, whatever they are called. An element that is not described yet has a name of its own:
    where another has that, a checksum of target and file system is added, so that what was measured of the
    other is not taken for its own.
    """
    known = {_key(facts): subject for subject, facts in sorted(present.items(), reverse=True)}
    names = {
        subject: known.get(_key(facts), subject)
        for subject, facts in discovered.items()
        if not _is_element(facts) and subject not in present and QSM.name in facts
    }

    def renamed(value: Value) -> Value:
        if isinstance(value, Nested):
            return Nested(tuple((property_, renamed(nested)) for property_, nested in value.facts))
        return names.get(value, value) if isinstance(value, URIRef) else value

    described = {
        subject: {property_: frozenset(map(renamed, values)) for property_, values in facts.items()}
        for subject, facts in discovered.items()
    }
    at, taken = dict[Key, list[URIRef]](), set[Key]()
    for subject, facts in sorted(present.items()):
        at.setdefault(_of_system(facts, QSM.target), []).append(subject)
        taken.add(_of_system(facts, QSM.name))
    for subject, facts in described.items():
        if not _is_element(facts):
            continue
        there = at.get(_of_system(facts, QSM.target), [])
        same = [other for other in there if present[other].get(QSM.fileSystem) == facts.get(QSM.fileSystem)]
        same += [
            other for other in there if not (QSM.fileSystem in present[other] and QSM.fileSystem in facts)
        ]
        if same:
            names[subject] = same[0]
            facts[QSM.name] = present[same[0]].get(QSM.name, frozenset())
        elif subject in present or _of_system(facts, QSM.name) in taken:
            what = sorted({*facts.get(QSM.target, ()), *facts.get(QSM.fileSystem, ())})
            mark = f"-{crc32(' '.join(map(str, what)).encode()):08x}"
            names[subject] = URIRef(subject + mark)
            facts[QSM.name] = frozenset(Literal(f"{name}{mark}") for name in facts.get(QSM.name, ()))
    return {names.get(subject, subject): facts for subject, facts in described.items()}


def storage_systems(description: Description, classes: Collection[str]) -> list[URIRef]:
    """Return the storage systems a description has."""
    return sorted(
        subject
        for subject, facts in description.items()
        if {str(type_) for type_ in types(facts)} & set(classes)
    )


def _facts(
    subject: URIRef,
    sides: tuple[Facts, Facts, Facts],
    conflicts: list[Conflict],
    single: Collection[URIRef],
    prefer_discovered: bool,
) -> Facts:
    facts: Facts = {}
    for property_ in sorted(sides[0].keys() | sides[1].keys() | sides[2].keys()):
        old, now, new = (side.get(property_, frozenset()) for side in sides)
        if new in (old, now):
            values = now
        elif now == old:
            values = new
        elif property_ not in single and now >= old:
            values = (now - (old - new)) | new
        else:
            conflicts.append(Conflict(subject, property_, new, now, _kept(prefer_discovered)))
            values = new if prefer_discovered else now
        if values:
            facts[property_] = values
    return facts


def _lost(
    subject: URIRef, old: Facts, now: Facts, conflicts: list[Conflict], prefer_discovered: bool
) -> Facts:
    """Return what remains of a subject that is not discovered any more."""
    if not now or now == old or prefer_discovered:
        return {}
    conflicts.append(Conflict(subject, None, frozenset(), frozenset(), HUMAN))
    if _is_element(now) and now.get(QSM.state, frozenset()) == old.get(QSM.state, frozenset()):
        return {**now, QSM.state: frozenset({QSM.Inactive})}
    return now


def _kept(prefer_discovered: bool) -> str:
    return DISCOVERED if prefer_discovered else HUMAN


def _is_element(facts: Facts) -> bool:
    return QSM.elementOf in facts


Key = tuple[frozenset[Value], ...]


def _of_system(facts: Facts, property_: URIRef) -> Key:
    return facts.get(QSM.elementOf, frozenset()), facts.get(property_, frozenset())


def _key(facts: Facts) -> Key:
    """Return what a storage system or a server is known by."""
    return frozenset() if QSM.mountPoint in facts else types(facts), facts.get(QSM.name, frozenset())
