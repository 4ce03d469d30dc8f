"""What was learned of sizes, over HTTP."""

from pathlib import Path
from typing import Any

import pytest
from files_opened import new_ids, opened
from ses_service.security.tokens import Role, TokenFile, add_token

AGENT = "a" * 16


@pytest.fixture
def guarded(serve: Any, tmp_path: Path) -> tuple[Any, dict[str, dict[str, str]]]:
    """A service that asks for tokens, and headers with one of each."""
    path = tmp_path / "tokens.toml"
    tokens = {
        "node": add_token(path, Role.NODE, "agent", node="n1"),
        "admin": add_token(path, Role.ADMIN, "root", None),
        "alice": add_token(path, Role.USER, "alice", "alice"),
    }
    made = serve(3, tokens=TokenFile(path), trust_loopback=False)
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    return made.refresh(), headers


def write(service: Any, headers: dict[str, str], user: str, path: str, *sizes: float) -> None:
    """Let files of these sizes come and go."""
    ids = new_ids(len(sizes))
    said = {
        "incarnation": AGENT,
        "opened": [
            opened(placement, user=user, inode=number + 1, path=f"{path}.{number}")
            for number, placement in enumerate(ids)
        ],
        "ended": [
            {"placement_id": placement, "reason": "closed", "bytes_written": size}
            for placement, size in zip(ids, sizes, strict=True)
        ],
    }
    assert service.post("/v1/nodes/n1/announcements", said, headers=headers).status_code == 200


def test_sizes_are_listed_by_user_application_and_pattern(guarded: Any) -> None:
    service, headers = guarded
    write(service, headers["node"], "alice", "/d/run7/out", 10.0, 30.0, 20.0)
    write(service, headers["node"], "bob", "/d/small", 1.0)
    listed = service.get("/v1/sizes", headers=headers["admin"]).get_json()["sizes"]
    assert {(size["user"], size["pattern"], size["count"], size["median_bytes"]) for size in listed} == {
        ("alice", None, 3, 20.0),
        ("alice", "/d/run#/out.#", 3, 20.0),
        ("bob", None, 1, 1.0),
        ("bob", "/d/small.#", 1, 1.0),
    }
    assert {size["application"] for size in listed} == {"dd"}
    only = service.get("/v1/sizes?user=bob&limit=1", headers=headers["admin"]).get_json()["sizes"]
    assert [size["user"] for size in only] == ["bob"]


def test_a_person_sees_their_own_sizes_only(guarded: Any) -> None:
    service, headers = guarded
    write(service, headers["node"], "alice", "/d/a", 10.0)
    write(service, headers["node"], "bob", "/d/b", 1.0)
    listed = service.get("/v1/sizes", headers=headers["alice"]).get_json()["sizes"]
    assert {size["user"] for size in listed} == {"alice"}
    assert service.get("/v1/sizes?user=bob", headers=headers["alice"]).status_code == 403
    assert service.get("/v1/sizes").status_code == 401
