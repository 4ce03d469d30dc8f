"""Promises about descriptions and requirements nobody should give: refused in words, nothing changed."""

import pytest
from ses_service.knowledge.errors import InvalidDescriptionError, StoreRefusedError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.store import HttpStore
from ses_service.knowledge.terms import QSM, REQUIREMENTS_GRAPH, SITE_GRAPH
from ses_service.model.entities import Level, Requirement, RequirementSet
from ses_service.model.kinds import PREDICTED
from ses_service.model.limits import MAX_BOUND

PREFIXES = f"""@prefix qsm: <{QSM}> .
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."""
MALLORY = 'a qsm:RequirementSet ; qsm:level "user" ; qsm:subject "mallory" ; qsm:requires'


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("qsm:nominalReadRate", "qsm:nominalReadrate", "did you mean qsm:nominalReadRate"),
        ("a qsm:Branch", "a qsm:Brnach", "did you mean qsm:Branch"),
        ('    qsm:name "server"', '    rdfs:comment "server"', "server: A server needs exactly one qsm:name"),
        ("qsm:elementOf :union", "qsm:elementOf :onion", "exactly one storage system"),
        ("numericValue 120.0e0", 'numericValue "INF"^^<http://www.w3.org/2001/XMLSchema#double>', "positive"),
        ("unit:MegaBYTE-PER-SEC", "unit:TeraBYTE-PER-SEC", "unit of data rate"),
        ("a qsm:MergerfsUnion", "a qsm:StorageSystem", "no storage system"),
    ],
)
def test_a_site_that_would_lose_elements_or_rates_is_refused(
    knowledge: KnowledgeBase, union_site: str, good: str, bad: str, message: str
) -> None:
    broken = union_site.replace(good, bad)
    assert broken != union_site
    with pytest.raises(InvalidDescriptionError) as refused:
        knowledge.load_site(broken, source="site.ttl")
    assert any(message in text for text in refused.value.messages), refused.value.messages


def test_an_empty_description_does_not_empty_the_site(knowledge: KnowledgeBase, union_site: str) -> None:
    knowledge.load_site(union_site, source="site.ttl")
    with pytest.raises(InvalidDescriptionError, match="it says nothing"):
        knowledge.load_site("", source="empty.ttl")
    assert len(knowledge.environment().elements) == 8


def test_two_systems_cannot_share_a_name(knowledge: KnowledgeBase, union_site: str) -> None:
    second = (
        ':u2 a qsm:MergerfsUnion ; qsm:name "union" ; qsm:mountPoint "/u2" .\n'
        ':c1 a qsm:Branch ; qsm:name "c1" ; qsm:elementOf :u2 ; qsm:servedBy :server ; qsm:target "/c1" .\n'
    )
    with pytest.raises(InvalidDescriptionError, match="u2 and union share the name 'union'"):
        knowledge.load_site(union_site + second, source="site.ttl")


def test_of_several_labels_the_first_in_order_counts(knowledge: KnowledgeBase, union_site: str) -> None:
    labelled = union_site.replace('"Branch 1"@en', '"Branch 1"@en, "Zweig 1"@de')
    assert labelled != union_site
    knowledge.load_site(labelled, source="site.ttl")
    elements = knowledge.environment().elements
    assert [element.id for element in elements] == [f"union/b{n}" for n in range(1, 9)]
    assert elements[0].label == "Branch 1"


def test_what_others_wrote_and_nobody_can_read_is_a_fault_of_the_store(
    knowledge: KnowledgeBase, store: HttpStore, union_site: str
) -> None:
    store.put_graph(SITE_GRAPH, union_site.replace("numericValue 120.0e0", 'numericValue "fast"'))
    with pytest.raises(StoreRefusedError, match=r"the site of the knowledge base cannot be read: .*'fast'"):
        knowledge.environment()


@pytest.mark.parametrize(
    "odd",
    [
        'a qsm:RequirementSet ; qsm:level "team" ; qsm:subject "mallory" .',
        'a qsm:RequirementSet ; qsm:level "user" ; qsm:subject "mallory" ; qsm:revision "x" .',
        f"{MALLORY} [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ;"
        ' odrl:rightOperand "much" ; odrl:unit unit:MegaBYTE-PER-SEC ] .',
        f"{MALLORY} [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ;"
        " odrl:rightOperand 1.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC ; qsm:weight -1.0e0 ] .",
        f"{MALLORY} [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ;"
        " odrl:rightOperand 1.0e0 ; odrl:unit unit:FURLONG ] .",
        f"{MALLORY} [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ;"
        ' odrl:rightOperand "NaN"^^xsd:double ; odrl:unit unit:MegaBYTE-PER-SEC ] .',
    ],
)
def test_the_requirements_of_one_that_cannot_be_read_hide_nobody_elses(
    knowledge: KnowledgeBase, store: HttpStore, odd: str
) -> None:
    alice = (
        'a qsm:RequirementSet ; qsm:level "user" ; qsm:subject "alice" ;'
        " qsm:requires [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ;"
        " odrl:rightOperand 7.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC ] ."
    )
    store.put_graph(REQUIREMENTS_GRAPH, f"{PREFIXES}\n<urn:a> {odd}\n<urn:b> {alice}\n")
    (requirement_set,) = knowledge.requirement_sets()
    assert requirement_set.name == "alice"
    assert [stated.bound for stated in requirement_set.requirements] == [7e6]


def test_a_bound_beyond_the_limits_is_read_as_the_limit(knowledge: KnowledgeBase, store: HttpStore) -> None:
    """An older service stored it, and nodes would refuse it."""
    stored = (
        f"{MALLORY} [ a qsm:Requirement ; odrl:leftOperand qsm:FreeCapacity ;"
        " odrl:rightOperand 1.0e15 ; odrl:unit unit:GigaBYTE ] ."
    )
    store.put_graph(REQUIREMENTS_GRAPH, f"{PREFIXES}\n<urn:a> {stored}\n")
    (requirement_set,) = knowledge.requirement_sets()
    assert [stated.bound for stated in requirement_set.requirements] == [MAX_BOUND]


def test_a_class_of_nodes_whose_rate_cannot_be_read_is_left_out(
    knowledge: KnowledgeBase, store: HttpStore, lustre_site: str
) -> None:
    rate = "numericValue %s ; qudt:hasUnit unit:GigaBYTE-PER-SEC ] ;\n"
    broken = lustre_site.replace(rate % "12.5e0", rate % '"x"', 1)
    assert broken != lustre_site
    store.put_graph(SITE_GRAPH, broken)
    assert [node_class.name for node_class in knowledge.environment().node_classes] == ["transfer"]


@pytest.mark.parametrize("minimum", [1e6 / 3, 4462349276.6, 8474337369.372327, 0.1, 1e-9, 123456789.123456])
def test_a_minimum_comes_back_to_the_last_digit(knowledge: KnowledgeBase, minimum: float) -> None:
    stated = [Requirement(kind, minimum) for kind in PREDICTED]
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "alice", tuple(stated)), author="alice", now=1.0
    )
    (read,) = knowledge.requirement_sets()
    assert sorted(read.requirements, key=repr) == sorted(stated, key=repr)
