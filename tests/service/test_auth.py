"""Who may do what: the matrix of roles and routes, loopback trust, the token file."""

import hashlib
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from files_opened import announcement, new_ids
from patience import wait_until
from ses_service.commands.main import main as service_command
from ses_service.security import tokens as token_file
from ses_service.security.tokens import (
    Role,
    TokenFile,
    TokenFileError,
    add_token,
    revoke_token,
    tokens_of,
)

Service = Any
SET = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}
ASK = {"subject": {"user": "alice"}}


class Keys:
    """A service with one token of each role."""

    def __init__(self, service: Service, tokens: dict[str, str]) -> None:
        self.service = service
        self.tokens = tokens

    def open(self, user: str) -> str:
        """Announce a file of a user, and return its id."""
        ids = new_ids(1)
        assert (
            self.call(
                "node", "POST", "/v1/nodes/n1/announcements", announcement(ids, ["union/b0"], user=user)
            )
            == 200
        )
        return ids[0]

    def call(
        self, role: str | None, method: str, path: str, body: Any = None, acting: str | None = None
    ) -> int:
        headers = {"X-Acting-User": acting} if acting else {}
        if role is not None:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        options = {"json": body} if body is not None else {}
        status: int = self.service.client.open(path, method=method, headers=headers, **options).status_code
        return status


@pytest.fixture
def keys(tmp_path: Path, serve: Any, site: Any) -> Keys:
    path = tmp_path / "tokens.toml"
    tokens = {role.value: add_token(path, role, role.value) for role in (Role.PORTAL, Role.ADMIN)}
    tokens["node"] = add_token(path, Role.NODE, "agent-n1", node="n1")
    tokens["user"] = add_token(path, Role.USER, "alice-laptop", "alice")
    environment = replace(site.equal(2).environment, home_vo={"alice": "materials"})
    service = serve(environment, tokens=TokenFile(path), trust_loopback=False)
    return Keys(service.refresh(), tokens)


EVERYONE = {"node", "portal", "user", "admin"}
OTHERS = EVERYONE - {"user"}  # than a user, who is alice of materials


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("POST", "/v1/selections", ASK, EVERYONE),
        ("POST", "/v1/nodes/n1/announcements", {"incarnation": "a" * 16}, {"node", "admin"}),
        ("GET", "/v1/placements", None, EVERYONE),
        ("GET", "/v1/placements/ID", None, EVERYONE),
        ("GET", "/v1/elements", None, EVERYONE),
        ("GET", "/v1/storage-systems", None, EVERYONE),
        ("GET", "/v1/nodes", None, {"portal", "admin"}),
        ("GET", "/v1/sizes", None, {"portal", "user", "admin"}),
        ("GET", "/v1/files", None, {"portal", "user", "admin"}),
        ("GET", "/v1/files/ID", None, {"portal", "user", "admin"}),
        ("GET", "/v1/report", None, {"portal", "user", "admin"}),
        ("GET", "/v1/tokens", None, {"portal", "user"}),
        ("GET", "/v1/requirements", None, EVERYONE),
        ("GET", "/v1/requirements?user=alice", None, EVERYONE),
        ("GET", "/v1/requirements?user=bob", None, OTHERS),
        ("GET", "/v1/requirements/user/alice", None, EVERYONE),
        ("GET", "/v1/requirements/application/alice:dd", None, EVERYONE),
        ("GET", "/v1/requirements/vo/materials", None, EVERYONE),
        ("GET", "/v1/requirements/site/default", None, EVERYONE),
        ("GET", "/v1/requirements/user/bob", None, OTHERS),
        ("GET", "/v1/requirements/application/bob:dd", None, OTHERS),
        ("GET", "/v1/requirements/application/alicex:dd", None, OTHERS),
        ("GET", "/v1/requirements/vo/physics", None, OTHERS),
        ("GET", "/v1/requirements/effective?user=alice&vo=materials", None, EVERYONE),
        ("GET", "/v1/requirements/effective?user=alice&vo=physics", None, OTHERS),
        ("GET", "/v1/requirements/effective?user=bob", None, OTHERS),
        ("POST", "/v1/selections", {"subject": {"user": "bob"}}, OTHERS),
        ("POST", "/v1/selections", {"subject": {"user": "alice", "vo": "physics"}}, OTHERS),
        ("PUT", "/v1/requirements/user/alice", SET, {"portal", "user", "admin"}),
        ("PUT", "/v1/requirements/application/alice:dd", SET, {"portal", "user", "admin"}),
        ("PUT", "/v1/requirements/user/bob", SET, {"portal", "admin"}),
        ("PUT", "/v1/requirements/application/bob:dd", SET, {"portal", "admin"}),
        ("PUT", "/v1/requirements/vo/materials", SET, {"portal", "admin"}),
        ("PUT", "/v1/requirements/vo/alice", SET, {"portal", "admin"}),
        ("PUT", "/v1/requirements/site/default", SET, {"portal", "admin"}),
    ],
)
def test_each_role_may_do_exactly_what_it_is_for(
    keys: Keys, method: str, path: str, body: Any, allowed: set[str]
) -> None:
    path = path.replace("ID", keys.open("alice"))
    statuses = {
        role: keys.call(role, method, path, body, acting="carol" if role == "portal" else None)
        for role in sorted(EVERYONE)
    }
    assert {role for role, status in statuses.items() if status < 300} == allowed, statuses
    assert {status for role, status in statuses.items() if role not in allowed} <= {403}
    assert keys.call(None, method, path, body) == 401


@pytest.mark.parametrize("change", ["drain", "undrain", "remove"])
def test_elements_are_changed_by_administrators_and_portals_that_name_one(keys: Keys, change: str) -> None:
    path = f"/v1/elements/union/b0/{change}"
    for role in ("node", "user", "portal", None):
        assert keys.call(role, "POST", path, {}) == (401 if role is None else 403)


def test_a_list_of_requirements_has_only_what_can_apply_to_a_person(keys: Keys) -> None:
    for path in (
        "user/alice",
        "user/bob",
        "application/bob:cp",
        "vo/materials",
        "vo/physics",
        "site/default",
    ):
        assert keys.call("admin", "PUT", f"/v1/requirements/{path}", SET) == 200
    headers = {"Authorization": f"Bearer {keys.tokens['user']}"}
    listed = keys.service.get("/v1/requirements", headers=headers).get_json()["sets"]
    assert [stated["name"] for stated in listed] == ["alice", "materials", "default"]


def test_a_person_sees_only_their_own_placements(keys: Keys) -> None:
    mine, other = keys.open("alice"), keys.open("bob")
    headers = {"Authorization": f"Bearer {keys.tokens['user']}"}
    listed = keys.service.get("/v1/placements", headers=headers).get_json()["placements"]
    assert [placement["placement_id"] for placement in listed] == [mine]
    assert keys.call("user", "GET", f"/v1/placements/{other}") == 403


def test_a_portal_must_say_for_whom_it_acts(keys: Keys) -> None:
    assert keys.call("portal", "PUT", "/v1/requirements/user/bob", SET) == 403
    assert keys.call("portal", "PUT", "/v1/requirements/user/bob", SET, acting="bob") == 200
    (stored,) = keys.service.knowledge.sets.values()
    assert stored.modified_by == "bob"


def test_a_person_cannot_act_for_another(keys: Keys) -> None:
    assert keys.call("user", "PUT", "/v1/requirements/user/bob", SET, acting="bob") == 403
    assert keys.call("user", "PUT", "/v1/requirements/user/alice", SET, acting="bob") == 200
    (stored,) = keys.service.knowledge.sets.values()
    assert stored.modified_by == "alice"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json"])
def test_health_metrics_and_contract_are_open(keys: Keys, path: str) -> None:
    assert keys.call(None, "GET", path) == 200


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", "Bearer \u0142", "wrong", "Bearer " + "x" * 5000],
)
def test_a_wrong_authorization_is_refused_with_a_challenge(keys: Keys, header: str) -> None:
    answer = keys.service.client.get(
        "/v1/elements", headers={"Authorization": header.encode("utf-8").decode("latin-1")}
    )
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_can_be_added_and_withdrawn_while_serving(keys: Keys) -> None:
    path: Path = keys.service.app.extensions["qstorman.authenticator"]._tokens.path
    keys.tokens["late"] = add_token(path, Role.NODE, "late")
    assert keys.call("late", "GET", "/v1/elements") == 200
    path.write_text("", "utf-8")
    assert keys.call("late", "GET", "/v1/elements") == 401
    path.unlink()
    assert keys.call("admin", "GET", "/v1/elements") == 401


def test_a_token_file_that_becomes_readable_by_others_lets_nobody_in(keys: Keys) -> None:
    path: Path = keys.service.app.extensions["qstorman.authenticator"]._tokens.path
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    path.chmod(0o644)
    assert keys.call("admin", "GET", "/v1/elements") == 401


@pytest.mark.parametrize(
    ("address", "host", "extra", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8630", {}, 200),
        ("127.0.0.9", "localhost", {}, 200),
        ("::1", "[::1]:8630", {}, 200),
        ("::ffff:127.0.0.1", "localhost:8630", {}, 200),
        ("192.0.2.7", "localhost", {}, 401),
        ("127.0.0.1", "evil.example", {}, 401),
        ("127.0.0.1", "evil.example:8630", {}, 401),
        ("127.0.0.1", "192.0.2.7:8630", {}, 401),
        ("127.0.0.1", "localhost", {"X-Forwarded-For": "192.0.2.7"}, 401),
        ("127.0.0.1", "localhost", {"Forwarded": "for=192.0.2.7"}, 401),
        ("127.0.0.1", "localhost", {"Authorization": "Bearer wrong"}, 401),
        ("not-an-address", "localhost", {}, 401),
    ],
)
def test_loopback_is_trusted_only_when_it_is_really_this_machine(
    service: Service, address: str, host: str, extra: dict[str, str], status: int
) -> None:
    answer = service.client.get(
        "/v1/elements", headers={"Host": host, **extra}, environ_base={"REMOTE_ADDR": address}
    )
    assert answer.status_code == status


def test_without_trust_loopback_needs_a_token(serve: Any) -> None:
    service = serve(1, trust_loopback=False).refresh()
    assert service.get("/v1/elements").status_code == 401


def test_the_file_holds_digests_only_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    token = add_token(path, Role.USER, "laptop", "alice")
    text = path.read_text("utf-8")
    assert token not in text
    assert hashlib.sha256(token.encode()).hexdigest() in text
    assert path.stat().st_mode & 0o777 == 0o600
    holder = TokenFile(path).find(token)
    assert holder is not None
    assert (holder.name, holder.role, holder.user) == ("laptop", Role.USER, "alice")


def test_a_name_is_used_once(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    add_token(path, Role.NODE, "n1")
    with pytest.raises(TokenFileError, match="already"):
        add_token(path, Role.ADMIN, "n1", None)


def test_a_token_can_be_added_to_a_file_whose_last_line_has_no_end(tmp_path: Path) -> None:
    """As editors leave it; nobody else is locked out."""
    path = tmp_path / "tokens.toml"
    first = add_token(path, Role.NODE, "n1")
    path.write_text(path.read_text("utf-8").strip(), "utf-8")
    second = add_token(path, Role.NODE, "n2")
    names = [token and token.name for token in map(TokenFile(path).find, (first, second))]
    assert names == ["n1", "n2"]


def test_a_token_that_does_not_fit_on_the_disk_locks_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    first = add_token(path, Role.NODE, "n1")
    before = path.read_bytes()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, most[1]))
    try:
        with pytest.raises(TokenFileError, match="too large"):
            add_token(path, Role.NODE, "n2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert path.read_bytes() == before
    assert TokenFile(path).find(first) is not None


def test_a_long_file_with_a_fault_is_not_read_for_each_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All callers wait meanwhile; that of ten thousand nodes takes half a second."""
    path, reads = tmp_path / "tokens.toml", list[int]()
    token = add_token(path, Role.NODE, "n1")
    tokens, read = TokenFile(path), token_file._read

    def slowly(path: Path) -> Any:
        reads.append(time.sleep(0.05) or 1)
        return read(path)

    monkeypatch.setattr(token_file, "_read", slowly)
    good = path.read_text("utf-8")
    path.write_text(f"{good}name = \n", "utf-8")
    assert [tokens.find(token) for _ in range(20)] == [None] * 20
    assert len(reads) < 5
    path.write_text(good, "utf-8")
    assert wait_until(lambda: tokens.find(token), "it is read once it is mended").name == "n1"


def test_tokens_of_many_nodes_are_added_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of ten thousand takes a second to read, here and in the service that follows it."""
    path, states, append = tmp_path / "tokens.toml", list[int](), token_file._append
    add_token(path, Role.NODE, "agent-n2", node="n2")
    monkeypatch.setattr(token_file, "_append", lambda *words: states.append(append(*words) or 0))
    options = [f"--tokens={path}", f"--directory={tmp_path / 'agents'}"]
    command = ["token", "nodes", *options, "n1", "n2", "n3", "n1"]
    done = CliRunner().invoke(service_command, command)
    assert (done.exit_code, len(states)) == (0, 1), done.output
    names = ["agent-n2", "agent-n1", "agent-n2-2", "agent-n3", "agent-n1-2"]
    assert [token.name for token in tokens_of(path)] == names
    shown = (tmp_path / "agents" / "n3.token").read_text("utf-8").strip()
    principal = TokenFile(path).find(shown)
    assert principal is not None
    assert (principal.name, principal.node) == ("agent-n3", "n3")


DIGEST = "a" * 64
BY_HAND = {
    "with blanks": "[[ token ]]\nname='{}'\nrole='node'\nsha256='{}'\n\n",
    "in one line": "{{name='{}', role='node', sha256='{}'}}, ",
}


@pytest.mark.parametrize("way", BY_HAND)
def test_tokens_written_by_hand_are_revoked_alone_or_not_at_all(tmp_path: Path, way: str) -> None:
    """However the file has them, nobody else is locked out."""
    path = tmp_path / "tokens.toml"
    path.touch(0o600)
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("n1", "n2", "n3")}
    text = "".join(BY_HAND[way].format(name, digest) for name, digest in digests.items())
    path.write_text(text if way == "with blanks" else f"token = [{text}]\n", "utf-8")
    if way == "with blanks":
        revoke_token(path, "n2")
        assert [token.name for token in tokens_of(path)] == ["n1", "n3"]
        add_token(path, Role.NODE, "n4")
    else:
        with pytest.raises(TokenFileError, match="take it out by hand"):
            revoke_token(path, "n2")
        with pytest.raises(TokenFileError, match="table; then one can be added"):
            add_token(path, Role.NODE, "n4")
    assert TokenFile(path).find("n1") is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "not TOML"),
        ("token = 5", r"\[\[token\]\]"),
        ("token = [5]", "not a table"),
        ('[[token]]\nrole="node"', "no name"),
        ('[[token]]\nname="a"\nrole="king"', "no known role"),
        ('[[token]]\nname="a"\nrole="node"\nsha256="abc"', "64"),
        (f'[[token]]\nname="a"\nrole="node"\nsha256="{DIGEST.upper()}"', "lower-case"),
        (f'[[token]]\nname="a"\nrole="user"\nsha256="{DIGEST}"', "user"),
        (f'[[token]]\nname="a"\nrole="node"\nuser="b"\nsha256="{DIGEST}"', "user"),
        (f'[[token]]\nname="a"\nrole="admin"\nnode="n1"\nsha256="{DIGEST}"', "node"),
        (f'[[token]]\nname="a"\nrole="node"\nnode=5\nsha256="{DIGEST}"', "node"),
    ],
)
def test_a_wrong_token_file_is_refused_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    with pytest.raises(TokenFileError, match=says):
        TokenFile(path)


def test_a_token_file_others_may_read_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    add_token(path, Role.NODE, "n1")
    path.chmod(0o640)
    with pytest.raises(TokenFileError, match="chmod 600"):
        TokenFile(path)


def test_a_missing_token_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(TokenFileError, match="token new"):
        TokenFile(tmp_path / "none.toml")
