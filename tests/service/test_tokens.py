"""Tokens of an OIDC issuer sign people in, and their claims say which VO they are of."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fake_issuer import AUDIENCE, FakeIssuer
from patience import wait_until
from service_process import SITE, Running
from ses_service.members.issuer import IssuerError, Keys, fetch_keys
from ses_service.members.members_file import Issuer, MembersFile, read_members_file
from ses_service.members.memberships import Memberships
from ses_service.members.tokens import TokenError, Tokens
from ses_service.members.toml_tables import MembersFileError

PHYSICS = "urn:mace:example.org:group:physics:"
RULES = """
[[oidc.claim]]
claim = "groups"
value = "/materials"
vo = "materials"

[[oidc.claim]]
claim = "eduperson_entitlement"
pattern = "urn:mace:example.org:group:physics:*#aai.example.org"
vo = "physics"

[[oidc.claim]]
claim = "realm_access.roles"
value = "chemist"
vo = "chemistry"
"""


@pytest.fixture
def issuer() -> Iterator[FakeIssuer]:
    fake_issuer = FakeIssuer()
    yield fake_issuer
    fake_issuer.stop()


def written(folder: Path, url: str, extra: str = "", rules: str = RULES) -> MembersFile:
    path = folder / "members.toml"
    path.write_text(f'[oidc]\nissuer = "{url}"\naudience = "{AUDIENCE}"\n{extra}\n{rules}')
    return read_members_file(path)


class Signing:
    """Keys, tokens and memberships over one members file, with time that is moved by hand."""

    def __init__(self, mapping: MembersFile, clock: Any, state: Path | None = None) -> None:
        assert mapping.oidc is not None
        self.clock, self.ticks = clock, 0.0
        self.memberships = Memberships(mapping, state)
        self.keys = Keys(mapping.oidc, clock, ticks=lambda: self.ticks)
        self.tokens = Tokens(mapping.oidc, self.keys, clock, self.memberships.show)
        self.keys.step()

    def vo(self, user: str) -> str | None:
        home = self.memberships.home(user, self.clock())
        return None if home is None else home.vo


@pytest.fixture
def signing(tmp_path: Path, issuer: FakeIssuer, clock: Any) -> Signing:
    return Signing(written(tmp_path, issuer.url, "keep = 1000"), clock, tmp_path / "members.json")


@pytest.mark.parametrize(
    ("claims", "vo"),
    [
        ({"groups": ["/others", "/materials"]}, "materials"),
        ({"groups": "/materials"}, "materials"),
        ({"groups": ["/materials/sub"]}, None),
        ({"groups": [None, 3, ["/materials"], {"a": "/materials"}]}, None),
        ({"eduperson_entitlement": [f"{PHYSICS}role=member#aai.example.org"]}, "physics"),
        ({"eduperson_entitlement": [f"x {PHYSICS}a#aai.example.org"]}, None),
        ({"eduperson_entitlement": f"{PHYSICS}a#aai.example.org.evil"}, None),
        ({"realm_access": {"roles": ["chemist"]}}, "chemistry"),
        ({"realm_access.roles": ["chemist"]}, "chemistry"),
        ({"realm_access": ["roles"], "groups": {"roles": []}}, None),
        ({"groups": "/materials", "realm_access": {"roles": ["chemist"]}}, "materials"),
        ({}, None),
    ],
)  # fmt: skip
def test_claims_stand_for_organisations(
    issuer: FakeIssuer, signing: Signing, claims: dict[str, Any], vo: str | None
) -> None:
    assert signing.tokens.user(issuer.token(**claims)) == "alice"
    assert signing.vo("alice") == vo


def test_a_membership_counts_for_a_while_and_over_a_restart(
    issuer: FakeIssuer, signing: Signing, tmp_path: Path, clock: Any
) -> None:
    signing.tokens.user(issuer.token(groups="/materials"))
    signing.memberships.write()
    again = Signing(read_members_file(tmp_path / "members.toml"), clock, tmp_path / "members.json")
    assert again.vo("alice") == "materials"
    clock.time += 999
    assert again.vo("alice") == "materials"
    clock.time += 1
    assert again.vo("alice") is None


def test_a_membership_ends_when_a_token_says_so(issuer: FakeIssuer, signing: Signing) -> None:
    signing.tokens.user(issuer.token(groups=["/materials"]))
    signing.tokens.user(issuer.token())
    assert signing.vo("alice") == "materials", "a token without any of the claims says nothing"
    signing.tokens.user(issuer.token(groups=[]))
    assert signing.vo("alice") is None


def test_a_membership_that_is_not_kept_ends_with_its_token(
    tmp_path: Path, issuer: FakeIssuer, clock: Any
) -> None:
    signing = Signing(written(tmp_path, issuer.url, "keep = 0"), clock)
    clock.time = time.time()
    token = issuer.token(groups="/materials", exp=int(clock.time) + 500)
    signing.tokens.user(token)
    assert signing.vo("alice") == "materials"
    clock.time += 501
    assert signing.vo("alice") is None


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"aud": "another"}, "[Aa]udience"),
        ({"aud": None}, '"aud"'),
        ({"iss": "https://evil.example.org"}, "[Ii]ssuer"),
        ({"iss": None}, '"iss"'),
        ({"exp": 1}, "expired"),
        ({"exp": None}, '"exp"'),
        ({"exp": "tomorrow"}, "exp"),
        ({"nbf": 1e11}, "not yet valid"),
        ({"preferred_username": None}, "preferred_username is no user's name"),
        ({"preferred_username": ["alice"]}, "no user's name"),
        ({"preferred_username": "../alice"}, "no user's name"),
        ({"preferred_username": "alice\n"}, "no user's name"),
        ({"preferred_username": "-x"}, "no user's name"),
        ({"filler": "x" * 20_000}, "too large"),
    ],
)
def test_a_token_that_is_not_for_us_is_refused(
    issuer: FakeIssuer, signing: Signing, claims: dict[str, Any], message: str
) -> None:
    with pytest.raises(TokenError, match=message):
        signing.tokens.user(issuer.token(**{"groups": "/materials", **claims}))
    assert signing.vo("alice") is None


def test_with_a_domain_only_its_users_are_ours(tmp_path: Path, issuer: FakeIssuer, clock: Any) -> None:
    clock.time = time.time()
    signing = Signing(written(tmp_path, issuer.url, 'user_domain = "example.org"'), clock)
    assert signing.tokens.user(issuer.token(preferred_username="Alice@Example.org")) == "alice"
    for name in ("alice", "alice@other.org"):
        with pytest.raises(TokenError, match=r"is no user's name of example\.org"):
            signing.tokens.user(issuer.token(preferred_username=name))


def forged(issuer: FakeIssuer) -> dict[str, str]:
    """Tokens that somebody made who does not have the issuer's key."""
    good = issuer.token(groups="/materials")
    head, body, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})

    def part(data: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()

    public = issuer.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    own = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    symmetric = f"{part({'alg': 'HS256', 'kid': 'first'})}.{body}"
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).hash_alg
    made = hmac.new(public, symmetric.encode(), mac).digest()
    signed = base64.urlsafe_b64encode(made).rstrip(b"=").decode()
    return {
        "none": f"{part({'alg': 'none', 'kid': 'first'})}.{body}.",
        "symmetric": f"{symmetric}.{signed}",
        "changed": f"{head}.{part({**claims, 'preferred_username': 'root'})}.{signature}",
        "another key": jwt.encode(claims, own, "RS256", {"kid": "first"}),
        "a key of its own": jwt.encode(
            claims,
            own,
            "RS256",
            {"kid": "x", "jwk": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key()))},
        ),
        "no signature": f"{head}.{body}.",
        "the secret key": jwt.encode(claims, b"\0" * 32, "HS256", {"kid": "secret"}),
        "another algorithm": f"{part({'alg': 'ES256', 'kid': 'first'})}.{body}.{signature}",
        "rubbish": "a.b.c",
        "nothing": "..",
        "critical": jwt.encode(claims, own, "RS256", {"kid": "first", "crit": ["exp"]}),
    }


def test_a_forged_token_is_refused(issuer: FakeIssuer, signing: Signing) -> None:
    tokens = forged(issuer)
    assert len(tokens) == 11
    for name, token in tokens.items():
        with pytest.raises(TokenError):
            pytest.fail(f"{name}: {signing.tokens.user(token)}")
    assert signing.vo("alice") is None


def test_a_key_that_is_not_known_is_asked_for_once_in_ten_seconds(
    issuer: FakeIssuer, signing: Signing
) -> None:
    old = issuer.token()
    issuer.rotate()
    for _ in range(3):
        with pytest.raises(TokenError, match="not known"):
            signing.tokens.user(issuer.token())
        signing.keys.step()
    assert issuer.asked["/keys"] == 1
    signing.ticks += 10
    signing.keys.step()
    assert signing.tokens.user(issuer.token()) == "alice"
    with pytest.raises(TokenError, match="not known"):
        signing.tokens.user(old)
    assert issuer.asked["/keys"] == 2


def test_known_keys_stay_while_the_issuer_is_away(issuer: FakeIssuer, signing: Signing) -> None:
    issuer.answers["/keys"] = (500, b"")
    signing.ticks += 3600
    signing.keys.step()
    assert not signing.keys.status.reachable
    assert "status 500" in signing.keys.status.detail
    assert signing.tokens.user(issuer.token()) == "alice"


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        ("/keys", (302, b""), "status 302"),
        ("/keys", (200, b"{"), "not JSON"),
        ("/keys", (200, b"[" * 100_000), "not JSON"),
        ("/keys", (200, b"[]"), "not an object"),
        ("/keys", (200, b'{"keys": 3}'), "no key for signatures"),
        ("/keys", (200, b'{"keys": [3, {"kty": "RSA"}, {"kty": "oct"}]}'), "no key for signatures"),
        ("/keys", (200, b" " * (2**20 + 1)), "too large"),
        ("/realm/.well-known/openid-configuration", (200, b'{"issuer": "https://x"}'), "is about issuer"),
    ],
)  # fmt: skip
def test_an_issuer_that_misbehaves_gives_no_keys(
    issuer: FakeIssuer, path: str, answer: tuple[int, bytes], message: str
) -> None:
    issuer.answers[path] = answer
    with pytest.raises(IssuerError, match=message):
        fetch_keys(Issuer(issuer.url, AUDIENCE, ()))


def test_keys_are_not_fetched_from_where_anybody_could_answer(issuer: FakeIssuer) -> None:
    about = json.dumps({"issuer": issuer.url, "jwks_uri": "http://keys.example.org/"}).encode()
    issuer.answers["/realm/.well-known/openid-configuration"] = (200, about)
    with pytest.raises(IssuerError, match="no jwks_uri that is https"):
        fetch_keys(Issuer(issuer.url, AUDIENCE, ()))
    issuer.stop()
    with pytest.raises(IssuerError, match="does not answer"):
        fetch_keys(Issuer(issuer.url, AUDIENCE, (), timeout=1))


@pytest.mark.parametrize(
    ("url", "extra", "rules", "message"),
    [
        ("http://idp.example.org", "", RULES, r"line 1: \[oidc\]: issuer .* is not https"),
        ("https://idp", 'jwks_uri = "file:///x"', RULES, "jwks_uri .* is not https"),
        ("https://idp", 'algorithms = ["HS256"]', RULES, "algorithm 'HS256' is not one of"),
        ("https://idp", 'algorithms = ["none"]', RULES, "algorithm 'none' is not one of"),
        ("https://idp", "", '[[oidc.claim]]\nclaim = "a"\nvo = "b"', "line 5: .* by value or by pattern"),
        ("https://idp", "", '[[oidc.claim]]\nvalue = "a"\nvo = "b"', "claim is missing"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, url: str, extra: str, rules: str, message: str) -> None:
    with pytest.raises(MembersFileError, match=message):
        written(tmp_path, url, extra, rules)


def test_who_has_a_token_acts_as_that_user_and_no_more(
    serve: Any, site: Any, tmp_path: Path, issuer: FakeIssuer
) -> None:
    environment = replace(site.equal(1).environment, organisations=frozenset({"materials"}))
    mapping = written(tmp_path, issuer.url)
    service = serve(environment, members=mapping, trust_loopback=False).refresh()
    service.runtime.members.keys.step()
    sent = {"headers": {"Authorization": f"Bearer {issuer.token(groups='/materials')}"}}
    asked = "/v1/requirements/effective?user=alice"
    answer = service.get(asked, **sent).get_json()
    assert (answer["subject"]["vo"], answer["vo_from"]) == ("materials", "claim groups of a token")
    wanted = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}
    stored = service.put("/v1/requirements/user/alice", wanted, **sent)
    assert (stored.status_code, stored.get_json()["modified_by"]) == (200, "alice")
    for other in ("user/bob", "vo/materials", "site/default"):
        assert service.put(f"/v1/requirements/{other}", wanted, **sent).status_code == 403
    acting = {"headers": {**sent["headers"], "X-Acting-User": "bob"}}
    assert service.put("/v1/requirements/user/bob", wanted, **acting).status_code == 403
    refused = service.get(asked, headers={"Authorization": f"Bearer {issuer.token(exp=1)}"}, code=401)
    assert "expired" in refused.get_json()["detail"]
    assert service.get(asked, headers={"Authorization": "Bearer a.b.c"}).status_code == 401


def test_a_service_reads_the_keys_and_goes_on_without_the_issuer(tmp_path: Path, issuer: FakeIssuer) -> None:
    file = written(tmp_path, issuer.url, "refresh = 1").path
    service = Running(tmp_path, f"--site={SITE}", f"--members={file}")
    asked = "/v1/requirements/effective?user=alice"

    def issuer_ok() -> Any:
        checks = service.call("GET", "/readyz")[1]["checks"]
        return next(check["ok"] for check in checks if check["name"] == "issuer")

    try:
        service.wait_ready()
        wait_until(issuer_ok)
        token = issuer.token(groups="/materials")
        assert service.call("GET", asked, token=token)[1]["subject"]["vo"] == "materials"
        issuer.stop()
        wait_until(lambda: not issuer_ok())
        assert service.call("GET", asked, token=token)[0] == 200
        assert service.call("GET", asked)[0] == 401
        assert service.call("GET", "/readyz")[0] == 200
    finally:
        assert service.end() == 0
    again = Memberships(read_members_file(file), tmp_path / "state" / "members.json").home(
        "alice", time.time()
    )
    assert again is not None
    assert again.vo == "materials"
