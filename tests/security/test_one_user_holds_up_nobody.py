"""The worst requests of one user, at a real service, beside another user and who watches it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import urllib3
from service_process import Running
from ses_service.security.tokens import Role, add_token

WORST = json.dumps({"subject": {"user": "mallory"}, **{f"a{one}": 0 for one in range(70_000)}}).encode()


@pytest.mark.parametrize("attacks", [4, 64])
def test_others_are_answered_beside_the_worst_requests_of_one_user(
    start: Callable[..., Running], tmp_path: Path, attacks: int
) -> None:
    tokens = tmp_path / "tokens"
    mallory, alice = (add_token(tokens, Role.USER, one, one) for one in ("mallory", "alice"))
    service = start(f"--tokens={tokens}").wait_ready()
    head = (
        "POST /v1/nodes/selections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {mallory}\r\nContent-Length: {len(WORST)}\r\n\r\n"
    ).encode()
    asked = []
    try:
        for _ in range(attacks):
            asked.append(socket.create_connection(("127.0.0.1", service.port), timeout=60))
            asked[-1].sendall(head + WORST)
        for _ in range(3):
            assert service.call("GET", "/v1/files", token=alice)[0] == 200
            assert service.call("GET", "/readyz")[0] == 200
            with urllib3.PoolManager(timeout=60, retries=False) as http:
                assert http.request("GET", f"{service.url}/metrics").status == 200
        assert service.end() == 0
    finally:
        for one in asked:
            one.close()
