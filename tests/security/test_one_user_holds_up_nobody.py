"""The worst requests of one user or node, at a real service, beside another user and who watches it."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import urllib3
from service_process import Running
from ses_service.security.tokens import Role, add_token

UNKNOWN = {f"a{index}": 0 for index in range(70_000)}
WORST = {
    Role.USER: ("/v1/nodes/selections", {"subject": {"user": "mallory"}, **UNKNOWN}),
    Role.NODE: ("/v1/nodes/mallory/announcements", {"incarnation": "a" * 16, "generations": UNKNOWN}),
}


@pytest.mark.parametrize(("role", "attacks"), [(Role.USER, 4), (Role.NODE, 64)])
def test_others_are_answered_beside_the_worst_requests_of_one_user_or_node(
    start: Callable[..., Running], tmp_path: Path, role: Role, attacks: int
) -> None:
    tokens, (path, said) = tmp_path / "tokens", WORST[role]
    body = json.dumps(said).encode()
    mallory = add_token(tokens, role, "mallory", **{role.value: "mallory"})
    alice = add_token(tokens, Role.USER, "alice", "alice")
    service = start(f"--tokens={tokens}").wait_ready()
    assert service.call("POST", path, {}, token=mallory)[0] == 422
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {mallory}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    asked = []
    try:
        for _ in range(attacks):
            asked.append(socket.create_connection(("127.0.0.1", service.port), timeout=60))
            asked[-1].sendall(head + body)
        for _ in range(3):
            assert service.call("GET", "/v1/files", token=alice)[0] == 200
            assert service.call("GET", "/readyz")[0] == 200
            with urllib3.PoolManager(timeout=60, retries=False) as http:
                assert http.request("GET", f"{service.url}/metrics").status == 200
        assert service.end() == 0
    finally:
        for connection in asked:
            connection.close()
