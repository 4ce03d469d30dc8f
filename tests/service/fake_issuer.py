"""A fake OIDC issuer: discovery and keys over HTTP, and tokens really signed."""

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from http_server import Asked, HttpServer

AUDIENCE = "qstorman"


class FakeIssuer:
    """``answers`` may be changed by path: a status and a body; ``asked`` counts requests by path."""

    def __init__(self) -> None:
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.name = "first"
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: dict[str, int] = {}
        self._server = HttpServer(self._serve)
        self.url, self.keys_url = f"{self._server.url}/realm", f"{self._server.url}/keys"
        self.stop = self._server.close

    def _serve(self, asked: Asked) -> None:
        self.asked[asked.path] = self.asked.get(asked.path, 0) + 1
        status, body = self.answer(asked.path)
        asked.say(status, body, Location="/keys")

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
        jwk: dict[str, Any] = json.loads(kind.to_jwk(self.private.public_key()))
        return {**jwk, "kid": self.name, "use": "sig"}

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
