"""Every element of the model in the QStorMan paper (Słota et al. 2012) can be said with a term."""

import pytest
from rdflib import OWL, RDF, Namespace
from ses_service.knowledge.checks.validation import validate
from ses_service.knowledge.vocabulary import vocabulary

QSM = Namespace("https://w3id.org/qstorman/ontology#")

# What the paper names, with the section, and the terms that say it.
ELEMENTS = {
    "storage environment: a Lustre installation (5)": "LustreFileSystem StorageSystem mountPoint",
    "heterogeneous devices and systems (3)": "StorageElement MergerfsUnion CephFileSystem DataPool Branch",
    "storage resource (4)": "StorageElement ObjectStorageTarget elementOf",
    "storage resource address (4.1)": "target",
    "disks of a kind, in pools, with a total capacity (5)": "medium StoragePool pool capacity",
    "server of storage resources (5)": "Server servedBy",
    "worker node with access to storage resources (4)": "ComputeNode NodeClass nodes hasAccess",
    "virtual organisation and home virtual organisation (4.2)": "VirtualOrganization homeOrganization",
    "user (4)": "User",
    "application (4)": "Application runBy",
    "requirements for users, applications and VOs (4.1)": "RequirementSet Requirement requires subject level",
    "levels of requirements (4)": "ApplicationLevel UserLevel VOLevel ExplicitLevel SiteLevel precedence",
    "current and average read and write transfer rate (4.1)": (
        "CurrentReadRate AverageReadRate CurrentWriteRate AverageWriteRate"
    ),
    "free capacity (4.1)": "FreeCapacity",
    "a policy in the program's own source code (4.2)": "ExplicitLevel",
    "storage QoS parameter (4.1)": "Metric",
    "distance between a resource and the requirements (4.1)": "distance Placement placedOn placedFor",
    "what a resource can give (4.1)": "nominalReadRate nominalWriteRate capacity tier",
    "where the monitoring system sees a resource (4.1)": "observedAt observedAs",
    "domain-specific level of abstraction (6)": "Profile profile Checkpoint",
}


@pytest.mark.parametrize("element", ELEMENTS)
def test_an_element_of_the_paper_has_its_terms(element: str) -> None:
    graph = vocabulary().graph
    terms = {OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.NamedIndividual}
    for name in ELEMENTS[element].split():
        assert set(graph.objects(QSM[name], RDF.type)) & terms, name


def test_the_installation_of_the_paper_can_be_described() -> None:
    pools = "".join(
        f"""
:pool{pool} a qsm:StoragePool ; qsm:name "pool{pool}" ; qsm:elementOf :lustre ; qsm:servedBy :oss ;
  qsm:target "pool{pool}" ; qsm:medium "FATA disk" ;
  qsm:capacity [ a qudt:QuantityValue ; qudt:numericValue 21.3e0 ; qudt:hasUnit unit:TeraBYTE ] .
"""
        for pool in range(8)
    )
    text = f"""
@prefix : <https://w3id.org/qstorman/site/paper/> .
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
:lustre a qsm:LustreFileSystem ; qsm:name "lustre" ; qsm:mountPoint "/mnt/lustre" .
:oss a qsm:Server ; qsm:name "oss" .
{pools}
:worker a qsm:ComputeNode ; qsm:name "worker" ; qsm:hasAccess :lustre .
:vo a qsm:VirtualOrganization ; qsm:name "vo.plgrid.pl" ; qsm:memberGroup "plgrid" .
:user a qsm:User ; qsm:name "plguser" ; qsm:homeOrganization :vo .
:program a qsm:Application ; qsm:name "dataIntensiveApplication" ; qsm:runBy :user .
:set a qsm:RequirementSet ; qsm:level "user" ; qsm:subject "plguser" ; qsm:requires
  [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentReadRate ; odrl:operator odrl:gteq ;
    odrl:rightOperand 500.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC ],
  [ a qsm:Requirement ; odrl:leftOperand qsm:CurrentWriteRate ; odrl:operator odrl:gteq ;
    odrl:rightOperand 300.0e0 ; odrl:unit unit:MegaBYTE-PER-SEC ] .
"""
    assert validate(text, "paper.ttl") == []
