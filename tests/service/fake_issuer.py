"""A fake OIDC issuer: discovery and keys over HTTP, and tokens really signed."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE = "qstorman"


class FakeIssuer:
    """``answers`` may be changed by path: a status and a body; ``asked`` counts requests by path."""

    def __init__(self) -> None:
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.name = "first"
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: dict[str, int] = {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.asked[self.path] = fake.asked.get(self.path, 0) + 1
                status, body = fake.answer(self.path)
                self.send_response(status)
                self.send_header("Location", "/keys")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/realm"
        self.keys_url = f"http://127.0.0.1:{self._server.server_port}/keys"
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    def rotate(self) -> None:
        """Sign with another key from now on, of another type, and serve only that."""
        self.private, self.name = ec.generate_private_key(ec.SECP256R1()), "second"

    def answer(self, path: str) -> tuple[int, bytes]:
        """The status and body of a path."""
        if path in self.answers:
            return self.answers[path]
        if path == "/realm/.well-known/openid-configuration":
            return 200, json.dumps({"issuer": self.url, "jwks_uri": self.keys_url}).encode()
        secret = {"kty": "oct", "k": "AAAA", "kid": "secret"}
        return 200, json.dumps({"keys": [secret, self.public()]}).encode()

    def public(self) -> dict[str, Any]:
        """The key it signs with, as it tells it."""
        kind = jwt.algorithms.RSAAlgorithm if self.name == "first" else jwt.algorithms.ECAlgorithm
        found: dict[str, Any] = json.loads(kind.to_jwk(self.private.public_key()))
        return {**found, "kid": self.name, "use": "sig"}

    def token(self, user: str = "alice", *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token that is good for an hour, with claims of its own; ``None`` leaves one out."""
        now = time.time()
        said = {
            "iss": self.url,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 3600,
            "preferred_username": user,
            **claims,
        }
        said = {name: value for name, value in said.items() if value is not None}
        algorithm = "RS256" if self.name == "first" else "ES256"
        return jwt.encode(said, self.private, algorithm, {"kid": self.name, **(headers or {})})
