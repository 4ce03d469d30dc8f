"""Names of people: what one part takes all take, and what one refuses all refuse."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from rdflib import Literal
from ses_client.names import USER, VO, user_of
from ses_service.api.app import create_app
from ses_service.knowledge.checks.validation import validate
from ses_service.process.runtime import ServiceConfig
from ses_webface.accounts.forms import PersonForm
from ses_webface.accounts.services import AccountError, check_name
from werkzeug.datastructures import MultiDict

PEOPLE = [
    "alice", "CORP\\alice", "12345678", "alice+x", "älice", "svc$",
    "alice@example.org", "a.b-c_d", "日本", "a" * 256,
]  # fmt: skip
NOBODY = [
    "-rf", "a:b", "a/b", " a", "a ", "a  b", "a\nb", "a\n", "a\tb", "a\x00b", "a$b", "a;b", "a*", "'a'", "%a",
    "a\u202eb", "a b",
]  # fmt: skip

ORGANISATIONS = [
    "materials", "CORP\\Domain Users", "domain users", "R&D (physics)", "ou=physics,dc=example", "a:b",
    "Größe", "users@example.org", "123", "a" * 256,
]  # fmt: skip
NONE = ["-rf", "a/b", " a", "a ", "a  b", "a\nb", "a\x00b", "a;b", "a*", "'a'", "%a", "a\u202eb", "a" * 257]


def _by_http(client: FlaskClient, path: str) -> bool:
    status = client.get(f"/v1/requirements/{path}").status_code
    assert status in (404, 422, 503), status
    return status == 503  # there is no site, which is looked at after the name


def _does(act: Callable[[], object], *errors: type[Exception]) -> bool:
    try:
        act()
    except errors:
        return False
    return True


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(ServiceConfig(trust_loopback=True)).test_client()


@pytest.mark.parametrize("name", [*PEOPLE, *NOBODY])
def test_a_name_is_a_users_in_every_part_or_in_none(client: FlaskClient, name: str) -> None:
    ways = {
        "rule": bool(USER.fullmatch(name)),
        "set": _by_http(client, f"user/{quote(name, safe='')}"),
        "set of a program": _by_http(client, f"application/{quote(name, safe='')}:dd"),
        "profile": _by_http(client, f"profile/{quote(name, safe='')}:own"),
        "account": _does(lambda: check_name(name), AccountError),
    }
    if name == "a:b":  # the program "b:dd" of "a"
        ways["set of a program"] = False
    if name == "%a":  # the VO "a"
        ways["profile"] = False
    assert ways == dict.fromkeys(ways, name in PEOPLE)


def _is_told(client: FlaskClient, user: str, vo: str) -> bool:
    body = {"accounts": [{"user": "somebody", "vo": "materials"}, {"user": user, "vo": vo}]}
    answer = client.put("/v1/members/accounts", json=body).get_json()
    assert answer["accounts"] + answer["refused"] == 2
    return answer["accounts"] == 2  # type: ignore[no-any-return]


def _is_typed(client: FlaskClient, vo: str) -> bool:
    with client.application.test_request_context(method="POST"):
        form = PersonForm(MultiDict({"name": "alice", "vo": vo}), meta={"csrf": False})
        return form.validate()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", [*ORGANISATIONS, *NONE])
def test_a_name_is_an_organisations_in_every_part_or_in_none(client: FlaskClient, name: str) -> None:
    ways = {
        "rule": bool(VO.fullmatch(name)),
        "set": _by_http(client, f"vo/{quote(name, safe='')}"),
        "profile": _by_http(client, f"profile/{quote(f'%{name}', safe='')}:own"),
        "told by a portal": _is_told(client, "alice", name),
        "typed in a portal": _is_typed(client, name),
    }
    assert ways == dict.fromkeys(ways, name in ORGANISATIONS)


@pytest.mark.parametrize("name", [*PEOPLE, *NOBODY])
def test_a_portal_tells_of_whoever_can_have_an_account(client: FlaskClient, name: str) -> None:
    assert _is_told(client, name, "materials") == (name in PEOPLE)


@pytest.mark.parametrize("name", PEOPLE)
def test_a_description_may_state_what_anybody_requires(name: str) -> None:
    for level, subject in (("user", name), ("application", f"{name}:dd")):
        text = f"""
            @prefix qsm: <https://w3id.org/qstorman/ontology#> .
            <urn:set> a qsm:RequirementSet ; qsm:level "{level}" ; qsm:subject {Literal(subject).n3()} ;
                qsm:revision 1 .
        """
        assert [fault.message for fault in validate(text, "who.ttl")] == []


@pytest.mark.parametrize(
    ("claim", "domain", "user"),
    [
        ("alice", None, "alice"),
        ("alice@example.org", None, "alice@example.org"),  # so SSSD may have it
        ("Alice@Example.org", "example.org", "alice"),
        ("alice@other.org", "example.org", None),
        ("alice", "example.org", None),
        ("root@example.org@other.org", "example.org", None),
        ("@example.org", "example.org", None),
        ("a b;c", None, None),
        (["alice"], None, None),
        (None, "example.org", None),
    ],
)
def test_a_provider_names_users_of_its_domain_only(
    claim: object, domain: str | None, user: str | None
) -> None:
    assert user_of(claim, domain) == user
