"""What one way in takes of a requirement's numbers, all take; what one refuses, all refuse."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ses_client.limits
from flask import Flask
from pydantic import ValidationError
from rdflib import SH, Graph, URIRef
from ses.api import StoragePolicy
from ses.api import library as binding
from ses.quantities import requirement
from ses_client.answers.vocabulary import Kind as ClientKind
from ses_client.errors import UsageError
from ses_service.api.schemas.nodes import AnnouncementIn
from ses_service.api.schemas.requests import RequirementSetIn, SelectionRequest, SubjectIn
from ses_service.knowledge.checks.validation import refused, validate
from ses_service.knowledge.terms import ODRL, QSM
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model import limits
from ses_webface.requirements.forms import field_of, form_for

sys.path.append(str(Path(__file__).parents[1] / "agent"))

from agent_sources import link

ROOT = Path(__file__).parents[2]
LIBSES = ROOT / "libses"
HEADER = (LIBSES / "include/ses/limits.h").read_text()
IN_C = {name: float(value) for name, value in re.findall(r"#define SES_(\w+_MAX) (\S+)", HEADER)}
CODES = {"current-write-rate": 3, "free-capacity": 5}
WORDS = {"write": "current-write-rate", "free": "free-capacity"}
TERMS = {"current-write-rate": "qsm:CurrentWriteRate", "free-capacity": "qsm:FreeCapacity"}

MAX, HEAVIEST = limits.MAX_BOUND, limits.MAX_WEIGHT
NUMBERS = [  # bound in base units, weight, and whether they are taken
    (0.0, 1.0, True),
    (-0.0, 1.0, True),
    (5e-324, 5e-324, True),
    (math.nextafter(MAX, 0), math.nextafter(HEAVIEST, 0), True),
    (MAX, HEAVIEST, True),
    (math.nextafter(MAX, math.inf), 1.0, False),
    (1e21, 1.0, False),
    (math.inf, 1.0, False),
    (math.nan, 1.0, False),
    (-1.0, 1.0, False),
    (1.0, math.nextafter(HEAVIEST, math.inf), False),
    (1.0, 1e15, False),
    (1.0, math.inf, False),
    (1.0, math.nan, False),
    (1.0, 0.0, False),
    (1.0, -1.0, False),
]
TEXTS = {  # amount and weight: whether they are taken
    ("0MB", "1"): True,
    ("1000PB", "1"): True,
    ("999.999999999999PB", "1000000"): True,
    ("1000000000000MB", "999999.999"): True,
    ("1000000000000000kB", "0.000001"): True,
    ("1000000000000000000B", "1"): True,
    ("888PiB", "1"): True,
    ("1000.000000001PB", "1"): False,
    ("1000000000001MB", "1"): False,
    ("1000000000000001kB", "1"): False,
    ("1000000000000001000B", "1"): False,
    ("1000000000000001000000B", "1"): False,
    ("889PiB", "1"): False,
    ("999999999999999PB", "1"): False,
    ("\uff11\uff10MB", "1"): False,
    ("1MB", "1000000.001"): False,
    ("1MB", "1000000000000000"): False,
    ("1MB", "0"): False,
    ("1MB", "0.0"): False,
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[str]]:
    """Return what the ways into C and C++ say of lines."""
    build = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    program = link(
        tmp_path_factory.mktemp("limits") / "limits",
        Path(__file__).parent / "probes/limits.cpp",
        *("-I", LIBSES / "src", "-I", LIBSES / "slurm"),
        build / "slurm/CMakeFiles/ses_slurm.dir/request.c.o",
        build / "src/libses_place.a",
        *("-L", build, "-lses", f"-Wl,-rpath,{build}"),
    )

    def answers(lines: list[str]) -> list[str]:
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.splitlines()

    return answers


@pytest.fixture
def python_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Load the library that was built."""
    build = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    monkeypatch.setenv("SES_LIBRARY", str(build / "libses.so.0"))
    binding.library.cache_clear()
    yield
    binding.library.cache_clear()


def _does(act: Callable[[], object], *errors: type[Exception]) -> bool:
    try:
        act()
    except errors:
        return False
    return True


def _put(one: dict[str, object]) -> bool:
    text = json.dumps({"requirements": [one]})
    return _does(lambda: RequirementSetIn.model_validate_json(text), ValidationError)


def _selects(one: dict[str, object]) -> bool:
    text = json.dumps({"subject": {"user": "alice"}, "requirements": [one]})
    return _does(lambda: SelectionRequest.model_validate_json(text), ValidationError)


def _announces(kind: str, bound: float, weight: float) -> bool:
    need = {"kind": kind, "code": CODES[kind], "bound": bound, "weight": weight, "unit": "B", "size": 1.0}
    decision = {
        "id": 0, "decided_at": 1.0, "system": "union",
        "requirements": [{**need, "level": "explicit", "level_name": "request"}],
    }  # fmt: skip
    text = json.dumps({"incarnation": "0123456789abcdef", "number": 1, "decisions": [decision]})
    found = AnnouncementIn.model_validate_json(text)
    details = [one.detail for one in found.refused]
    assert all(detail.startswith("requirements.0.") for detail in details), details
    return not details


def _described(kind: str, bound: str, unit: str, weight: str) -> bool:
    text = f"""
        @prefix odrl: <http://www.w3.org/ns/odrl/2/> .
        @prefix qsm: <https://w3id.org/qstorman/ontology#> .
        @prefix unit: <http://qudt.org/vocab/unit/> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        <urn:set> a qsm:RequirementSet ; qsm:level "site" ; qsm:subject "default" ; qsm:revision 1 ;
            qsm:requires [ a qsm:Requirement ; odrl:leftOperand {TERMS[kind]} ; odrl:operator odrl:gteq ;
                odrl:rightOperand "{bound}"^^xsd:double ; odrl:unit {unit} ;
                qsm:weight "{weight}"^^xsd:double ; qsm:strictness qsm:Soft ] .
    """
    return not refused(validate(text, "limits"))


def _iri(kind: str, unit: str) -> str:
    return f"<{vocabulary().metrics[kind].units[unit]}>"


def _turtle(number: float) -> str:
    return {math.inf: "INF", -math.inf: "-INF"}.get(number, "NaN" if math.isnan(number) else repr(number))


@pytest.mark.parametrize("kind", CODES)
def test_a_number_is_taken_at_every_door_or_at_none(
    kind: str, probe: Callable[[list[str]], list[str]], python_api: None
) -> None:
    answers = probe([f"= {CODES[kind]} {bound!r} {weight!r}" for bound, weight, _ in NUMBERS])
    unit = "B" if kind == "free-capacity" else "B/s"
    for (bound, weight, is_taken), answer in zip(NUMBERS, answers, strict=True):
        one = {"kind": kind, "minimum": bound, "unit": unit, "weight": weight}
        found = {
            **{door: door in answer.split() for door in ("socket", "claim", "answer", "policy")},
            "set": _put(one),
            "selection": _selects(one),
            "announcement": _announces(kind, bound, weight),
            "turtle": _described(kind, _turtle(bound), _iri(kind, unit), _turtle(weight)),
        }
        assert found == dict.fromkeys(found, is_taken), (bound, weight)


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [("a", True), ("a b", True), ("x" * 256, True), ("x" * 257, False), ("a\n", False), ("a\x01b", False)],
)
def test_a_name_is_taken_over_http_and_in_turtle_or_in_neither(name: str, is_taken: bool) -> None:
    written = json.dumps(name)
    described = f"""
        @prefix qsm: <https://w3id.org/qstorman/ontology#> .
        <urn:user> a qsm:User ; qsm:name {written} .
        <urn:vo> a qsm:VirtualOrganization ; qsm:name {written} .
        <urn:set> a qsm:RequirementSet ; qsm:level "user" ; qsm:subject {written} ; qsm:revision 1 .
    """
    wrong = {one.node for one in validate(described, "limits") if one.severity == "error"}
    assert len(wrong) == (0 if is_taken else 3), wrong
    subject = {"user": name, "vo": name}
    assert _does(lambda: SubjectIn.model_validate(subject), ValidationError) == is_taken


def _typed(kind: str, amount: str, unit: str, weight: str) -> bool:
    """Return whether the portal takes it, and the service what the portal sends."""
    described = vocabulary().metrics[kind].described
    size = described.to_base(1.0, described.kind.unit)
    sizes = tuple((one, described.to_base(1.0, one) / size) for one in described.units)
    shown = ClientKind(kind, described.label, described.definition, described.kind.unit, sizes)
    application = Flask(__name__)
    application.config.update(WTF_CSRF_ENABLED=False, SECRET_KEY="for this test")
    field = field_of(shown)
    data = {"bound": amount, "unit": unit, "weight": weight, "strictness": "soft"}
    with application.test_request_context(
        method="POST", data={f"{field}-{name}": value for name, value in data.items()}
    ):
        typed = form_for((shown,))().read()
    return typed is not None and all(_put(one.as_json()) for one in typed)


def _commanded(text: str) -> bool:
    try:
        return _put(requirement(text).as_json())
    except UsageError:
        return False


def _in_python(kind: str, amount: str, weight: str) -> bool:
    def states() -> None:
        policy = StoragePolicy()
        (policy.set_capacity if kind == "free-capacity" else policy.set_current_write_rate)(amount)
        policy.set_weight(CODES[kind], float(weight))

    return _does(states, ValueError)


@pytest.mark.parametrize("word", WORDS)
def test_a_text_is_taken_at_every_door_or_at_none(
    word: str, probe: Callable[[list[str]], list[str]], python_api: None
) -> None:
    kind, per = WORDS[word], "" if word == "free" else "/s"
    texts = [f"{word}>={amount}{per},weight={weight}" for amount, weight in TEXTS]
    for (amount, weight), text, answer in zip(TEXTS, texts, probe(texts), strict=True):
        number, unit = re.fullmatch(r"(.*?)([A-Za-z]+)", amount).groups()  # type: ignore[union-attr]
        found = {
            "environment and --storage": answer == "taken",
            "python": _in_python(kind, amount + per, weight),
            "command": _commanded(text.replace(word, kind)),
        }
        if float(number) > 0:  # in the portal, an empty field asks for nothing
            found["portal"] = _typed(kind, number, unit + per, weight)
        if number.isascii():
            found["turtle"] = _described(kind, number, _iri(kind, unit + per), weight)
        assert found == dict.fromkeys(found, TEXTS[amount, weight]), (text, answer)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "free>=1GB write>=1001PB/s!",
            "requires more than can be in 'write>=1001PB/s!'; write at most 1000PB/s",
        ),
        ("free>=2000PB", "requires more than can be in 'free>=2000PB'; write at most 1000PB"),
        (
            "free>=2PB,weight=0",
            "has a weight that cannot be in 'free>=2PB,weight=0'; write one above 0, at most 1000000",
        ),
        ("free>=1GB free>=2GB", "has a kind for the second time in 'free>=2GB'; write each once"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_value_the_limit_and_what_to_write(
    text: str, says: str, probe: Callable[[list[str]], list[str]]
) -> None:
    assert probe([text]) == [says]


def test_the_service_says_what_to_write_in_the_unit_that_was_used() -> None:
    one = {"kind": "current-write-rate", "minimum": 1e13, "unit": "MB/s"}
    with pytest.raises(ValidationError, match="more than can be: write at most 1000000000000 MB/s"):
        RequirementSetIn.model_validate({"requirements": [one]})


def _in_shapes(path: URIRef, limit: URIRef) -> set[float]:
    shapes = Graph().parse(ROOT / "ontology/shapes.ttl")
    return {float(str(one)) for node in shapes.subjects(SH.path, path) for one in shapes.objects(node, limit)}


def test_the_limits_are_the_same_numbers_in_every_language() -> None:
    assert (IN_C["BOUND_MAX"], IN_C["WEIGHT_MAX"]) == (limits.MAX_BOUND, limits.MAX_WEIGHT)
    assert (IN_C["RATE_MAX"] * 1e6, IN_C["CAPACITY_MAX"] * 1e9) == (limits.MAX_BOUND, limits.MAX_BOUND)
    assert IN_C["SIZE_MAX"] == limits.MAX_BYTES
    assert ses_client.limits.MAX_BOUND == limits.MAX_BOUND
    assert ses_client.limits.MAX_WEIGHT == limits.MAX_WEIGHT
    assert _in_shapes(ODRL.rightOperand, SH.maxInclusive) == {limits.MAX_BOUND}
    assert _in_shapes(QSM.weight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.defaultWeight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.bytesWritten, SH.maxInclusive) == {limits.MAX_BYTES}
    assert _in_shapes(QSM.requires, SH.maxCount) == {limits.MAX_REQUIREMENTS}
    assert _in_shapes(QSM.subject, SH.maxLength) == {limits.MAX_NAME}
