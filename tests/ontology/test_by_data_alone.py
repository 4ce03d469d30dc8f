"""A kind of requirement and a kind of storage are added by a Turtle file, and by nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ses_service.api import contract
from ses_service.api.app import create_app
from ses_service.knowledge.checks.validation import validate
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.kinds import Kind
from ses_service.process.runtime import ServiceConfig, runtime

ONTOLOGY = Path(__file__).resolve().parents[2] / "ontology"
LATENCY = ONTOLOGY / "examples/latency.ttl"
BURST_BUFFER = ONTOLOGY / "examples/burst-buffer.ttl"

SITE = """
@prefix : <https://w3id.org/qstorman/site/test/> .
@prefix added: <https://w3id.org/qstorman/site/vocabulary#> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
:bb a added:BurstBuffer ; qsm:name "bb" ; qsm:mountPoint "/bb" .
:server a qsm:Server ; qsm:name "server" .
:slow a added:FlashTarget ; qsm:name "slow" ; qsm:elementOf :bb ; qsm:servedBy :server ; qsm:target "0" ;
    added:latency [ a qudt:QuantityValue ; qudt:numericValue 0.008e0 ; qudt:hasUnit unit:SEC ] .
:fast a added:FlashTarget ; qsm:name "fast" ; qsm:elementOf :bb ; qsm:servedBy :server ; qsm:target "1" ;
    added:latency [ a qudt:QuantityValue ; qudt:numericValue 500.0e0 ; qudt:hasUnit unit:MicroSEC ] .
:silent a added:FlashTarget ; qsm:name "silent" ; qsm:elementOf :bb ; qsm:servedBy :server ; qsm:target "2" .
"""
ADMIN = {"environ_base": {"REMOTE_ADDR": "127.0.0.1"}}
TWO_MS = {"kind": "latency", "maximum": 2, "unit": "ms"}


@pytest.fixture(scope="module")
def added() -> Iterator[None]:
    """The two files, and nothing else, are added to the vocabulary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SES_VOCABULARY", f"{LATENCY}:{BURST_BUFFER}")
        vocabulary.cache_clear()
        yield
    vocabulary.cache_clear()


@pytest.fixture(scope="module")
def knowledge(added: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    embedded = EmbeddedStore(tmp_path_factory.mktemp("knowledge"))
    made = KnowledgeBase(embedded.start())
    made.load_ontology()
    made.load_site(SITE, source="site.ttl")
    yield made
    embedded.stop()


@pytest.fixture
def client(knowledge: KnowledgeBase) -> Any:
    """A client of a service on that knowledge base."""
    app = create_app(ServiceConfig(knowledge=knowledge, trust_loopback=True))
    runtime(app).site_manager.refresh()
    return app.test_client()


def ask(client: Any, *requirements: dict[str, Any]) -> Any:
    answer = client.post(
        "/v1/selections", json={"subject": {"user": "alice"}, "requirements": requirements}, **ADMIN
    )
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


def test_without_the_file_nobody_knows_the_kind() -> None:
    assert "latency" not in vocabulary().metrics
    assert "latency" not in contract.document(create_app(ServiceConfig()))


def test_the_added_kind_is_in_the_vocabulary_as_described(added: None) -> None:
    metric = vocabulary().metric("latency")
    assert (metric.kind.at_most, metric.kind.unit, metric.kind.size) == (True, "ms", 1e-3)
    assert metric.described.weight == 2.0
    assert {"s", "ms", "us", "μs"} <= set(metric.described.units)
    assert list(vocabulary().metrics)[-1] == "latency", "the predicted kinds come first"


def test_elements_are_described_in_any_unit_of_the_kind(knowledge: KnowledgeBase) -> None:
    stated = {element.id: dict(element.stated).get("latency") for element in knowledge.environment().elements}
    assert stated == {"bb/slow": pytest.approx(0.008), "bb/fast": pytest.approx(0.0005), "bb/silent": None}


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        (
            "unit:MicroSEC",
            "unit:GigaBYTE",
            "latency needs one qudt:hasUnit of MicroSEC, MilliSEC, SEC, MIN, HR, DAY",
        ),
        ("500.0e0", "-500.0e0", "latency needs one qudt:numericValue greater than 0"),
    ],
)
def test_a_value_that_cannot_be_right_is_refused_on_its_line(
    knowledge: KnowledgeBase, good: str, bad: str, says: str
) -> None:
    (finding,) = validate(SITE.replace(good, bad), "site.ttl")
    assert (finding.node, finding.message) == ("fast", says)
    assert finding.line is not None
    assert bad in SITE.replace(good, bad).splitlines()[finding.line - 1]
    with pytest.raises(InvalidDescriptionError, match="qudt:"):
        knowledge.load_site(SITE.replace(good, bad), source="site.ttl")


def test_the_shapes_accept_requirements_of_it_and_refuse_the_wrong_direction(added: None) -> None:
    text = """@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix added: <https://w3id.org/qstorman/site/vocabulary#> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
[] a qsm:Requirement ; odrl:leftOperand added:Latency ; odrl:operator odrl:lteq ;
   odrl:rightOperand 2.0e0 ; odrl:unit unit:MilliSEC .
"""
    assert validate(text, "requirement") == []
    assert "is a maximum" in validate(text.replace("odrl:lteq", "odrl:gteq"), "r")[0].message
    assert "takes MicroSEC" in validate(text.replace("MilliSEC", "BYTE"), "r")[0].message


def test_the_ranking_goes_by_it(client: Any) -> None:
    answer = ask(client, TWO_MS)
    assert [candidate["element"] for candidate in answer["candidates"]] == ["bb/fast", "bb/slow", "bb/silent"]
    assert [candidate["distance"] for candidate in answer["candidates"]] == [0.0, 0.75, 1.0]
    (predicted,) = answer["candidates"][1]["predicted"]
    assert predicted == {"kind": "latency", "value": 8.0, "unit": "ms", "maximum": 2.0, "shortfall": 0.75}


def test_a_hard_maximum_refuses_what_exceeds_it(client: Any) -> None:
    answer = ask(client, {**TWO_MS, "strictness": "hard"})
    assert [candidate["element"] for candidate in answer["candidates"]] == ["bb/fast"]
    details = {refusal["element"]: refusal["detail"] for refusal in answer["refused"]}
    assert details["bb/slow"] == "Its stated latency is 8 ms; the hard maximum is 2 ms."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"unit": "GB"}, "unknown unit 'GB' for latency"),
        ({"minimum": 1}, "latency needs a maximum, and no minimum"),
        (
            {"kind": "current-write-rate", "unit": "MB/s"},
            "current-write-rate needs a minimum, and no maximum",
        ),
    ],
)
def test_the_interface_refuses_what_does_not_fit_the_kind(
    client: Any, change: dict[str, Any], says: str
) -> None:
    body = {"subject": {"user": "alice"}, "requirements": [{**TWO_MS, **change}]}
    answer = client.post("/v1/selections", json=body, **ADMIN)
    assert answer.status_code == 422
    assert says in str(answer.get_json()["errors"])


def test_it_is_stored_resolved_and_found_again(client: Any, knowledge: KnowledgeBase) -> None:
    stated = {"requirements": [{**TWO_MS, "maximum": 1500, "unit": "us"}]}
    assert client.put("/v1/requirements/user/alice", json=stated, **ADMIN).status_code == 200
    requirements = client.get("/v1/requirements/effective?user=alice", **ADMIN).get_json()["requirements"]
    assert requirements == [
        {
            "kind": "latency",
            "maximum": 1.5,
            "unit": "ms",
            "stated_unit": "us",
            "weight": 2.0,
            "strictness": "soft",
            "level": "user",
            "level_name": "alice",
        }
    ]
    (stored,) = knowledge.requirement_sets()
    assert stored.requirements[0].kind == "latency"
    assert stored.requirements[0].bound == pytest.approx(0.0015)
    assert stored.requirements[0].unit == "μs", "the symbol that stands for the unit"
    assert ask(client)["candidates"][0]["element"] == "bb/fast"
    assert client.put("/v1/requirements/user/alice", json={"requirements": []}, **ADMIN).status_code == 200


def test_the_contract_of_this_service_says_so(client: Any) -> None:
    schemas = client.get("/openapi.json").get_json()["components"]["schemas"]
    assert "latency" in schemas["RequirementIn"]["properties"]["kind"]["enum"]
    assert "ms" in schemas["RequirementIn"]["properties"]["unit"]["enum"]


def test_records_are_readable_when_the_file_is_gone() -> None:
    kind = Kind.of_record(Kind("latency", "ms", 1e-3, at_most=True).record)
    assert (kind, kind.unit, kind.size, kind.at_most) == ("latency", "ms", 1e-3, True)
    assert Kind.of_record("free-capacity") is Kind.FREE_CAPACITY


def test_the_added_class_of_storage_has_the_back_end_of_its_superclass(knowledge: KnowledgeBase) -> None:
    (system,) = knowledge.environment().systems.values()
    assert (system.name, system.backend) == ("bb", "lustre")
    assert [element.id for element in knowledge.environment().elements] == ["bb/fast", "bb/silent", "bb/slow"]


def test_shapes_hold_for_the_added_class_too(added: None) -> None:
    (finding,) = validate(SITE.replace('qsm:target "1"', 'qsm:target "first"'), "site.ttl")
    assert "target of an OST is its index" in finding.message


def test_clients_are_told_of_the_kind_and_of_profiles(client: Any) -> None:
    answer = client.get("/v1/vocabulary", **ADMIN).get_json()
    kinds = {kind["kind"]: kind for kind in answer["kinds"]}
    assert list(kinds)[-1] == "latency"
    assert (kinds["latency"]["bound"], kinds["latency"]["unit"]) == ("maximum", "ms")
    assert kinds["current-read-rate"]["bound"] == "minimum"
    assert "GiB/s" in kinds["current-read-rate"]["units"]
    assert kinds["current-read-rate"]["sizes"]["GB/s"] == 1000
    in_ms = {"us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1000, "min": 60e3, "h": 3600e3, "d": 86400e3}
    assert kinds["latency"]["sizes"] == in_ms
    profiles = {profile["profile"]: profile["requirements"] for profile in answer["profiles"]}
    assert {"kind": "current-write-rate", "minimum": 200.0, "unit": "MB/s"}.items() <= profiles["checkpoint"][
        0
    ].items()


def test_the_history_words_a_set_in_its_kinds(client: Any) -> None:
    """Of a requirement set, a change says what it stated before and states after, not as Turtle alone."""
    timed = {"kind": "latency", "maximum": 500.0, "unit": "us", "valid_until": "2027-01-01T00:00:00Z"}
    for body in ({"requirements": [timed]}, {"requirements": [], "profile": "scratch"}):
        assert client.put("/v1/requirements/user/alice", json=body, **ADMIN).status_code == 200
    number = client.get("/v1/changes", **ADMIN).get_json()["changes"][0]["number"]
    (state,) = client.get(f"/v1/changes/{number}", **ADMIN).get_json()["states"]
    before, after = state["set_before"], state["set_after"]
    assert (before["level"], before["name"], before["profile"]) == ("user", "alice", None)
    assert before["requirements"] == [
        {**timed, "maximum": 0.5, "unit": "ms", "stated_unit": "μs", "weight": 2.0, "strictness": "soft"}
    ]
    assert (after["requirements"], after["profile"]) == ([], "scratch")
    elements = client.get("/v1/changes/1", **ADMIN).get_json()["states"]
    assert all(element["set_before"] is None and element["set_after"] is None for element in elements)
