"""The VO of a portal's account counts for the programs of its user."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ses_service.members.accounts import Accounts
from ses_service.model.entities import Kind, Level, Requirement
from ses_service.security.tokens import Role, TokenFile, add_token

PATH = "/v1/members/accounts"
ALICE = {"accounts": [{"user": "alice", "vo": "materials"}]}


def vo_of(service: Any, user: str) -> tuple[Any, Any]:
    answer = service.get(f"/v1/requirements/effective?user={user}").get_json()
    return answer["subject"]["vo"], answer["vo_from"]


def test_decisions_go_by_the_vo_of_the_account(service: Any) -> None:
    service.knowledge.put(Level.VO, "materials", Requirement(Kind.FREE_CAPACITY, 1e9))
    service.refresh()
    assert service.put(PATH, ALICE).get_json() == {"accounts": 1, "refused": 0}
    assert vo_of(service, "alice") == ("materials", "portal account")
    decision = service.post("/v1/selections", {"subject": {"user": "alice"}}).get_json()
    assert [requirement["level_name"] for requirement in decision["requirements"]] == ["materials"]
    service.put(PATH, {"accounts": []})
    assert vo_of(service, "alice") == (None, None)


def test_the_site_goes_before_the_account(serve: Any, site: Any) -> None:
    environment = replace(site.equal(1).environment, home_vo={"alice": "physics"})
    service = serve(environment).refresh()
    service.put(PATH, ALICE)
    assert vo_of(service, "alice") == ("physics", "site description")


def test_portals_and_administrators_tell_it(serve: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    made = {
        role: add_token(file, role, role.value, "bob" if role is Role.USER else None)
        for role in (Role.PORTAL, Role.ADMIN, Role.USER, Role.NODE)
    }
    service = serve(1, tokens=TokenFile(file), trust_loopback=False).refresh()
    statuses = {
        role: service.put(PATH, ALICE, headers={"Authorization": f"Bearer {token}"}).status_code
        for role, token in made.items()
    }
    assert statuses == {Role.PORTAL: 200, Role.ADMIN: 200, Role.USER: 403, Role.NODE: 403}


@pytest.mark.parametrize(
    "accounts",
    [
        [{"user": "alice", "vo": "a"}, {"user": "alice", "vo": "b"}],
        [{"user": "al ice", "vo": "a"}],
        [{"user": "alice", "vo": ""}],
        [{"user": "alice", "vo": None}],
        [{"user": "a/b", "vo": "a"}],
        [{"user": f"u{number}", "vo": "a"} for number in range(20_001)],
    ],
    ids=["twice", "blank", "empty", "null", "slash", "many"],
)
def test_what_cannot_be_right_is_refused_and_changes_nothing(service: Any, accounts: Any) -> None:
    service.put(PATH, ALICE)
    assert service.put(PATH, {"accounts": accounts}).status_code == 422
    assert vo_of(service, "alice")[0] == "materials"


def test_one_account_that_is_refused_keeps_no_other_from_its_vo(service: Any) -> None:
    odd = [{"user": "al ice", "vo": "a"}, {"user": "a\nb", "vo": "a"}, {"user": "bob", "vo": "x" * 257}, 7]
    answer = service.put(PATH, {"accounts": [*odd, *ALICE["accounts"]]})
    assert (answer.status_code, answer.get_json()) == (200, {"accounts": 1, "refused": 4})


def test_what_was_told_is_known_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "accounts.json"
    accounts = Accounts(path)
    accounts.take("portal-b", {"alice": "b", "bob": "b"})
    accounts.take("portal-a", {"alice": "a"})
    again = Accounts(path)
    homes = {user: home.vo for user in ("alice", "bob", "carol") if (home := again.home(user))}
    assert homes == {"alice": "a", "bob": "b"}
    assert path.stat().st_mode & 0o777 == 0o600
    again.take("portal-a", {})
    known = again.home("alice")
    assert known is not None
    assert known.vo == "b"


@pytest.mark.parametrize("harm", ["", "[]", '{"a": 3}', "\xff"])
def test_a_file_that_cannot_be_used_is_not(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "accounts.json"
    path.write_bytes(harm.encode("latin-1"))
    accounts = Accounts(path)
    assert accounts.home("alice") is None
    accounts.take("portal", {"alice": "a"})
    assert Accounts(path).home("alice") is not None


def test_the_answer_says_what_does_not_count_and_why(service: Any, clock: Any) -> None:
    def stated(minimum: float, **window: str) -> dict[str, Any]:
        return {"requirements": [{"kind": "free-capacity", "minimum": minimum, "unit": "GB", **window}]}

    day = "1970-01-12T"  # the clock of these tests stands at 13:46:40 of it
    service.put(PATH, ALICE)
    service.put("/v1/requirements/application/alice:dd", stated(1, valid_from=f"{day}14:00:00Z"))
    service.put("/v1/requirements/user/alice", stated(2, valid_until=f"{day}13:00:00Z"))
    service.put("/v1/requirements/vo/materials", stated(3))
    service.put("/v1/requirements/site/default", stated(4))
    answer = service.get("/v1/requirements/effective?user=alice&application=dd").get_json()
    assert [(requirement["level"], requirement["minimum"]) for requirement in answer["requirements"]] == [
        ("vo", 3)
    ]
    assert [(passed["level"], passed["minimum"], passed["reason"]) for passed in answer["passed_over"]] == [
        ("application", 1, "not valid yet"),
        ("user", 2, "not valid any more"),
        ("site", 4, "hidden by the requirement of vo materials"),
    ]
