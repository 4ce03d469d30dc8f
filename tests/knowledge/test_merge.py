"""Promises of merging a discovery: what people did stays, what they left follows, all else is told."""

import pytest
from rdflib import Literal, URIRef
from ses.union.branches import Branch, Union, names_of
from ses.union.branches import turtle as union_turtle
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.exchange.merge import DISCOVERED, HUMAN, aligned, merge
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.statements import Description, Facts, describe
from ses_service.knowledge.terms import QSM, SITE_GRAPH

HEAD = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix : <https://w3id.org/qstorman/site/lfs/> .
"""
SYSTEM = ':lfs a qsm:LustreFileSystem ; qsm:name "lfs" ; qsm:mountPoint "/lfs" .\n'
SERVER = ':server1 a qsm:Server ; qsm:name "10.0.0.1@tcp" .\n'
B = "https://w3id.org/qstorman/site/lfs/"
SINGLE = frozenset({QSM.state, QSM.pool, QSM.target, QSM.servedBy, QSM.capacity, QSM.name})


def ost(number: int, *more: str, state: str = "Active", server: str = ":server1", name: str = "") -> str:
    facts = [
        f':{name or f"ost{number}"} a qsm:ObjectStorageTarget', f'qsm:name "OST{number:04x}"',
        "qsm:elementOf :lfs",
        f"qsm:servedBy {server}", f'qsm:target "{number}"', f"qsm:state qsm:{state}", *more,
    ]  # fmt: skip
    return " ; ".join(facts) + " .\n"


def capacity(tera: float) -> str:
    return f"qsm:capacity [ a qudt:QuantityValue ; qudt:numericValue {tera}e0 ; qudt:hasUnit unit:TeraBYTE ]"


def said(*blocks: str) -> Description:
    return describe(parse_turtle(HEAD + "".join(blocks))[0])


def about(description: Description, name: str, property_: URIRef) -> set[str]:
    values = description.get(URIRef(B + name), {}).get(property_, frozenset())
    return {str(value).rsplit("#", 1)[-1] for value in values}


def test_what_people_left_follows_the_discovery() -> None:
    before = said(SYSTEM, SERVER, ost(0))
    merged = merge(before, before, said(SYSTEM, SERVER, ost(0, state="Degraded")), single=SINGLE)
    assert about(merged.description, "ost0", QSM.state) == {"Degraded"}
    assert merged.conflicts == ()


def test_what_people_added_stays() -> None:
    before = said(SYSTEM, SERVER, ost(0))
    present = said(SYSTEM, SERVER, ost(0, 'qsm:tier "nvme"'), ':n1 a qsm:ComputeNode ; qsm:name "n1" .\n')
    merged = merge(before, present, said(SYSTEM, SERVER, ost(0, state="Degraded"), ost(1)), single=SINGLE)
    assert about(merged.description, "ost0", QSM.tier) == {"nvme"}
    assert about(merged.description, "ost0", QSM.state) == {"Degraded"}
    assert about(merged.description, "ost1", QSM.target) == {"1"}
    assert URIRef(f"{B}n1") in merged.description


@pytest.mark.parametrize(
    ("prefer", "state", "kept"), [(False, "Draining", HUMAN), (True, "Degraded", DISCOVERED)]
)
def test_where_both_changed_the_same_it_is_reported(prefer: bool, state: str, kept: str) -> None:
    before, present = said(SYSTEM, SERVER, ost(0)), said(SYSTEM, SERVER, ost(0, state="Draining"))
    discovered = said(SYSTEM, SERVER, ost(0, state="Degraded"))
    merged = merge(before, present, discovered, single=SINGLE, prefer_discovered=prefer)
    assert about(merged.description, "ost0", QSM.state) == {state}
    (conflict,) = merged.conflicts
    assert (conflict.subject, conflict.property, conflict.kept) == (URIRef(f"{B}ost0"), QSM.state, kept)
    assert conflict.described == {QSM.Draining}
    assert conflict.discovered == {QSM.Degraded}


def test_a_change_of_a_person_is_no_conflict_while_the_discovery_says_what_it_said() -> None:
    before, present = said(SYSTEM, SERVER, ost(0)), said(SYSTEM, SERVER, ost(0, state="Draining"))
    merged = merge(before, present, before, single=SINGLE)
    assert merged.description == present
    assert merged.conflicts == ()


def test_what_people_removed_stays_removed() -> None:
    before = said(SYSTEM, SERVER, ost(0, 'qsm:pool "a"'), ost(1))
    present = said(SYSTEM, SERVER, ost(0))
    merged = merge(before, present, before, single=SINGLE)
    assert merged.description == present


def test_further_values_of_people_stand_beside_discovered_ones() -> None:
    before = said(SYSTEM, SERVER, ost(0, 'qsm:observedAt "a"'))
    present = said(SYSTEM, SERVER, ost(0, 'qsm:observedAt "a", "mine"'))
    merged = merge(before, present, said(SYSTEM, SERVER, ost(0, 'qsm:observedAt "b"')), single=SINGLE)
    assert about(merged.description, "ost0", QSM.observedAt) == {"mine", "b"}
    assert merged.conflicts == ()


def test_an_element_that_is_gone_goes_unless_people_worked_on_it() -> None:
    before = said(SYSTEM, SERVER, ost(0), ost(1), ost(2))
    present = said(SYSTEM, SERVER, ost(0), ost(1), ost(2, 'qsm:tier "nvme"'))
    discovered = said(SYSTEM, SERVER, ost(0))
    merged = merge(before, present, discovered, single=SINGLE)
    assert URIRef(f"{B}ost1") not in merged.description
    assert about(merged.description, "ost2", QSM.tier) == {"nvme"}
    assert about(merged.description, "ost2", QSM.state) == {"Inactive"}
    assert [(conflict.subject, conflict.property) for conflict in merged.conflicts] == [
        (URIRef(f"{B}ost2"), None)
    ]
    assert URIRef(f"{B}ost2") not in merge(before, present, discovered, prefer_discovered=True).description


def test_the_same_things_under_other_names_are_the_same_things() -> None:
    present = said(
        SYSTEM.replace(":lfs a", ":scratch a"), ':oss1 a qsm:Server ; qsm:name "oss1" .\n',
        ost(0, server=":oss1", name="fast0").replace(":lfs", ":scratch"),
    )  # fmt: skip
    discovered = aligned(said(SYSTEM, SERVER, ost(0), ost(1)), present)
    assert {URIRef(f"{B}scratch"), URIRef(f"{B}fast0"), URIRef(f"{B}ost1")} < set(discovered)
    assert URIRef(f"{B}lfs") not in discovered
    merged = merge({}, present, discovered, single=SINGLE)
    assert {conflict.property for conflict in merged.conflicts} == {QSM.servedBy}
    assert about(merged.description, "fast0", QSM.servedBy) == {f"{B}oss1"}
    assert about(merged.description, "ost1", QSM.elementOf) == {f"{B}scratch"}


def test_a_server_nothing_is_on_is_not_added() -> None:
    present = said(SYSTEM, ':oss1 a qsm:Server ; qsm:name "oss1" .\n', ost(0, server=":oss1"))
    merged = merge({}, present, said(SYSTEM, SERVER, ost(0)), single=SINGLE)
    assert URIRef(f"{B}server1") not in merged.description


def union(*disks: str) -> Description:
    """What ses discover writes of disks as ``PATH FILE-SYSTEM``, in the order of the union."""
    paths, file_systems = zip(*(disk.split() for disk in disks), strict=True)
    named = zip(names_of(paths), paths, file_systems, strict=True)
    branches = tuple(Branch(name, path, "RW", 8 << 30, f"ext4 {disk}") for name, path, disk in named)
    return describe(parse_turtle(union_turtle(Union("u", "/u", "n1", branches)))[0])


def elements_of(site: Description) -> dict[str, URIRef]:
    """The elements that take files, by their path and file system."""
    return {
        " ".join(str(*facts[term]).rsplit(" ")[-1] for term in (QSM.target, QSM.fileSystem)): subject
        for subject, facts in site.items()
        if QSM.target in facts and QSM.Inactive not in facts[QSM.state]
    }


FIRST, SECOND, THIRD = "/mnt/disk1/data a", "/mnt/disk2/data b", "/mnt/disk3/data c"


@pytest.mark.parametrize(
    ("disks", "names"),
    [
        ([THIRD, FIRST, SECOND], ["disk3", "data", "disk2"]),
        ([SECOND], ["disk2"]),
        ([SECOND, FIRST], ["disk2", "data"]),
        # Another disk at the same path is another element, and never has the name of the one before.
        (["/mnt/disk1/data x", SECOND], ["disk1", "disk2"]),
        ([FIRST, "/mnt/disk2/data x"], ["data", "disk2-3b412ed3"]),
        ([FIRST, "/srv/disk2 b"], ["data", "disk2-54552275"]),
    ],
)
def test_an_element_keeps_its_name_whatever_becomes_of_the_others(disks: list[str], names: list[str]) -> None:
    site, before = dict[URIRef, Facts](), dict[URIRef, Facts]()
    for seen in (union(FIRST), union(FIRST, SECOND), None, union(*disks), union(*reversed(disks))):
        if seen is None:  # somebody measures
            for disk, subject in elements_of(site).items():
                site = {**site, subject: {**site[subject], QSM.tier: frozenset({Literal(disk)})}}
            continue
        seen = aligned(seen, {**before, **site})
        site, before = merge(before, site, seen, single=SINGLE | {QSM.fileSystem}).description, seen
    elements = elements_of(site)
    assert {disk: str(*site[element][QSM.name]) for disk, element in elements.items()} == dict(
        zip(disks, names, strict=True)
    )
    for disk, subject in elements.items():
        assert site[subject].get(QSM.tier) == ({Literal(disk)} if disk in (FIRST, SECOND) else None)


def imported(
    knowledge: KnowledgeBase, text: str, mode: Mode = Mode.DISCOVERED
) -> tuple[int | None, list[str]]:
    plan = knowledge.exchange.plan_import(HEAD + text, "found.ttl", mode, author="ann", now=1.0)
    return knowledge.exchange.apply(plan), [
        str(conflict.property).rpartition("#")[2] for conflict in plan.conflicts
    ]


def states(knowledge: KnowledgeBase) -> dict[str, str]:
    return {element.id: element.state.value for element in knowledge.environment().elements}


def test_discoveries_one_after_the_other_keep_what_people_did_between_them(knowledge: KnowledgeBase) -> None:
    assert imported(knowledge, SYSTEM + SERVER + ost(0, capacity(8)) + ost(1, capacity(8))) == (1, [])
    people = '<lfs/ost0> qsm:state qsm:Draining ; qsm:tier "nvme" .\n'
    assert imported(knowledge, people, Mode.MERGE) == (2, [])
    grown = SYSTEM + SERVER + ost(0, capacity(16)) + ost(1, capacity(16), state="Degraded") + ost(2)
    assert imported(knowledge, grown) == (3, [])
    elements = {element.id: element for element in knowledge.environment().elements}
    assert {element.capacity_bytes for element in elements.values()} == {16e12, None}
    assert elements["lfs/OST0000"].tier == "nvme"
    assert states(knowledge) == {
        "lfs/OST0000": "draining", "lfs/OST0001": "degraded", "lfs/OST0002": "active",
    }  # fmt: skip
    assert imported(knowledge, grown) == (None, [])
    assert imported(knowledge, grown.replace("qsm:Active", "qsm:ReadOnly")) == (4, ["state"])
    assert states(knowledge)["lfs/OST0000"] == "draining"
    # What was told once is not told again while the discovery stays the same.
    assert imported(knowledge, grown.replace("qsm:Active", "qsm:ReadOnly")) == (None, [])


def union_at(mount: str, *disks: str) -> str:
    branches = tuple(Branch(disk, f"/mnt/{disk}", "RW", 8 << 30, f"ext4 {disk}") for disk in disks)
    return union_turtle(Union(mount.rpartition("/")[2], mount, "n1", branches)).removeprefix(HEAD)


def mounts(knowledge: KnowledgeBase) -> dict[str, str]:
    site = knowledge.environment()
    points = {system.name: system.mount_point for system in site.systems.values()}
    return {element.id: points[element.id.partition("/")[0]] for element in site.elements}


def test_unions_whose_mount_points_end_alike_are_two(knowledge: KnowledgeBase) -> None:
    first, second = union_at("/srv/a/data", "d1", "d2"), union_at("/srv/b/data", "d3")
    assert imported(knowledge, first) == (1, [])
    assert imported(knowledge, second) == (2, [])
    both = {
        "data/d1": "/srv/a/data",
        "data/d2": "/srv/a/data",
        "data-6418f4ac/d3": "/srv/b/data",
    }
    assert mounts(knowledge) == both
    assert imported(knowledge, second) == (None, [])
    assert imported(knowledge, first) == (None, [])
    assert mounts(knowledge) == both
    assert imported(knowledge, union_at("/srv/b/data", "d3", "d4")) == (3, [])
    assert mounts(knowledge) == both | {"data-6418f4ac/d4": "/srv/b/data"}


def test_a_union_that_is_mounted_elsewhere_is_the_same(knowledge: KnowledgeBase) -> None:
    imported(knowledge, union_at("/srv/a/data", "d1", "d2"))
    imported(knowledge, union_at("/srv/b/data", "d2", "d3"))
    assert mounts(knowledge) == {"data/d2": "/srv/b/data", "data/d3": "/srv/b/data"}


def test_another_lustre_at_the_same_mount_point_is_another(knowledge: KnowledgeBase) -> None:
    """As of two clusters that call theirs /scratch, or while one takes the place of the other."""

    def at_scratch(name: str) -> str:
        return (
            (SYSTEM + SERVER + ost(0, name=f"{name}-ost0"))
            .replace("lfs", name)
            .replace(f'"/{name}"', '"/scratch"')
        )

    assert imported(knowledge, at_scratch("old")) == (1, [])
    assert imported(knowledge, at_scratch("young")) == (2, [])
    assert mounts(knowledge) == {"old/OST0000": "/scratch", "young/OST0000": "/scratch"}


def test_undoing_a_discovery_is_not_undone_by_the_next_one(knowledge: KnowledgeBase) -> None:
    imported(knowledge, SYSTEM + SERVER + ost(0))
    discovered = SYSTEM + SERVER + ost(0, state="Degraded")
    number, _ = imported(knowledge, discovered)
    assert number is not None
    knowledge.exchange.apply(knowledge.exchange.plan_undo(number, author="ann", now=2.0))
    imported(knowledge, discovered)
    assert states(knowledge) == {"lfs/OST0000": "active"}


def test_a_discovery_leaves_other_storage_systems_alone(knowledge: KnowledgeBase, union_site: str) -> None:
    knowledge.load_site(union_site, source="site")
    imported(knowledge, SYSTEM + SERVER + ost(0))
    imported(knowledge, SYSTEM + SERVER + ost(0, state="Degraded"))
    assert len(knowledge.environment().elements) == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SYSTEM + SERVER + ost(0) + ':b a qsm:MergerfsUnion ; qsm:name "b" ; qsm:mountPoint "/b" .\n',
            "has 2",
        ),
        (SERVER, "has 0"),
        (SYSTEM + ':r a qsm:RequirementSet ; qsm:level "user" ; qsm:subject "eve" .\n', "no requirements"),
        (SYSTEM + SERVER + ost(0).replace(' ; qsm:target "0"', ""), "target"),
    ],
)
def test_what_is_no_discovery_is_refused(knowledge: KnowledgeBase, text: str, message: str) -> None:
    with pytest.raises(InvalidDescriptionError, match=message):
        imported(knowledge, text)
    assert dict(knowledge.exchange.page(SITE_GRAPH, "")) == {}
