"""Promises of the knowledge base, kept on both stores."""

import threading
from pathlib import Path

import pytest
from ses_service.knowledge.errors import InvalidDescriptionError, RevisionConflictError, StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.entities import ElementState, Kind, Level, Requirement, RequirementSet, Strictness
from ses_service.model.nodes import NetworkLink

WRITE = Requirement(Kind.CURRENT_WRITE_RATE, 80e6)
SPACE = Requirement(Kind.FREE_CAPACITY, 2.5e9, 2.0, Strictness.HARD)


def put(
    knowledge: KnowledgeBase, *requirements: Requirement, name: str = "root:dd", expected: int | None = None
) -> RequirementSet:
    """Replace an application's set."""
    return knowledge.replace_requirements(
        RequirementSet(Level.APPLICATION, name, tuple(requirements)),
        author="alice",
        now=1.5e9,
        expected_revision=expected,
    )


def test_the_union_example_is_read_as_described(knowledge: KnowledgeBase, union_site: str) -> None:
    knowledge.load_site(union_site, source="union-site.ttl")
    environment = knowledge.environment()
    assert [element.id for element in environment.elements] == [f"union/b{n}" for n in range(1, 9)]
    first = environment.elements[0]
    assert (first.target, first.server, first.state) == ("/srv/qstorman/b1", "server", ElementState.ACTIVE)
    assert (first.capacity_bytes, first.nominal_read_rate, first.nominal_write_rate) == (300e6, 120e6, 90e6)
    assert environment.systems["union"].backend == "mergerfs"
    assert environment.systems["union"].mount_point == "/srv/qstorman/union"
    assert environment.home_vo == {"nobody": "materials"}


def test_a_set_of_directories_has_paths_and_no_mount_point(knowledge: KnowledgeBase) -> None:
    site = Path(__file__).resolve().parents[2] / "ontology/examples/directories-site.ttl"
    knowledge.load_site(site.read_text(), source=site.name)
    environment = knowledge.environment()
    (system,) = environment.systems.values()
    assert (system.name, system.backend, system.mount_point) == ("scratch", "directories", "")
    seen = {
        element.target: (element.server, element.server_rate, element.state.value)
        for element in environment.elements
    }
    assert seen == {
        "/scratch1": ("login1", None, "active"),
        "/scratch2": ("login1", None, "active"),
        "/nfs/projects/tmp": ("filer", 1.25e9, "active"),
        "/nfs/shared": ("filer", 1.25e9, "draining"),
    }


def test_units_states_pools_and_access_are_read(knowledge: KnowledgeBase, lustre_site: str) -> None:
    knowledge.load_site(lustre_site, source="lustre-site.ttl")
    environment = knowledge.environment()
    flash, drained = environment.elements[0], environment.elements[3]
    assert (flash.nominal_read_rate, flash.nominal_write_rate, flash.capacity_bytes) == (5e9, 3e9, 8e12)
    assert (flash.pool, flash.tier, flash.target) == ("flash", "nvme", "0")
    assert drained.state is ElementState.DRAINING
    assert environment.node_access["n1"] == environment.node_access["n0048"] == frozenset({"lfs01"})
    thin, transfer = environment.node_classes
    assert (transfer.nodes, transfer.holds) == (("dtn1",), {"lfs01/OST0000", "lfs01/OST0002"})
    assert thin.holds == frozenset()
    assert (thin.name, thin.hosts, len(thin.nodes), thin.link_rate) == ("thin", "n[0001-0048]", 48, 12.5e9)
    assert thin.uplink == NetworkLink("leaf1", 25e9)
    assert {element.server: element.server_rate for element in environment.elements} == {
        "oss1": 12.5e9,
        "oss2": 12.5e9,
    }


def test_a_server_without_a_stated_link_has_no_limit(knowledge: KnowledgeBase, union_site: str) -> None:
    knowledge.load_site(union_site, source="union-site.ttl")
    assert {element.server_rate for element in knowledge.environment().elements} == {None}


def test_the_latest_calibration_of_a_node_is_read(knowledge: KnowledgeBase, union_site: str) -> None:
    def measured(number: int, day: int, rate: str) -> str:
        return (
            f'<calibration/{number}> a qsm:NodeCalibration ; qsm:name "n1.example.org" ; qsm:cores 64 ; '
            f'qsm:calibratedAt "2026-11-{day}T07:00:00Z"^^xsd:dateTime ; qsm:calibrationMethod "copies" ; '
            "qsm:coreCopyRate [ a qudt:QuantityValue ; qudt:numericValue 8.0e3 ; "
            "qudt:hasUnit unit:MegaBYTE-PER-SEC ] ; "
            f"qsm:linkRate [ a qudt:QuantityValue ; qudt:numericValue {rate} ; "
            "qudt:hasUnit unit:MegaBYTE-PER-SEC ] .\n"
        )

    prefix = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    text = prefix + union_site + measured(1, 23, "1.25e3") + measured(2, 22, "9.0e2")
    knowledge.load_site(text, source="site")
    environment = knowledge.environment()
    calibration = environment.calibrations.get("n1")
    assert calibration == environment.calibrations.get("n1.example.org")
    assert calibration is not None
    assert (calibration.link_rate, calibration.core_copy_rate, calibration.memory_rate) == (1.25e9, 8e9, None)
    assert (calibration.at, calibration.cores, calibration.method) == (1_795_417_200.0, 64, "copies")
    assert environment.calibrations.get("n2") is None


def test_an_empty_store_has_no_site_and_no_requirements(knowledge: KnowledgeBase) -> None:
    assert knowledge.environment().elements == ()
    assert knowledge.requirement_sets() == ()


def test_a_site_replaces_the_one_before(knowledge: KnowledgeBase, union_site: str, lustre_site: str) -> None:
    knowledge.load_site(union_site, source="one")
    before = knowledge.revision()
    knowledge.load_site(lustre_site, source="two")
    assert {element.storage_system for element in knowledge.environment().elements} == {"lfs01"}
    assert knowledge.revision() != before


def test_a_site_that_is_stored_already_is_not_loaded_again(
    store: HttpStore, union_site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    KnowledgeBase(store).load_site(union_site, source="site")
    monkeypatch.setattr(store, "put_graph", lambda *_: pytest.fail("loaded a second time"))
    KnowledgeBase(store).load_site(union_site, source="site")
    assert len(KnowledgeBase(store).environment().elements) == 8


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("qudt:numericValue 90.0e0", "qudt:numericValue -90.0e0", "b1: qsm:nominalWriteRate is one positive"),
        (
            "unit:MegaBYTE ]",
            "unit:MegaBYTE-PER-SEC ]",
            "b1: qsm:capacity is one positive quantity in a unit of data",
        ),
        ("    qsm:servedBy :server ;\n", "", "b1: A storage element needs exactly one server"),
        ("    qsm:elementOf :union ;\n", "", "union: A storage system without elements"),
        (
            'qsm:target "/srv/qstorman/b1"',
            'qsm:target "b1"',
            "b1: The qsm:target of a branch is the absolute path",
        ),
        ('qsm:name "b2"', 'qsm:name "b1"', "b1 and b2 share the name 'b1'"),
        (
            'qsm:target "/srv/qstorman/b2"',
            'qsm:target "/srv/qstorman/b1"',
            "b1 and b2 share the target '/srv/qstorman/b1' in one storage system: state it of one element",
        ),
        (
            'qsm:mountPoint "/srv',
            'qsm:mountPoint "srv',
            "union: A storage system needs exactly one qsm:mountPoint",
        ),
        ("a qsm:MergerfsUnion ;", "a qsm:MergerfsUnion ;;; :x", "line"),
        ('rdfs:label "Union', 'rdfs:label "Un"ion', "not Turtle"),
    ],
)
def test_a_faulty_site_is_refused_in_words_and_changes_nothing(
    knowledge: KnowledgeBase, union_site: str, good: str, bad: str, message: str
) -> None:
    knowledge.load_site(union_site, source="good")
    before = knowledge.revision()
    broken = union_site.replace(good, bad)
    assert broken != union_site
    with pytest.raises(InvalidDescriptionError) as refused:
        knowledge.load_site(broken, source="site.ttl")
    assert "site.ttl" in str(refused.value)
    assert any(message in text for text in refused.value.messages), refused.value.messages
    assert knowledge.revision() == before
    assert len(knowledge.environment().elements) == 8


def test_requirements_come_back_as_written(knowledge: KnowledgeBase) -> None:
    written = put(knowledge, WRITE, SPACE)
    assert (written.revision, written.modified_by, written.modified_at) == (1, "alice", 1.5e9)
    (read,) = knowledge.requirement_sets()
    assert (read.level, read.name, read.revision) == (Level.APPLICATION, "root:dd", 1)
    assert {r.kind: r for r in read.requirements} == {r.kind: r for r in (WRITE, SPACE)}


def test_a_replaced_set_leaves_nothing_of_the_one_before(knowledge: KnowledgeBase, store: HttpStore) -> None:
    # 100.5 and 100.50 are one number under two names: a store must not let old values pile up.
    for rate in (100.5e6, 100.50e6, 80e6, 0.1e6, 1e6 / 3):
        put(knowledge, Requirement(Kind.CURRENT_WRITE_RATE, rate), SPACE)
    put(knowledge, WRITE)
    (read,) = knowledge.requirement_sets()
    assert read.requirements == (WRITE,)
    assert read.revision == 6
    operands = store.select(
        "SELECT ?v WHERE { GRAPH ?g { ?s <http://www.w3.org/ns/odrl/2/rightOperand> ?v } }"
    )
    assert len(operands) == 1


def test_an_emptied_set_keeps_its_revision(knowledge: KnowledgeBase) -> None:
    put(knowledge, WRITE)
    assert put(knowledge).revision == 2
    (read,) = knowledge.requirement_sets()
    assert (read.requirements, read.revision) == ((), 2)


def test_who_read_an_older_revision_does_not_overwrite(knowledge: KnowledgeBase) -> None:
    put(knowledge, WRITE, expected=0)
    put(knowledge, SPACE, expected=1)
    with pytest.raises(RevisionConflictError, match="has revision 2, not 1"):
        put(knowledge, expected=1)
    assert knowledge.requirement_sets()[0].requirements == (SPACE,)


def test_of_writers_at_once_one_wins_and_its_set_is_whole(knowledge: KnowledgeBase) -> None:
    won: list[int] = []

    def write(number: int) -> None:
        try:
            put(knowledge, Requirement(Kind.CURRENT_WRITE_RATE, number * 1e6), SPACE, expected=0)
            won.append(number)
        except RevisionConflictError:
            pass

    writers = [threading.Thread(target=write, args=(number,)) for number in range(1, 9)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(won) == 1
    (read,) = knowledge.requirement_sets()
    assert read.revision == 1
    assert {r.kind: r.bound for r in read.requirements}[Kind.CURRENT_WRITE_RATE] == won[0] * 1e6
    assert len(read.requirements) == 2


@pytest.mark.parametrize(
    "name",
    [
        'a"b',
        "a\nb",
        "a\\",
        "x> } ; DROP ALL ; INSERT DATA { <a:b> <a:b> <a:b",
        '" } } ; DROP ALL #',
        "$set ?set $graph",
        "\u00e4\u2028\U0001f600",
        "'''",
        "a\nPREFIX x: <y>",
    ],
)
def test_whatever_a_name_holds_stays_a_name(knowledge: KnowledgeBase, union_site: str, name: str) -> None:
    knowledge.load_site(union_site, source="site")
    put(knowledge, WRITE, name=name)
    put(knowledge, SPACE, name="other:dd")
    assert {read.name for read in knowledge.requirement_sets()} == {name, "other:dd"}
    assert len(knowledge.environment().elements) == 8
    put(knowledge, name=name)
    assert {r.name: r.requirements for r in knowledge.requirement_sets()} == {name: (), "other:dd": (SPACE,)}


def test_every_change_changes_the_revision(knowledge: KnowledgeBase, union_site: str) -> None:
    seen = [knowledge.revision()]
    knowledge.load_site(union_site, source="site")
    seen.append(knowledge.revision())
    put(knowledge, WRITE)
    seen.append(knowledge.revision())
    put(knowledge, WRITE, name="other:dd")
    seen.append(knowledge.revision())
    assert len(set(seen)) == 4
    assert knowledge.revision() == seen[-1]


def test_a_store_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        KnowledgeBase(HttpStore.for_oxigraph("http://127.0.0.1:9", timeout=1.0)).revision()
