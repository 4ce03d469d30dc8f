"""Edits of single elements leave everything else of the site as it is."""

import pytest
from rdflib import Literal
from ses_service.knowledge.exchange.element_edits import ElementName, added, changed, removed
from ses_service.knowledge.exchange.incoming import check
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.statements import describe
from ses_service.knowledge.terms import QSM

# Named as ses discover names them.
SITE = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@base <https://w3id.org/qstorman/site/> .
<union/union> a qsm:MergerfsUnion ; qsm:name "union" ; qsm:mountPoint "/srv/union" .
<union/server> a qsm:Server ; qsm:name "n1" .
<union/b1> a qsm:Branch ; qsm:name "b1" ; qsm:elementOf <union/union> ; qsm:servedBy <union/server> ;
    qsm:target "/srv/b1" .
"""


@pytest.mark.parametrize("name", ["b2", "server", "union"])
def test_an_element_is_added_whatever_its_name_is(name: str) -> None:
    site = describe(parse_turtle(SITE)[0])
    where = ElementName("union", name)
    after = added(where, {"server": "n1", "target": "/srv/b2"})(site)
    check(after, None, "the site after this change")
    assert {subject: facts for subject, facts in after.items() if subject in site} == site
    (subject,) = after.keys() - site.keys()
    assert after[subject][QSM.name] == {Literal(name)}
    assert removed(where)(after) == site


@pytest.mark.parametrize(("target", "stays"), [("/srv/b1", True), ("/srv/b9", False)])
def test_another_target_is_not_taken_to_be_on_the_disk_of_the_one_before(target: str, stays: bool) -> None:
    stated = '    qsm:fileSystem "ext4 a9d1f0c2" ; qsm:device "sda" ; qsm:target'
    site = describe(parse_turtle(SITE.replace("    qsm:target", stated))[0])
    after = changed(ElementName("union", "b1"), {"target": target})(site)
    check(after, None, "the site after this change")
    (facts,) = (facts for facts in after.values() if Literal(target) in facts.get(QSM.target, ()))
    assert {QSM.fileSystem in facts, QSM.device in facts} == {stays}
