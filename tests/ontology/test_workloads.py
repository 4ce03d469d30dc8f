"""Sentences about programs become requirements by rules that are data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ses_service.api.app import create_app
from ses_service.knowledge.checks.validation import validate
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.knowledge.workloads import Expansion, WorkloadError, expand
from ses_service.process.runtime import ServiceConfig

OWN = """@prefix : <https://w3id.org/qstorman/site/test/> .
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix quantitykind: <http://qudt.org/vocab/quantitykind/> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
:Telescope a qsm:Workload ; qsm:name "telescope" ; qsm:phrase "observe {beams} beams of {rate} (each)" ;
    qsm:parameter [ qsm:name "beams" ], [ qsm:name "rate" ; qudt:hasQuantityKind quantitykind:DataRate ] ;
    qsm:derives [ odrl:leftOperand qsm:CurrentWriteRate ; qsm:formula "(beams + 1) * rate" ] .
"""
ADMIN = {"environ_base": {"REMOTE_ADDR": "127.0.0.1"}}


def understood(sentence: str, **given: str) -> Expansion:
    return expand(vocabulary().workloads.values(), sentence, given)


def bounds(expansion: Expansion) -> dict[str, float]:
    return {derived.kind.value: derived.bound / derived.kind.size for derived in expansion.derived}


def test_a_checkpoint_is_what_each_rank_writes_in_the_time_it_may_take() -> None:
    meant = understood("checkpoint of 4 TB every 30 min by 512 ranks")
    assert bounds(meant) == {
        "current-write-rate": pytest.approx(4e6 / 512 / (1800 * 0.05)),
        "free-capacity": pytest.approx(2 * 4000 / 512),
    }
    assert meant.derived[0].formula == "size / ranks / (period * share)"
    assert meant.derived[0].arithmetic == "4 TB / 512 / (30 min * 0.05)"


def test_a_training_set_is_read_as_fast_as_gpus_take_it() -> None:
    meant = understood("read a 2 TB training set every epoch at 40 images/s/GPU", image="150 kB", gpus="8")
    assert bounds(meant) == {"average-read-rate": pytest.approx(48), "free-capacity": pytest.approx(2000)}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "checkpoint of a model of 70e9 parameters every 30 min by 64 ranks",
            {"current-write-rate": 70e9 * 14 / 1e6 / 64 / 90, "free-capacity": 2 * 70 * 14 / 64},
        ),
        (
            "write 5 fields of 1e9 cells every 10 min by 256 ranks, 100 times",
            {"current-write-rate": 5e9 * 8 / 1e6 / 256 / 30, "free-capacity": 100 * 40 / 256},
        ),
        (
            "align 96 samples of 60 GB each in 24 h, 8 at once",
            {
                "average-read-rate": 96 * 60e3 / 86400 / 8,
                "average-write-rate": 2 * 96 * 60e3 / 86400 / 8,
                "free-capacity": 120,
            },
        ),
        (
            "record 1000 events/s of 2 MB each for 12 h",
            {"current-write-rate": 2500, "free-capacity": 2 * 43200},
        ),
    ],
)
def test_fields_of_science_say_it_in_their_own_words(sentence: str, expected: dict[str, float]) -> None:
    assert bounds(understood(sentence)) == {kind: pytest.approx(bound) for kind, bound in expected.items()}


def test_a_value_that_is_given_goes_before_the_sentence() -> None:
    meant = understood("record 200 MB/s for 6 h", time="3 h")
    assert bounds(meant)["free-capacity"] == pytest.approx(2160)
    assert meant.values["time"] == "3 h"


def test_blanks_and_case_of_a_sentence_do_not_matter() -> None:
    meant = understood("  Checkpoint  of 4TB every\n0.5h by 512 ranks ", share="10 %")
    assert bounds(meant)["current-write-rate"] == pytest.approx(4e6 / 512 / 180)


def test_the_example_of_each_workload_is_a_sentence_of_it() -> None:
    known = vocabulary().workloads
    assert len(known) >= 3
    for workload in known.values():
        meant = understood(workload.example)
        assert meant.workload.name == workload.name
        assert meant.derived
        used = " ".join(rule.formula for rule in meant.derived)
        assert all(name in used for name in workload.parameters), (
            f"{workload.name} has a parameter without use"
        )


@pytest.mark.parametrize(
    ("sentence", "given", "says"),
    [
        ("do something", {}, "Say it like one of: .*checkpoint of 4 TB"),
        ("record 200 MB for 6 h", {}, "rate takes one of B/s"),
        ("record 200 MB/s for 6 h", {"colour": "1"}, "has no parameter colour; it has margin, rate, time"),
        ("record 200 MB/s for 6 h", {"margin": "2 GB"}, "margin is a plain number"),
        ("record 200 MB/s for 6 h", {"margin": "much"}, "is no quantity"),
        ("checkpoint of 4 TB every 30 min by 0 ranks", {}, "a divisor is 0"),
        ("record 1e300 PB/s for 6 h", {}, "nothing can require"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(sentence: str, given: dict[str, str], says: str) -> None:
    with pytest.raises(WorkloadError, match=says):
        understood(sentence, **given)


@pytest.fixture
def vocabulary_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def add(text: str) -> None:
        added = tmp_path / "own.ttl"
        added.write_text(text)
        monkeypatch.setenv("SES_VOCABULARY", str(added))
        vocabulary.cache_clear()

    yield add
    vocabulary.cache_clear()


def test_a_site_adds_a_workload_of_its_own_without_code(vocabulary_with: Any) -> None:
    vocabulary_with(OWN)
    meant = understood("observe 9 beams of 20 MB/s (each)")
    assert (meant.workload.name, bounds(meant)) == ("telescope", {"current-write-rate": pytest.approx(200)})
    assert validate(OWN, "own.ttl") == []


@pytest.mark.parametrize(
    "formula", ["beams ** rate", "__import__('os')", "beams.real", "unknown * 2", "beams *", "'a' * beams"]
)
def test_a_formula_is_arithmetic_and_nothing_else(formula: str, tmp_path: Path, vocabulary_with: Any) -> None:
    vocabulary_with(OWN.replace("(beams + 1) * rate", formula))
    with pytest.raises(WorkloadError, match=r"formula .* of telescope is wrong"):
        understood("observe 9 beams of 20 MB/s (each)")


def test_a_workload_that_derives_nothing_is_refused() -> None:
    text = OWN.partition("    qsm:derives")[0].rstrip(" ;\n") + " ."
    (finding,) = validate(text, "own.ttl")
    assert "derives something" in finding.message


@pytest.fixture(scope="module")
def client() -> Any:
    return create_app(ServiceConfig(trust_loopback=True)).test_client()


def test_the_service_answers_with_the_arithmetic_and_stores_nothing(client: Any) -> None:
    asked = {"sentence": "record 200 MB/s for 6 h", "values": {"margin": "1.5"}}
    answer = client.post("/v1/workloads/expansions", json=asked, **ADMIN)
    assert answer.status_code == 200, answer.get_json()
    expansion = answer.get_json()
    assert expansion["workload"] == "recording"
    assert expansion["derived"][0]["requirement"] == {
        "kind": "current-write-rate",
        "minimum": 300.0,
        "unit": "MB/s",
        "weight": 1.0,
        "strictness": "soft",
    }
    assert expansion["derived"][0]["arithmetic"] == "1.5 * 200 MB/s"
    assert {parameter["name"]: parameter["value"] for parameter in expansion["parameters"]}["time"] == "6 h"


def test_the_service_says_which_sentences_there_are(client: Any) -> None:
    answer = client.post("/v1/workloads/expansions", json={"sentence": "hm"}, **ADMIN)
    assert answer.status_code == 422
    (error,) = answer.get_json()["errors"]
    assert "Say it like one of" in error["message"]
    assert error["location"] == "json.sentence"


@pytest.mark.parametrize(
    ("sentence", "values", "location"),
    [
        ("record 200 MB/s for 6 h", {"margin": "much"}, "json.values.margin"),
        ("record 200 MB/s for 6 h", {"colour": "1"}, "json.values.colour"),
        ("record 200 MB for 6 h", {"margin": "2"}, "json.sentence"),
    ],
)
def test_the_service_says_whether_sentence_or_value_is_wrong(
    client: Any, sentence: str, values: dict[str, str], location: str
) -> None:
    asked = {"sentence": sentence, "values": values}
    answer = client.post("/v1/workloads/expansions", json=asked, **ADMIN)
    assert [error["location"] for error in answer.get_json()["errors"]] == [location]


def test_the_vocabulary_tells_sentences_that_are_understood(client: Any) -> None:
    workloads = client.get("/v1/vocabulary", **ADMIN).get_json()["workloads"]
    assert len(workloads) >= 3
    for workload in workloads:
        answer = client.post("/v1/workloads/expansions", json={"sentence": workload["example"]}, **ADMIN)
        assert answer.get_json()["workload"] == workload["workload"]
