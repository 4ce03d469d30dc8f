"""Requests that generated ones found to be answered otherwise than the contract says."""

from pathlib import Path
from typing import Any

import pytest
from ses_service.security.tokens import Role, TokenFile, add_token
from test_contract import DOCUMENT

PATHS: dict[str, dict[str, Any]] = DOCUMENT["paths"]
METHODS = ("get", "put", "post", "delete", "patch")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, str]]]:
    """Tokens, and what alice shows, and a portal that acts for her, where an administrator may not ask."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    alice, portal = add_token(file, Role.USER, "alice", "alice"), add_token(file, Role.PORTAL, "portal", None)
    acting = {"Authorization": f"Bearer {portal}", "X-Acting-User": "alice"}
    return file, {"alice": {"Authorization": f"Bearer {alice}"}, "portal": acting}


@pytest.fixture(scope="module")
def service(site: Any, make_service: Any, tokens: tuple[Path, dict[str, dict[str, str]]]) -> Any:
    """One for all: nothing that is asked here changes it."""
    return make_service(site.equal(3).environment, lambda: site.NOW, tokens=TokenFile(tokens[0])).refresh()


def filled(path: str) -> str:
    """A path of the contract with something in its places."""
    for name, value in (
        ("number", "1"),
        ("part", "site"),
        ("level", "user"),
        ("name", "alice"),
        ("node", "n1"),
    ):
        path = path.replace(f"{{{name}}}", value)
    return path.replace("{placement_id}", "0123456789abcdef")


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path in PATHS for method in METHODS if method not in PATHS[path]]
)
def test_a_method_that_is_not_served_is_answered_with_those_that_are(
    service: Any, path: str, method: str
) -> None:
    answer = service.client.open(f"{filled(path)}?twice=1&twice=2", method=method.upper())
    assert answer.status_code == 405
    allowed = {part.strip() for part in answer.headers["Allow"].split(",")}
    assert allowed - {"HEAD", "OPTIONS"} == {verb.upper() for verb in PATHS[path]}
    detail = answer.get_json()["detail"]
    assert detail.startswith(f"{method.upper()} is not served at this path; ")
    assert all(verb in detail for verb in allowed)


@pytest.mark.parametrize("path", PATHS)
def test_the_methods_a_path_says_it_takes_are_those_of_the_contract(service: Any, path: str) -> None:
    allowed = {part.strip() for part in service.client.options(filled(path)).headers["Allow"].split(",")}
    assert allowed - {"HEAD", "OPTIONS"} == {verb.upper() for verb in PATHS[path]}


WITH_BODY = [
    (path, method) for path, operations in PATHS.items() for method in operations if method in ("post", "put")
]


@pytest.mark.parametrize("body", ["null", " null\n", "[]", "false", "0", '""', ""])
@pytest.mark.parametrize(("path", "method"), WITH_BODY)
def test_a_body_that_is_no_object_changes_nothing(
    service: Any, tokens: tuple[Path, dict[str, dict[str, str]]], path: str, method: str, body: str
) -> None:
    who = "portal" if path == "/v1/runs" else "alice"
    shown = tokens[1][who] if path.startswith("/v1/runs") else {}
    answer = service.client.open(
        filled(path), method=method.upper(), data=body, headers={"Content-Type": "application/json", **shown}
    )
    assert answer.status_code in (400, 422), answer.text
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "method", "member", "most", "value"),
    [
        ("/v1/members/accounts", "PUT", "accounts", 20_000, {"user": "a", "vo": "b"}),
        ("/v1/selections", "POST", "exclude", 1000, "a/b"),
        ("/v1/selections", "POST", "requirements", 8, {"kind": "latency", "maximum": 1, "unit": "ms"}),
    ],
)
def test_a_list_with_one_member_too_many_is_refused_by_its_length(
    service: Any, path: str, method: str, member: str, most: int, value: Any
) -> None:
    body = {"subject": {"user": "alice"}, member: [value] * (most + 1)}
    if path != "/v1/selections":
        del body["subject"]
    answer = service.client.open(path, method=method, json=body)
    assert answer.status_code == 422
    (error,) = (listed for listed in answer.get_json()["errors"] if listed["location"] == f"json.{member}")
    assert f"at most {most} items" in error["message"]


def test_every_operation_documents_what_a_caller_without_a_token_gets() -> None:
    missing = [
        (path, method)
        for path, operations in PATHS.items()
        for method, operation in operations.items()
        if path.startswith("/v1/")
        and not {"401", "403", "503"} <= {str(response) for response in operation["responses"]}
    ]
    assert missing == []
    assert len(PATHS) > 15
