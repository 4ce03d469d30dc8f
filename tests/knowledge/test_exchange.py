"""Promises of export, import, history and undo, on both stores."""

import re
from pathlib import Path

import pytest
from rdflib import URIRef
from ses_service.knowledge.errors import (
    ChangedSinceError,
    InvalidDescriptionError,
    StaleReadingError,
    UnknownChangeError,
)
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.incoming import Incoming, Mode
from ses_service.knowledge.exchange.plans import Plan
from ses_service.knowledge.history import KEPT
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.statements.turtle_writer import document
from ses_service.knowledge.store.store import HttpStore
from ses_service.knowledge.terms import REQUIREMENTS_GRAPH, SITE_GRAPH, requirement_set_iri
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet
from ses_service.model.limits import MAX_APPLICATIONS

ROOT = Path(__file__).resolve().parents[2]
SITE = "https://w3id.org/qstorman/site/demo/"


@pytest.fixture
def exchange(knowledge: KnowledgeBase) -> Exchange:
    return knowledge.exchange


@pytest.fixture
def requirements() -> str:
    return (ROOT / "ontology/examples/requirements.ttl").read_text()


def plan(exchange: Exchange, text: str, mode: Mode = Mode.MERGE, author: str = "ann", **options) -> Plan:
    return exchange.plan_import(text, "given.ttl", mode, author=author, now=1.5e9, **options)


def put(exchange: Exchange, text: str, mode: Mode = Mode.MERGE, **options) -> int | None:
    return exchange.apply(plan(exchange, text, mode, **options))


def exported(exchange: Exchange) -> str:
    """Return site and requirements as one text, page by page."""
    description = {}
    for graph in (SITE_GRAPH, REQUIREMENTS_GRAPH):
        page = exchange.page(graph, "")
        while page:
            description.update(page)
            page = exchange.page(graph, str(page[-1][0]))
    return document(description)


def test_an_export_imported_again_changes_nothing(exchange, union_site, requirements):
    put(exchange, union_site + requirements)
    text, stamps = exported(exchange), str(exchange.stamps())
    for mode in (Mode.MERGE, Mode.REPLACE):
        again = plan(exchange, text, mode)
        assert again.edits == ()
        assert exchange.apply(again) is None
    assert str(exchange.stamps()) == stamps
    assert exported(exchange) == text


def test_a_plan_that_was_shown_is_made_without_being_worked_out_again(exchange, union_site, monkeypatch):
    worked_out = []
    read = Incoming.read
    monkeypatch.setattr(
        Incoming, "read", lambda *given, **options: worked_out.append(given) or read(*given, **options)
    )
    shown = plan(exchange, union_site)
    assert plan(exchange, union_site) is shown
    assert len(worked_out) == 1
    assert plan(exchange, union_site, author="bob") is not shown
    exchange.apply(plan(exchange, union_site))
    worked_out.clear()
    assert plan(exchange, union_site).edits == ()  # something changed since
    assert len(worked_out) == 1


def test_an_export_put_into_an_empty_store_gives_the_same_export(exchange, store, union_site, requirements):
    put(exchange, union_site + requirements)
    text = exported(exchange)
    store.update("DROP ALL")
    put(exchange, text)
    assert exported(exchange) == text


def test_the_link_of_a_server_is_merged_and_exported_like_any_fact(exchange, knowledge, union_site):
    put(exchange, union_site)
    rate = "[ a qudt:QuantityValue ; qudt:numericValue 100.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ]"
    prefixes = "".join(re.findall("^@prefix .*\n", union_site, re.MULTILINE))
    put(exchange, f"{prefixes}\n:server qsm:linkRate {rate} .")
    assert {element.server_rate for element in knowledge.environment().elements} == {100e6}
    text = exported(exchange)
    put(exchange, union_site, Mode.REPLACE)
    assert {element.server_rate for element in knowledge.environment().elements} == {None}
    put(exchange, text, Mode.REPLACE)
    assert {element.server_rate for element in knowledge.environment().elements} == {100e6}
    wrong = rate.replace("unit:MegaBYTE-PER-SEC", "unit:MegaBYTE")
    with pytest.raises(InvalidDescriptionError, match="linkRate"):
        put(exchange, f"{prefixes}\n:server qsm:linkRate {wrong} .")


def test_an_export_says_what_the_service_reads(exchange, knowledge, lustre_site, requirements):
    put(exchange, lustre_site + requirements)
    environment, sets = knowledge.environment(), knowledge.requirement_sets()
    assert len(environment.elements) == 4
    put(exchange, exported(exchange).replace("7000", "7000"), Mode.REPLACE)
    assert knowledge.environment().elements == environment.elements
    assert knowledge.requirement_sets() == sets


def test_the_lines_of_a_text_may_stand_in_any_order(exchange, union_site):
    put(exchange, union_site)
    head, *blocks = union_site.split("\n\n")
    turned = "\n\n".join([head, *reversed(blocks)])
    assert turned != union_site
    assert not plan(exchange, turned, Mode.REPLACE).changes_anything


def test_a_merge_changes_what_the_text_states_and_nothing_else(exchange, knowledge, union_site):
    put(exchange, union_site)
    before = {element.id: element for element in knowledge.environment().elements}
    text = f"""@prefix qsm: <https://w3id.org/qstorman/ontology#> .
    <{SITE}b1> qsm:state qsm:Draining ."""
    assert put(exchange, text) == 2
    after = {element.id: element for element in knowledge.environment().elements}
    assert {name for name in after if after[name] != before[name]} == {"union/b1"}
    assert after["union/b1"].state.value == "draining"
    assert after["union/b1"].capacity_bytes == before["union/b1"].capacity_bytes


def test_replacing_the_site_leaves_requirements_alone_and_back(
    exchange, knowledge, union_site, lustre_site, requirements
):
    put(exchange, union_site + requirements)
    sets = knowledge.requirement_sets()
    put(exchange, lustre_site, Mode.REPLACE)
    assert {element.storage_system for element in knowledge.environment().elements} == {"lfs01"}
    assert knowledge.requirement_sets() == sets
    only = requirements.split("\n\n")
    put(exchange, "\n\n".join(only[:2]), Mode.REPLACE)
    assert [stored.name for stored in knowledge.requirement_sets() if stored.requirements] == ["default"]
    assert len(knowledge.environment().elements) == 4


def test_values_a_change_replaces_leave_nothing_behind(exchange, store, union_site):
    put(exchange, union_site)
    for rate in ("100.50", "100.5e0", "100.500", "33.3"):
        put(exchange, union_site.replace("numericValue 90.0e0", f"numericValue {rate}"))
    rates = store.select(
        f"SELECT ?v WHERE {{ GRAPH <{SITE_GRAPH}> {{ <{SITE}b1> "
        "<https://w3id.org/qstorman/ontology#nominalWriteRate> "
        "[ <http://qudt.org/schema/qudt/numericValue> ?v ] } } ORDER BY ?v"
    )
    assert [float(row["v"]) for row in rates] == [33.3]
    orphans = store.select(
        f"SELECT ?s WHERE {{ GRAPH <{SITE_GRAPH}> {{ ?s ?p ?o"
        " FILTER (isBlank(?s) && NOT EXISTS { ?t ?q ?s }) } } ORDER BY ?s"
    )
    assert orphans == []


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("numericValue 90.0e0", "numericValue -90.0e0", "line 26"),
        ("    qsm:servedBy :server ;\n", "", "b1: "),
        ("a qsm:MergerfsUnion ;", "a qsm:MergerfsUnion ;;; :x", "not Turtle"),
        ("a qsm:Branch ;", "a qsm:Brunch ;", "did you mean qsm:Branch"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.MERGE, Mode.REPLACE])
def test_a_faulty_text_is_refused_in_words_and_changes_nothing(
    exchange, lustre_site, union_site, good, bad, message, mode
):
    put(exchange, lustre_site)
    text, stamps = exported(exchange), exchange.stamps()
    faulty = union_site.replace(good, bad)
    assert faulty != union_site
    with pytest.raises(InvalidDescriptionError) as refused:
        put(exchange, faulty, mode)
    if mode is Mode.REPLACE or "line" not in message:
        assert message in str(refused.value)
    assert (exported(exchange), exchange.stamps()) == (text, stamps)
    assert len(exchange.changes()) == 1


def test_a_text_that_would_leave_no_storage_is_refused(exchange, union_site):
    put(exchange, union_site)
    text = '@prefix qsm: <https://w3id.org/qstorman/ontology#> . <u> a qsm:User ; qsm:name "eve" .'
    with pytest.raises(InvalidDescriptionError, match="without a storage system"):
        put(exchange, text, Mode.REPLACE)
    with pytest.raises(InvalidDescriptionError, match="says nothing"):
        put(exchange, "# empty", Mode.REPLACE)


def test_what_was_planned_on_an_older_state_is_not_made(exchange, knowledge, union_site, lustre_site):
    put(exchange, union_site)
    stale = plan(exchange, lustre_site, Mode.REPLACE)
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "eve", (Requirement(Kind.FREE_CAPACITY, 1e9),)), author="eve", now=1.0
    )
    text = exported(exchange)
    with pytest.raises(StaleReadingError):
        exchange.apply(stale)
    assert exported(exchange) == text
    assert [change.author for change in exchange.changes()] == ["eve", "ann"]


def test_things_without_a_name_can_be_replaced(exchange, knowledge, union_site, store):
    nameless = union_site + '\n[] a qsm:User ; qsm:name "eve" ; qsm:homeOrganization :materials .\n'
    store.put_graph(str(SITE_GRAPH), nameless)
    assert knowledge.environment().home_vo["eve"] == "materials"
    text = exported(exchange)
    assert put(exchange, union_site, Mode.REPLACE) is not None
    assert "eve" not in knowledge.environment().home_vo
    assert text == exported(exchange)


def test_every_change_is_recorded_with_who_when_and_both_states(exchange, knowledge, union_site):
    put(exchange, union_site)
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "eve", (Requirement(Kind.FREE_CAPACITY, 1e9),)), author="portal", now=1.6e9
    )
    knowledge.replace_requirements(RequirementSet(Level.USER, "eve"), author="eve", now=1.7e9)
    last, middle, first = exchange.changes()
    assert [change.number for change in (last, middle, first)] == [3, 2, 1]
    assert [change.author for change in (last, middle, first)] == ["eve", "portal", "ann"]
    assert middle.at.startswith("2020-09-13T12:26:40")
    assert (first.subjects, middle.subjects) == (13, 1)
    assert first.reason == "import of given.ttl (merge)"
    ((state,), more) = exchange.parts(3)
    assert not more
    assert state.subject == requirement_set_iri(Level.USER, "eve")
    assert "1000000000.0e0" in (state.before or "")
    assert "qsm:requires" not in (state.after or "qsm:requires")
    assert exchange.parts(2)[0][0].before is None
    assert [change.number for change in exchange.changes(subject=state.subject)] == [3, 2]
    assert [change.number for change in exchange.changes(before=3)] == [2, 1]


def test_a_set_put_again_as_it_is_leaves_no_change(exchange, knowledge):
    for _ in range(2):
        knowledge.replace_requirements(
            RequirementSet(Level.USER, "eve", (Requirement(Kind.FREE_CAPACITY, 1e9),)), author="eve", now=1.0
        )
    assert [change.number for change in exchange.changes()] == [1]


def test_loading_a_site_is_recorded_and_keeps_what_was_imported_since(
    exchange, knowledge, union_site, lustre_site
):
    knowledge.load_site(union_site, source="site.ttl")
    changed = union_site.replace("300.0e0", "400.0e0")
    put(exchange, changed)
    knowledge.load_site(union_site, source="site.ttl")
    assert knowledge.environment().elements[0].capacity_bytes == 400e6
    knowledge.load_site(lustre_site, source="other.ttl")
    assert [change.reason for change in exchange.changes()] == [
        "site loaded from other.ttl", "import of given.ttl (merge)", "site loaded from site.ttl",
    ]  # fmt: skip


def test_undo_puts_back_what_was_there(exchange, knowledge, union_site, requirements):
    put(exchange, union_site)
    before = exported(exchange)
    number = put(exchange, union_site.replace("90.0e0", "91.0e0") + requirements)
    undone = exchange.apply(exchange.plan_undo(number, author="bob", now=1.6e9))
    after = re.sub(r"<https://w3id.org/qstorman/requirements/[^#]*?\n\n?(?=<|\Z)", "", exported(exchange))
    assert {stored for stored in knowledge.requirement_sets() if stored.requirements} == set()
    assert after.count("91.0e0") == 0
    assert [line for line in before.splitlines() if "b1" in line] == [
        line for line in after.splitlines() if "b1" in line
    ]
    latest = exchange.changes()[0]
    assert (latest.number, latest.undone, latest.author) == (undone, number, "bob")
    # The undoing can be undone like any other change.
    exchange.apply(exchange.plan_undo(undone, author="bob", now=1.7e9))
    assert "91.0e0" in exported(exchange)
    assert len([stored for stored in knowledge.requirement_sets() if stored.requirements]) == 4


def test_a_set_with_times_can_be_undone(exchange, knowledge):
    """A moment is the same however its zone is written."""
    timed = Requirement(Kind.FREE_CAPACITY, 1e9, valid_from=1e9 + 0.25, valid_until=2e9)
    knowledge.replace_requirements(RequirementSet(Level.USER, "eve", (timed,)), author="eve", now=1.0)
    number = exchange.changes()[0].number
    exchange.apply(exchange.plan_undo(number, author="eve", now=2.0))
    assert [stored.requirements for stored in knowledge.requirement_sets()] == [()]
    exchange.apply(exchange.plan_undo(number + 1, author="eve", now=3.0))
    assert [stored.requirements for stored in knowledge.requirement_sets()] == [(timed,)]


def test_undo_is_refused_after_a_later_change_of_the_same_unless_forced(exchange, knowledge, union_site):
    put(exchange, union_site)
    number = put(exchange, union_site.replace("90.0e0", "91.0e0"))
    put(exchange, union_site.replace("90.0e0", "92.0e0"))
    with pytest.raises(ChangedSinceError, match=r"b1.* was changed again after change 2 by change 3"):
        exchange.plan_undo(number, author="bob", now=1.6e9)
    exchange.apply(exchange.plan_undo(number, author="bob", now=1.6e9, force=True))
    assert (
        next(
            element for element in knowledge.environment().elements if element.id == "union/b1"
        ).nominal_write_rate
        == 90e6
    )


def test_undo_of_a_change_beside_a_later_one_keeps_the_later_one(exchange, knowledge, union_site):
    put(exchange, union_site)
    for name in ("eve", "bob"):
        knowledge.replace_requirements(
            RequirementSet(Level.USER, name, (Requirement(Kind.FREE_CAPACITY, 1e9),)), author=name, now=1.0
        )
    exchange.apply(exchange.plan_undo(2, author="eve", now=2.0))
    assert [stored.name for stored in knowledge.requirement_sets() if stored.requirements] == ["bob"]


def test_undo_that_would_break_the_rules_is_refused(exchange, union_site):
    put(exchange, union_site)
    node = union_site + '\n:n1 a qsm:ComputeNode ; qsm:name "n1" ; qsm:hasAccess :union .\n'
    put(exchange, node)
    with pytest.raises(InvalidDescriptionError, match="n1"):
        exchange.plan_undo(1, author="bob", now=1.0)


def test_a_change_nobody_knows_cannot_be_undone(exchange):
    with pytest.raises(UnknownChangeError, match="no change 7"):
        exchange.plan_undo(7, author="bob", now=1.0)


def test_the_history_is_bounded(exchange, knowledge, store, monkeypatch):
    monkeypatch.setattr("ses_service.knowledge.history.KEPT", 3)
    assert KEPT >= 1000
    for size in range(1, 7):
        knowledge.replace_requirements(
            RequirementSet(Level.USER, "eve", (Requirement(Kind.FREE_CAPACITY, size * 1e9),)),
            author="eve",
            now=1.0,
        )
    assert [change.number for change in exchange.changes()] == [6, 5, 4]
    assert exchange.parts(3) == ([], False)
    left = store.select(
        "SELECT ?s WHERE { GRAPH ?g { ?s a <http://www.w3.org/ns/prov#Entity> } } ORDER BY ?s"
    )
    assert len(left) == 6


def test_a_change_of_many_subjects_comes_in_pages(exchange, lustre_site):
    element = lustre_site[lustre_site.index(":ost3") : lustre_site.index(":n1")]
    many = lustre_site + "".join(
        element.replace(":ost3", f":ost{number}")
        .replace("OST0003", f"OST{number:04}")
        .replace('"3"', f'"{number}"')
        for number in range(10, 220)
    )
    put(exchange, many)
    assert put(exchange, many.replace("700.0e0", "701.0e0")) == 2
    first, more = exchange.parts(2)
    assert more
    second, end = exchange.parts(2, str(first[-1].subject))
    assert not end
    subjects = [part.subject for part in (*first, *second)]
    assert len(subjects) == len(set(subjects)) == 212
    assert all(part.before and part.after for part in (*first, *second))
    assert exchange.all_parts(2) == [*first, *second]
    names = [subject for subject, _ in exchange.page(SITE_GRAPH, "")]
    assert len(names) == 200
    assert names == sorted(names)


def test_trig_is_understood(exchange, union_site):
    lines = union_site.splitlines()
    heads = [line for line in lines if line.startswith("@prefix")]
    rest = [line for line in lines if line not in heads]
    text = "\n".join([*heads, f"GRAPH <{SITE_GRAPH}> {{", *rest, "}"])
    put(exchange, union_site)
    assert not plan(exchange, text, Mode.REPLACE, trig=True).changes_anything
    with pytest.raises(InvalidDescriptionError, match="not TriG"):
        plan(exchange, text[:-1], Mode.REPLACE, trig=True)


def test_names_from_a_text_stay_names(exchange, knowledge, union_site):
    evil = URIRef(f"{SITE}x")
    text = (
        union_site + '\n:x a qsm:User ; qsm:name "a\\" } } ; DROP ALL #" ; rdfs:label "\\u0001$graph"@en .\n'
    )
    put(exchange, text)
    assert len(knowledge.environment().elements) == 8
    assert dict(exchange.page(SITE_GRAPH, ""))[evil]
    with pytest.raises(InvalidDescriptionError, match=r"line .*: not text a store can keep"):
        put(exchange, text.replace("u0001", "u0000"))
    with pytest.raises(InvalidDescriptionError, match=r"line .*: not an IRI"):
        put(exchange, union_site + "\n<x%3E> a qsm:User ; qsm:name <a\\u003E> .\n")


def test_a_store_that_stops_in_the_middle_has_both_or_neither(
    exchange, knowledge, store: HttpStore, union_site, monkeypatch
):
    put(exchange, union_site)
    real, sent = store.update, []

    def torn(update: str, *, patience: float = 1.0) -> None:
        sent.append(update)
        real(update + "\n ; THIS IS NO SPARQL", patience=patience)

    text = exported(exchange)
    with monkeypatch.context() as patch:
        patch.setattr(store, "update", torn)
        with pytest.raises(Exception, match="answered 400"):
            put(exchange, union_site.replace("90.0e0", "91.0e0"))
    assert len(sent) == 1
    assert exported(exchange) == text
    assert len(exchange.changes()) == 1


def test_a_request_sent_twice_leaves_what_it_leaves_once(
    exchange, knowledge, store: HttpStore, union_site, monkeypatch
):
    real = store.update

    def twice(update: str, *, patience: float = 1.0) -> None:
        real(update, patience=patience)
        real(update, patience=patience)

    with monkeypatch.context() as patch:
        patch.setattr(store, "update", twice)
        put(exchange, union_site)
        text = exported(exchange)
        knowledge.replace_requirements(
            RequirementSet(Level.USER, "eve", (Requirement(Kind.FREE_CAPACITY, 1e9),)), author="eve", now=1.0
        )
        put(exchange, union_site.replace("90.0e0", "91.0e0"))
    assert [change.number for change in exchange.changes()] == [3, 2, 1]
    assert text.count("qsm:nominalWriteRate [") == 8
    assert exported(exchange).count("qsm:nominalWriteRate [") == 8
    assert [stored.revision for stored in knowledge.requirement_sets()] == [1]


def test_an_import_gives_no_user_an_application_too_many(exchange, union_site):
    def sets(count: int) -> str:
        prefixes = (
            "@prefix odrl: <http://www.w3.org/ns/odrl/2/> . @prefix unit: <http://qudt.org/vocab/unit/> .\n"
            "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        )
        return (
            union_site
            + prefixes
            + "".join(
                f"<urn:q:{n}> a qsm:RequirementSet ; qsm:level 'application' ; qsm:subject 'eve:a{n}' ;\n"
                "  qsm:revision 1 ; qsm:requires [ a qsm:Requirement ; odrl:leftOperand qsm:FreeCapacity ;\n"
                "  odrl:operator odrl:gteq ; odrl:rightOperand '1.0e9'^^xsd:double ; odrl:unit unit:BYTE ;\n"
                "  qsm:weight '1.0e0'^^xsd:double ; qsm:strictness qsm:Soft ] .\n"
                for n in range(count)
            )
        )

    assert len(plan(exchange, sets(MAX_APPLICATIONS)).edits) > MAX_APPLICATIONS
    with pytest.raises(InvalidDescriptionError, match="eve would have 64 applications with requirements"):
        plan(exchange, sets(MAX_APPLICATIONS + 1))
