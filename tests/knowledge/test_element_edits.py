"""Edits of single elements leave everything else of the site as it is."""

from __future__ import annotations

import pytest
from rdflib import Literal
from ses_service.knowledge.exchange.element_edits import ElementName, added, removed
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
