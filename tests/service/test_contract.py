"""The contract file says what the service does: compared, and tried with generated requests."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from asked import AsWsgi
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from ses_service.api import contract
from ses_service.api.app import create_app
from ses_service.api.operations import OPERATIONS
from ses_service.http.edge import Edge
from ses_service.ledger.placement import Basis, EndReason, PlacementState, Reason
from ses_service.model.entities import ElementState, Level, Strictness
from ses_service.model.kinds import PREDICTED
from ses_service.process.runtime import ServiceConfig
from ses_service.security.tokens import Role, TokenFile, add_token

FILE = Path(__file__).parents[2] / "ses-service" / "openapi.yaml"
DOCUMENT: dict[str, Any] = yaml.load(FILE.read_text("utf-8"), yaml.CSafeLoader)  # a tenth of the time


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return DOCUMENT


def test_the_committed_file_is_the_one_the_service_makes() -> None:
    made = contract.document(create_app(ServiceConfig()))
    assert FILE.read_text("utf-8") == made, "run: ses-service openapi > ses-service/openapi.yaml"


def test_the_running_service_gives_the_same_document(service: Any, document: dict[str, Any]) -> None:
    assert service.get("/openapi.json").get_json() == document


def path_of(route: str) -> str:
    """Return the path of the contract."""
    return re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", route)


def test_every_route_is_in_the_document_and_back(document: dict[str, Any]) -> None:
    app = create_app(ServiceConfig())
    served = {
        (path_of(rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint != "openapi.spec"
    }
    described = {(path, method) for path, operations in document["paths"].items() for method in operations}
    assert served == described
    assert len(described) >= 15


def test_every_tag_is_named_once(document: dict[str, Any]) -> None:
    """As OpenAPI demands: generators make a group of operations of each."""
    names = [tag["name"] for tag in document["tags"]]
    of_operations = {
        tag for path in document["paths"].values() for operation in path.values() for tag in operation["tags"]
    }
    assert len(names) == len(set(names))
    assert set(names) == of_operations


def test_every_reference_in_the_document_leads_somewhere(document: dict[str, Any]) -> None:
    def references(node: Any) -> list[str]:
        if isinstance(node, dict):
            return [
                *([node["$ref"]] if isinstance(node.get("$ref"), str) else []),
                *(reference for value in node.values() for reference in references(value)),
            ]
        return (
            [reference for value in node for reference in references(value)] if isinstance(node, list) else []
        )

    referenced = set(references(document))
    assert len(referenced) > 20
    for reference in referenced:
        node: Any = document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


@pytest.mark.parametrize(
    ("schema", "member", "names"),
    [
        ("ResolvedRequirement", "kind", PREDICTED),
        ("RequirementIn", "strictness", Strictness),
        ("ResolvedRequirement", "level", Level),
        ("Candidate", "basis", Basis),
        ("Refusal", "reason", Reason),
        ("Element", "state", ElementState),
        ("PlacementRecord", "state", PlacementState),
        ("FileEnded", "reason", set(EndReason) - {EndReason.SILENT}),
        ("PlacementRecord", "end_reason", EndReason),
    ],
)
def test_the_words_of_the_contract_are_those_of_the_core(
    document: dict[str, Any], schema: str, member: str, names: Any
) -> None:
    described = document["components"]["schemas"][schema]["properties"][member]
    (words,) = [option["enum"] for option in described.get("anyOf", [described]) if "enum" in option]
    assert sorted(words) == sorted(name.value for name in names)


ANSWERED_AT_THE_EDGE = {(path_of(operation.route), operation.method.lower()) for operation in OPERATIONS}
TRIED = [
    (path, method, mode, way)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    # Any text is a valid parameter once it is in a URL, so only bodies can be wrong on purpose.
    if mode is GenerationMode.POSITIVE or "requestBody" in operation
    # The edge passes on to Flask what it does not answer.
    for way in ("edge", "flask")
    if way == "edge" or (path, method) in ANSWERED_AT_THE_EDGE
]


@pytest.mark.parametrize(("path", "method", "mode", "way"), TRIED)
def test_generated_requests_get_what_the_contract_says(
    tmp_path: Path, serve: Any, path: str, method: str, mode: GenerationMode, way: str
) -> None:
    token = add_token(tmp_path / "tokens", Role.ADMIN, "generated", None)
    tokens = TokenFile(tmp_path / "tokens")
    service = serve(3, tokens=tokens, trust_loopback=False).refresh()
    with ExitStack() as cleanup:
        loaded = schemathesis.openapi.from_dict(DOCUMENT)  # as served, but a second sooner
        loaded.app = service.app
        if way == "edge":
            edge = Edge(service.app)
            cleanup.callback(edge.close)
            loaded.app = AsWsgi(edge)
        _try_out(loaded[path][method], mode, token)


def _try_out(operation: Any, mode: GenerationMode, token: str) -> None:
    # A schema cannot say that a kind is stated once, that a storage system exists, that two parameters
    # go together, or what an IRI is.
    parameters = ("GET /v1/placements", "GET /v1/changes")
    beyond = "requestBody" in operation.definition.raw or operation.label in parameters
    beyond_schemas = [positive_data_acceptance] if beyond else []
    if operation.label in ("POST /v1/nodes/{node}/announcements", "PUT /v1/members/accounts"):
        # They refuse single items, and say so in a 200.
        beyond_schemas.append(negative_data_rejection)
    tried = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def send(case: schemathesis.Case) -> None:
        nonlocal tried
        tried += 1
        case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, excluded_checks=beyond_schemas)

    send()
    assert tried
