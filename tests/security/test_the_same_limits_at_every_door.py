"""What one way in takes of numbers, names and counts, all take; what one refuses, all refuse."""

import json
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import ses_client.limits
import ses_core
from built import BUILD
from doors import does
from flask import Flask
from pydantic import TypeAdapter, ValidationError
from rdflib import SH, Graph, URIRef
from ses.api import StoragePolicy
from ses.quantities import requirement
from ses_client.errors import UsageError
from ses_client.messages.vocabulary import Kind as ClientKind
from ses_client.names import is_set_name
from ses_service.api.problems import InvalidProblem
from ses_service.api.routes.members import AccountIn
from ses_service.api.routes.requirements import _check_name
from ses_service.api.schemas import requests
from ses_service.api.schemas.nodes import AnnouncementIn, NeedRequirement
from ses_service.knowledge.checks.validation import refused, validate
from ses_service.knowledge.terms import ODRL, QSM
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model import limits
from ses_service.model.entities import Level
from ses_webface.files.forms import FilesForm
from ses_webface.requirements.forms import field_of, form_for

ROOT = Path(__file__).parents[2]
LIBSES = ROOT / "libses"
HEADER = (LIBSES / "include/ses/limits.h").read_text()
IN_C = {name: float(value) for name, value in re.findall(r"#define SES_(\w+_MAX) ([0-9.e]+)", HEADER)}
CODES = {"current-write-rate": 3, "free-capacity": 5}
WORDS = {"write": "current-write-rate", "free": "free-capacity"}
TERMS = {"current-write-rate": "qsm:CurrentWriteRate", "free-capacity": "qsm:FreeCapacity"}

Probe = Callable[[list[str]], list[str]]
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


def _put(stated: dict[str, object]) -> bool:
    text = json.dumps({"requirements": [stated]})
    return does(lambda: requests.RequirementSetIn.model_validate_json(text), ValidationError)


def _selects(stated: dict[str, object]) -> bool:
    text = json.dumps({"subject": {"user": "alice"}, "requirements": [stated]})
    return does(lambda: requests.SelectionRequest.model_validate_json(text), ValidationError)


def _announces(kind: str, bound: float, weight: float) -> bool:
    need = {"kind": kind, "code": CODES[kind], "bound": bound, "weight": weight, "unit": "B", "size": 1.0}
    decision = {
        "id": 0, "decided_at": 1.0, "system": "union",
        "requirements": [{**need, "level": "explicit", "level_name": "request"}],
    }  # fmt: skip
    text = json.dumps({"incarnation": "0123456789abcdef", "number": 1, "decisions": [decision]})
    announcement = AnnouncementIn.model_validate_json(text)
    details = [refusal.detail for refusal in announcement.refused]
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
def test_a_number_is_taken_at_every_door_or_at_none(kind: str, limits_probe: Probe, python_api: None) -> None:
    answers = limits_probe([f"= {CODES[kind]} {bound!r} {weight!r}" for bound, weight, _ in NUMBERS])
    unit = "B" if kind == "free-capacity" else "B/s"
    for (bound, weight, is_taken), answer in zip(NUMBERS, answers, strict=True):
        stated = {"kind": kind, "minimum": bound, "unit": unit, "weight": weight}
        verdicts = {
            **{door: door in answer.split() for door in ("socket", "claim", "answer", "policy")},
            "set": _put(stated),
            "selection": _selects(stated),
            "announcement": _announces(kind, bound, weight),
            "turtle": _described(kind, _turtle(bound), _iri(kind, unit), _turtle(weight)),
        }
        assert verdicts == dict.fromkeys(verdicts, is_taken), (bound, weight)


def _names(limit: int, size: Callable[[str], int]) -> list[tuple[str, bool]]:
    """Return names just below a limit, at it and just above, of characters of one to four bytes."""
    verdicts = []
    for letter in "xé日😀":
        for length in (limit - 1, limit, limit + 1):
            letters, rest = divmod(length, size(letter))
            verdicts.append((letter * letters + "x" * rest, length <= limit))
    return verdicts


def _bytes(name: str) -> int:
    return len(name.encode())


def _is_set(level: Level, name: str) -> bool:
    with Flask(__name__).test_request_context():
        return does(lambda: _check_name(level, name), InvalidProblem)


def _has_set(level: str, name: str, count: int = 0) -> bool:
    text = f"""
        @prefix odrl: <http://www.w3.org/ns/odrl/2/> .
        @prefix qsm: <https://w3id.org/qstorman/ontology#> .
        <urn:set> a qsm:RequirementSet ; qsm:level "{level}" ; qsm:revision 1 ;
            qsm:subject {json.dumps(name, ensure_ascii=False)} .
        {"<urn:set> qsm:requires [ a qsm:Requirement ] ." * count}
    """
    wrong = [
        fault.message for fault in validate(text, "limits") if "requirements" in fault.message or not count
    ]
    return not wrong


def _is_valid(kind: object, value: object) -> bool:
    return does(lambda: TypeAdapter(kind).validate_python(value), ValidationError)


def _filters(field: str, value: str) -> bool:
    application = Flask(__name__)
    with application.test_request_context(method="POST", data={field: value}):
        form = FilesForm()
        form.validate()
        return not form.errors.get(field)


def _in_environment(probe: Path, application: str, job: str) -> list[str]:
    environment = {"SES_APPLICATION": application, "SLURM_JOB_ID": job, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([probe, "settings"], env=environment, capture_output=True, timeout=60, check=True)
    return done.stdout.decode().splitlines()


def test_the_name_of_an_application_is_taken_at_every_door_or_at_none(
    limits_probe: Probe, limits_program: Path, python_api: None
) -> None:
    names = _names(limits.MAX_APPLICATION, _bytes)
    for (name, is_taken), answer in zip(names, limits_probe([f"@ {name}" for name, _ in names]), strict=True):
        counts, ignored, _, _ = _in_environment(limits_program, name, "1")
        assert (counts, ignored) == ((name, "") if is_taken else ("limits", name))
        run = [BUILD / "run/ses-run", "--application", name]
        verdicts = {
            **{door: door in answer.split() for door in ("policy", "socket", "claim")},
            "python": does(lambda name=name: StoragePolicy().set_application(name), ValueError),
            "ses-run": subprocess.run([*run, "true"], capture_output=True, timeout=60).returncode == 0,
            "selection": _is_valid(requests.SubjectIn, {"user": "alice", "application": name}),
            "effective": _is_valid(requests.EffectiveQuery, {"user": "alice", "application": name}),
            "set": _is_set(Level.APPLICATION, f"alice:{name}"),
            "turtle": _has_set("application", f"alice:{name}"),
            "portal": is_set_name("application", f"alice:{name}"),
        }
        assert verdicts == dict.fromkeys(verdicts, is_taken), name


def test_the_name_of_a_job_is_taken_at_every_door_or_at_none(
    limits_probe: Probe, limits_program: Path
) -> None:
    for letters, is_taken in _names(limits.MAX_JOB, _bytes)[:3]:
        name = letters.replace("x", "1")
        _, _, counts, ignored = _in_environment(limits_program, "a", name)
        assert (counts, ignored) == ((name, "") if is_taken else ("", name))
        verdicts = {
            **{door: door in limits_probe([f"@ {name}"])[0].split() for door in ("job", "group")},
            "selection": _is_valid(requests.SubjectIn, {"user": "alice", "job": name}),
            "portal": _filters("job", name),
        }
        assert verdicts == dict.fromkeys(verdicts, is_taken), name


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [("a", True), ("a b", True), *_names(limits.MAX_NAME, len), ("a\n", False), ("a\x01b", False)],
)
def test_a_name_is_taken_at_every_door_or_at_none(name: str, is_taken: bool, limits_probe: Probe) -> None:
    written = json.dumps(name, ensure_ascii=False)
    described = f"""
        @prefix qsm: <https://w3id.org/qstorman/ontology#> .
        <urn:user> a qsm:User ; qsm:name {written} .
        <urn:vo> a qsm:VirtualOrganization ; qsm:name {written} .
        <urn:set> a qsm:RequirementSet ; qsm:level "user" ; qsm:subject {written} ; qsm:revision 1 .
    """
    wrong = {fault.node for fault in validate(described, "limits") if fault.severity == "error"}
    assert len(wrong) == (0 if is_taken else 3), wrong
    verdicts = {"subject": _is_valid(requests.SubjectIn, {"user": name, "vo": name})}
    if "\n" not in name:
        verdicts["jobs"] = "user" in limits_probe([f"@ {name}"])[0].split()
    if name.isalpha():
        verdicts["account"] = _is_valid(AccountIn, {"user": name, "vo": name})
        verdicts["portal"] = is_set_name("user", name) and is_set_name("vo", name)
        verdicts["set"] = _is_set(Level.USER, name)
        verdicts["sets"] = _is_set(Level.VO, name)
        verdicts["filter"] = _filters("user", name)
    assert verdicts == dict.fromkeys(verdicts, is_taken), name


@pytest.mark.parametrize(
    ("level", "name", "is_taken"),
    [
        ("application", "é" * 256 + ":" + "x" * 63, True),
        ("application", "é" * 257 + ":" + "x" * 62, False),
        ("application", "é" * 256 + ":" + "x" * 64, False),
        ("profile", "%" + "x" * 256 + ":" + "x" * 63, True),
        ("profile", "%" + "x" * 257 + ":" + "x" * 63, False),
        ("profile", "%" + "x" * 256 + ":" + "x" * 64, False),
    ],
)
def test_a_name_of_two_parts_is_as_long_as_both_may_be(level: str, name: str, is_taken: bool) -> None:
    assert _is_set(Level(level), name) == is_taken
    if is_taken:
        assert _has_set(level, name)
        draft = {"level": "application", "name": name, "requirements": [], "profile": name}
        assert _is_valid(requests.DraftIn, draft)
        kind = {"kind": "x" * limits.MAX_KIND, "unit": "B", "size": 1, "bound": 1}
        said = {**kind, "level": "application", "level_name": name, "profile": name}
        assert _is_valid(NeedRequirement, said)


@pytest.mark.parametrize("count", [limits.MAX_REQUIREMENTS + more for more in (-1, 0, 1)])
def test_so_many_requirements_are_taken_at_every_door_or_at_none(count: int, limits_probe: Probe) -> None:
    stated = {"kind": "free-capacity", "minimum": 1, "unit": "B"}
    verdicts = {
        **{door: door in limits_probe([f"# {count}"])[0].split() for door in ("socket", "claim")},
        "set": _is_valid(requests.Requirements, [stated] * count),
        "turtle": _has_set("user", "alice", count),
    }
    assert verdicts == dict.fromkeys(verdicts, count <= limits.MAX_REQUIREMENTS)


def _typed(kind: str, amount: str, unit: str, weight: str) -> bool:
    """Return whether the portal takes it, and the service what the portal sends."""
    described = vocabulary().metrics[kind].described
    size = described.to_base(1.0, described.kind.unit)
    shown = ClientKind(
        kind=kind,
        label=described.label,
        definition=described.definition,
        unit=described.kind.unit,
        units=described.units,
        sizes={unit: described.to_base(1.0, unit) / size for unit in described.units},
    )
    application = Flask(__name__)
    application.config.update(WTF_CSRF_ENABLED=False, SECRET_KEY="for this test")
    field = field_of(shown)
    data = {"bound": amount, "unit": unit, "weight": weight, "strictness": "soft"}
    with application.test_request_context(
        method="POST", data={f"{field}-{name}": value for name, value in data.items()}
    ):
        typed = form_for((shown,))().read()
    return typed is not None and all(_put(stated.as_json()) for stated in typed)


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

    return does(states, ValueError)


@pytest.mark.parametrize("word", WORDS)
def test_a_text_is_taken_at_every_door_or_at_none(word: str, limits_probe: Probe, python_api: None) -> None:
    kind, per = WORDS[word], "" if word == "free" else "/s"
    texts = [f"{word}>={amount}{per},weight={weight}" for amount, weight in TEXTS]
    for (amount, weight), text, answer in zip(TEXTS, texts, limits_probe(texts), strict=True):
        number, unit = re.fullmatch(r"(.*?)([A-Za-z]+)", amount).groups()  # type: ignore[union-attr]
        verdicts = {
            "environment and --storage": answer == "taken",
            "python": _in_python(kind, amount + per, weight),
            "command": _commanded(text.replace(word, kind)),
        }
        if float(number) > 0:  # in the portal, an empty field asks for nothing
            verdicts["portal"] = _typed(kind, number, unit + per, weight)
        if number.isascii():
            verdicts["turtle"] = _described(kind, number, _iri(kind, unit + per), weight)
        assert verdicts == dict.fromkeys(verdicts, TEXTS[amount, weight]), (text, answer)


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
    text: str, says: str, limits_probe: Probe
) -> None:
    assert limits_probe([text]) == [says]


def test_the_service_says_what_to_write_in_the_unit_that_was_used() -> None:
    stated = {"kind": "current-write-rate", "minimum": 1e13, "unit": "MB/s"}
    with pytest.raises(ValidationError, match="more than can be: write at most 1000000000000 MB/s"):
        requests.RequirementSetIn.model_validate({"requirements": [stated]})


def _in_shapes(path: URIRef, limit: URIRef) -> set[float]:
    shapes = Graph().parse(ROOT / "ontology/shapes.ttl")
    return {
        float(str(value)) for node in shapes.subjects(SH.path, path) for value in shapes.objects(node, limit)
    }


def test_the_limits_are_the_same_in_every_language() -> None:
    in_python = {name[4:]: value for name, value in vars(limits).items() if name.startswith("MAX_")}
    of_client = {
        name[4:]: value for name, value in vars(ses_client.limits).items() if name.startswith("MAX_")
    }
    assert of_client.items() <= in_python.items()
    in_c = {name.removesuffix("_MAX"): value for name, value in IN_C.items()}
    for name in ("APPLICATION", "JOB", "ELEMENT"):
        in_c[name] -= 1  # the NUL
    of_c = {in_c.pop("RATE") * 1e6, in_c.pop("CAPACITY") * 1e9}
    assert of_c == {limits.MAX_BOUND}
    del in_c["POOL"], in_python["KIND"], in_python["SET_NAME"], in_python["PATH"]  # of one part
    assert in_c == in_python
    assert _in_shapes(ODRL.rightOperand, SH.maxInclusive) == {limits.MAX_BOUND}
    assert _in_shapes(QSM.weight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.defaultWeight, SH.maxInclusive) == {limits.MAX_WEIGHT}
    assert _in_shapes(QSM.bytesWritten, SH.maxInclusive) == {limits.MAX_SIZE}
    assert _in_shapes(QSM.requires, SH.maxCount) == {limits.MAX_REQUIREMENTS}
    assert _in_shapes(QSM.subject, SH.maxLength) == {limits.MAX_SET_NAME}
    assert _in_shapes(QSM.name, SH.maxLength) == {limits.MAX_NAME}
    assert ses_core.NEED["requirements"].shape[0] == limits.MAX_REQUIREMENTS
