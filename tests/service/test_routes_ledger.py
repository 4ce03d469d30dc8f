"""What was learned of sizes, and what other services say, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files_opened import new_ids, opened
from ses_service.security.tokens import Role, TokenFile, add_token

AGENT = "a" * 16


@pytest.fixture
def guarded(
    make_service: Any, site: Any, clock: Any, tmp_path: Path
) -> tuple[Any, dict[str, dict[str, str]]]:
    """A service that asks for tokens, and headers with one of each."""
    path = tmp_path / "tokens.toml"
    tokens = {
        "node": add_token(path, Role.NODE, "agent", node="n1"),
        "peer": add_token(path, Role.PEER, "other", None),
        "admin": add_token(path, Role.ADMIN, "root", None),
        "alice": add_token(path, Role.USER, "alice", "alice"),
    }
    made = make_service(site.equal(3).environment, clock, tokens=TokenFile(path), trust_loopback=False)
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    return made.refresh(), headers


def write(service: Any, headers: dict[str, str], user: str, path: str, *sizes: float) -> None:
    """Let files of these sizes come and go."""
    ids = new_ids(len(sizes))
    said = {
        "incarnation": AGENT,
        "opened": [
            opened(one, user=user, inode=number + 1, path=f"{path}.{number}")
            for number, one in enumerate(ids)
        ],
        "ended": [
            {"placement_id": one, "reason": "closed", "bytes_written": size}
            for one, size in zip(ids, sizes, strict=True)
        ],
    }
    assert service.post("/v1/nodes/n1/announcements", said, headers=headers).status_code == 200


def test_sizes_are_listed_by_user_application_and_pattern(guarded: Any) -> None:
    service, headers = guarded
    write(service, headers["node"], "alice", "/d/run7/out", 10.0, 30.0, 20.0)
    write(service, headers["node"], "bob", "/d/small", 1.0)
    listed = service.get("/v1/sizes", headers=headers["admin"]).get_json()["sizes"]
    assert {(one["user"], one["pattern"], one["count"], one["median_bytes"]) for one in listed} == {
        ("alice", None, 3, 20.0),
        ("alice", "/d/run#/out.#", 3, 20.0),
        ("bob", None, 1, 1.0),
        ("bob", "/d/small.#", 1, 1.0),
    }
    assert {one["application"] for one in listed} == {"dd"}
    only = service.get("/v1/sizes?user=bob&limit=1", headers=headers["admin"]).get_json()["sizes"]
    assert [one["user"] for one in only] == ["bob"]


def test_a_person_sees_their_own_sizes_only(guarded: Any) -> None:
    service, headers = guarded
    write(service, headers["node"], "alice", "/d/a", 10.0)
    write(service, headers["node"], "bob", "/d/b", 1.0)
    listed = service.get("/v1/sizes", headers=headers["alice"]).get_json()["sizes"]
    assert {one["user"] for one in listed} == {"alice"}
    assert service.get("/v1/sizes?user=bob", headers=headers["alice"]).status_code == 403
    assert service.get("/v1/sizes").status_code == 401


def change(number: int, **said: Any) -> dict[str, Any]:
    return {"placement_id": f"{number:016x}", "state": "open", "stripes": ["union/b0"], **said}


def test_only_a_peer_may_say_what_another_service_carries(guarded: Any) -> None:
    service, headers = guarded
    message = {"origin": "b" * 16, "sequence": 1, "full": True, "changes": [change(1)]}
    for name in ("node", "alice"):
        assert service.post("/v1/ledger/changes", message, headers=headers[name]).status_code == 403
    answer = service.post("/v1/ledger/changes", message, headers=headers["peer"])
    assert (answer.status_code, answer.get_json()["resync"]) == (200, False)
    late = {**message, "sequence": 3, "full": False}
    assert service.post("/v1/ledger/changes", late, headers=headers["peer"]).get_json()["resync"] is True
    elements = service.get("/v1/elements", headers=headers["admin"]).get_json()["elements"]
    assert [one["open_placements"] for one in elements] == [1, 0, 0]
    assert (
        service.post("/v1/selections", {"subject": {"user": "alice"}}, headers=headers["peer"]).status_code
        == 403
    )


def test_what_we_say_ourselves_does_not_count_twice(service: Any) -> None:
    message = {"origin": service.runtime.instance, "sequence": 1, "full": True, "changes": [change(1)]}
    assert service.post("/v1/ledger/changes", message).get_json()["resync"] is False
    assert sum(one["open_placements"] for one in service.get("/v1/elements").get_json()["elements"]) == 0
