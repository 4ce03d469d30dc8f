"""A text that an import refuses is refused by a check of the file, too, and one that it takes is not."""

from collections.abc import Callable

import pytest
from ses_service.knowledge.checks.validation import refused
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.import_check import check_import
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.knowledge_base import KnowledgeBase

HEAD = "@prefix : <urn:a:> .\n"
SET = """
<https://w3id.org/qstorman/requirements/user/eve> a qsm:RequirementSet ;
    qsm:level "user" ; qsm:subject "eve" ; qsm:revision 1 ;
    qsm:requires [ a qsm:Requirement ; odrl:leftOperand qsm:FreeCapacity ;
    odrl:operator odrl:gteq ; odrl:rightOperand 5.0e0 ; odrl:unit unit:GigaBYTE ; qsm:weight 1.0e0 ;
    qsm:strictness qsm:Soft ] .
"""


def changed(good: str, bad: str) -> Callable[[str], str]:
    """Return what makes a faulty site of a good one."""

    def change(site: str) -> str:
        assert good in site
        return site.replace(good, bad)

    return change


BAD = {
    "empty": lambda _: "",
    "a comment": lambda _: "# nothing",
    "prefixes only": lambda site: site.split(":union a")[0],
    "torn": lambda site: site + ":b9 a qsm:Branch ;;; :x",
    "another word": changed("qsm:nominalReadRate", "qsm:nominalReadrate"),
    "another class": changed("a qsm:Branch ;", "a qsm:Brunch ;"),
    "below zero": changed("numericValue 90.0e0", "numericValue -90.0e0"),
    "no server": changed("    qsm:servedBy :server ;\n", ""),
    "an iri that is none": changed('rdfs:label "Branch 1"@en', "rdfs:seeAlso <http://a/\\u0020b>"),
    "a zero byte": changed('"Branch 1"@en', '"Branch\\u0000 1"'),
    "blank nodes in a circle": lambda _: (
        HEAD + "".join(f"_:n{n} :p _:n{(n + 1) % 5000} .\n" for n in range(5000))
    ),
    "blank nodes shared": lambda _: HEAD + "".join(f":x :p _:n{n} . :y :p _:n{n} .\n" for n in range(3000)),
    "nodes without a name in each other": lambda site: (
        site + "_:a qsm:foo _:b . _:b qsm:foo _:a . _:c qsm:foo _:c ."
    ),
    "a weight of nothing": lambda site: site + ODRL + SET.replace("qsm:weight 1.0e0", "qsm:weight 0.0e0"),
    "a unit of another kind": lambda site: site + ODRL + SET.replace("unit:GigaBYTE", "unit:SEC"),
    "two sets of one user": lambda site: (
        site + ODRL + SET + SET.replace("user/eve", "eve").replace("5.0", "7.0")
    ),
    "another level": lambda site: site + ODRL + SET.replace('qsm:level "user"', 'qsm:level "tribe"'),
}
ODRL = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n"
PAIR = """
<https://w3id.org/qstorman/requirements/user/eve> a qsm:RequirementSet ;
    qsm:level "user" ; qsm:subject "eve" ; qsm:requires :read, :write .
:read a qsm:Requirement ; odrl:leftOperand qsm:CurrentReadRate ; rdfs:seeAlso :write ;
    odrl:operator odrl:gteq ; odrl:rightOperand 5.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC .
:write a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ; rdfs:seeAlso :read ;
    odrl:operator odrl:gteq ; odrl:rightOperand 5.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC .
"""
GOOD = {
    "a site": lambda site: site,
    "with requirements": lambda site: site + ODRL + SET,
    "with requirements of each other": lambda site: site + ODRL + PAIR,
}


@pytest.fixture
def exchange(knowledge: KnowledgeBase) -> Exchange:
    return knowledge.exchange


def imported(exchange: Exchange, text: str, *, trig: bool = False) -> None:
    exchange.plan_import(text, "given.ttl", Mode.MERGE, author="eve", now=1.0, trig=trig)


@pytest.mark.parametrize("case", BAD)
def test_what_an_import_refuses_is_refused_without_a_store(
    exchange: Exchange, union_site: str, case: str
) -> None:
    text = BAD[case](union_site)
    with pytest.raises(InvalidDescriptionError):
        imported(exchange, text)
    faults = check_import(text, "given.ttl")
    assert refused(faults)
    assert all(fault.message for fault in faults)


@pytest.mark.parametrize("case", GOOD)
def test_what_an_import_takes_is_not_refused(exchange: Exchange, union_site: str, case: str) -> None:
    text = GOOD[case](union_site)
    imported(exchange, text)
    assert not refused(check_import(text, "given.ttl"))


def test_trig_is_read_as_trig(exchange: Exchange, union_site: str) -> None:
    head, body = union_site.split(":union a", 1)
    text = f"{head}<urn:graph> {{ :union a{body} }}"
    imported(exchange, text, trig=True)
    assert not refused(check_import(text, "given.trig", trig=True))
    assert refused(check_import(text, "given.ttl"))
    broken = text.replace("a qsm:Branch ;", "a qsm:Brunch ;")
    with pytest.raises(InvalidDescriptionError):
        imported(exchange, broken, trig=True)
    assert refused(check_import(broken, "given.trig", trig=True))
    assert refused(check_import("{ torn", "given.trig", trig=True))
