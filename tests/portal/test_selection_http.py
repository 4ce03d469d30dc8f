"""The client of the selection service against a server that behaves well, badly, or not at all."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from http_server import Asked, HttpServer
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient
from ses_client.errors import (
    ConflictError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from ses_client.messages.element_groups import Chosen
from ses_client.messages.requirements import Subject, required

SET = {
    "level": "user",
    "name": "alice",
    "requirements": [],
    "revision": 3,
    "modified_at": None,
    "modified_by": None,
}
WANTED = (required("current-write-rate", 20.0, "MB/s"),)


class Server:
    """Answers what a test tells it to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer: Callable[[Asked], object] = self.say(200, SET)
        self.http = HttpServer(self._serve, keeps=True)
        self.url = self.http.url

    def _serve(self, asked: Asked) -> None:
        self.asked.append((asked.command, asked.path, dict(asked.headers), asked.sent))
        self.answer(asked)

    @staticmethod
    def say(status: int, body: object, raw: bytes | None = None) -> Callable[[Asked], object]:
        return lambda asked: asked.say(status, body if raw is None else raw)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.close()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text("secret-token")
    return file


def _client(server: Server, deadline: float = 60.0) -> ServiceClient:
    return ServiceClient(ServiceAddress(server.url), deadline, long_seconds=deadline, shows_address=False)


def test_a_save_names_the_person_the_token_and_the_revision(server: Server, token_file: Path) -> None:
    client = ServiceClient(ServiceAddress(server.url, token_file)).acting("alice")
    saved = client.replace_requirements("application", "alice:a b%", WANTED, revision=2)
    method, path, headers, body = server.asked[0]
    assert (method, path) == ("PUT", "/v1/requirements/application/alice%3Aa%20b%25")
    assert headers["Authorization"] == "Bearer secret-token"
    assert headers["X-Acting-User"] == "alice"
    assert headers["If-Match"] == '"2"'
    assert json.loads(body) == {
        "requirements": [
            {"kind": "current-write-rate", "minimum": 20.0, "unit": "MB/s", "strictness": "soft"}
        ]
    }
    assert saved.revision == 3


def test_a_token_that_was_replaced_is_shown_once_the_other_is_refused(
    server: Server, token_file: Path
) -> None:
    """As a site replaces the portal's; a change is made once."""
    taken = ["secret-token"]

    def judge(asked: Asked) -> None:
        known = asked.headers["Authorization"] == f"Bearer {taken[0]}"
        asked.say(200, SET) if known else asked.say(401, {"title": "No", "detail": "is not known"})

    server.answer = judge
    client = ServiceClient(ServiceAddress(server.url, token_file))
    client.requirement_set("user", "alice")
    taken[0] = "its-successor"
    with pytest.raises(NotAllowedError, match="is not known"):
        client.requirement_set("user", "alice")
    assert len(server.asked) == 2, "the same is not shown twice"
    token_file.write_text("its-successor")
    client.replace_requirements("user", "alice", WANTED, revision=2)
    shown = [headers["Authorization"] for method, _, headers, _ in server.asked if method == "PUT"]
    assert shown == ["Bearer secret-token", "Bearer its-successor"]
    client.requirement_set("user", "alice")
    assert len(server.asked) == 5


def test_a_session_that_ends_early_is_opened_again(server: Server) -> None:
    """The clock of the service's machine was set, or this machine slept."""
    opened: list[str] = []

    def judge(asked: Asked) -> None:
        if asked.path == "/v1/sessions":
            opened.append(f"munge.{len(opened)}")
            asked.say(200, {"token": opened[-1], "seconds": 600.0})
        elif len(opened) == 2 or len(server.asked) == 2:
            asked.say(200, SET)
        else:
            asked.say(401, {"title": "No", "detail": "has ended"})

    server.answer = judge
    munge: Any = SimpleNamespace(credential=lambda: "MUNGE:x:")
    client = ServiceClient(ServiceAddress(server.url, munge=munge))
    for _ in range(2):
        client.requirement_set("user", "alice")
    shown = [headers.get("Authorization") for _, _, headers, _ in server.asked]
    first, second = "Bearer munge.0", "Bearer munge.1"
    assert shown == [None, first, first, None, second]


def test_without_a_token_none_is_sent(server: Server) -> None:
    _client(server).requirement_set("user", "alice")
    assert "Authorization" not in server.asked[0][2]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (412, ConflictError),
        (404, NotFoundError),
        (422, RefusedError),
        (401, NotAllowedError),
        (403, NotAllowedError),
        (503, UnavailableError),
        (500, UnavailableError),
    ],
)
def test_problems_keep_their_meaning_and_words(server: Server, status: int, error: type[Exception]) -> None:
    server.answer = server.say(status, {"title": "No", "detail": "because of the moon"})
    with pytest.raises(error, match="because of the moon"):
        _client(server).requirement_set("user", "alice")


def test_field_errors_of_the_service_are_kept(server: Server) -> None:
    problem = {"detail": "no", "errors": [{"location": "requirements.0.unit", "message": "unknown unit"}]}
    server.answer = server.say(422, problem)
    with pytest.raises(RefusedError) as caught:
        _client(server).replace_requirements("user", "alice", WANTED, revision=0)
    assert caught.value.problems == (("requirements.0.unit", "unknown unit"),)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b'{"level": "user"}',
        b"\xff\xfe",
        b'{"level":1,"name":2,"requirements":7}',
    ],
)
def test_rubbish_is_called_unreadable(server: Server, raw: bytes) -> None:
    server.answer = server.say(200, None, raw)
    with pytest.raises(UnavailableError, match="not as its contract says"):
        _client(server).requirement_set("user", "alice")


def test_rubbish_with_an_error_status_is_still_an_error(server: Server) -> None:
    server.answer = server.say(502, None, b"<html>proxy")
    with pytest.raises(UnavailableError, match="HTTP status 502"):
        _client(server).requirement_set("user", "alice")


def test_nobody_listening_is_reported_plainly() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        service = ServiceClient(ServiceAddress(f"http://127.0.0.1:{taken.getsockname()[1]}"))
        with pytest.raises(UnavailableError, match="cannot be reached"):
            service.check()


def _hang(handler: Asked, release: threading.Event) -> None:
    release.wait()


def _trickle(handler: Asked, release: threading.Event) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not release.wait(0.05):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return


@pytest.mark.parametrize("behaviour", [_hang, _trickle])
def test_a_service_that_never_finishes_is_given_up(
    server: Server, behaviour: Callable[[Asked, threading.Event], None]
) -> None:
    release = threading.Event()
    server.answer = lambda handler: behaviour(handler, release)
    try:
        with pytest.raises(UnavailableError, match=r"within 0\.3 s"):
            _client(server, 0.3).requirement_set("user", "alice")
    finally:
        release.set()


def test_a_kept_connection_that_went_away_is_asked_again(server: Server) -> None:
    client = _client(server)
    client.requirement_set("user", "alice")
    good, calls = server.answer, []

    def drop_once(handler: Asked) -> None:
        calls.append(1)
        if len(calls) == 1:
            handler.close_connection = True
            return
        good(handler)

    server.answer = drop_once
    assert client.requirement_set("user", "alice").revision == 3


def test_a_write_is_never_sent_twice(server: Server) -> None:
    def drop(handler: Asked) -> None:
        handler.close_connection = True

    server.answer = drop
    with pytest.raises(UnavailableError):
        _client(server).replace_requirements("user", "alice", WANTED, revision=0)
    assert len(server.asked) == 1


def test_redirects_are_not_followed(server: Server) -> None:
    server.answer = lambda asked: asked.say(302, Location="http://192.0.2.1/")
    with pytest.raises(UnavailableError):
        _client(server).requirement_set("user", "alice")
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b"])
def test_a_name_that_cannot_be_a_part_of_a_path_is_never_sent(server: Server, name: str) -> None:
    client = ServiceClient(ServiceAddress(server.url, None))
    for ask in (client.placement, client.revoke_token, lambda name: client.requirement_set("user", name)):
        with pytest.raises(UsageError, match="cannot be a name"):
            ask(name)


def test_questions_go_where_the_contract_says(server: Server) -> None:
    client = _client(server)
    calls: list[tuple[Callable[[], object], str, str]] = [
        (lambda: client.requirement_sets("alice"), "GET", "/v1/requirements?user=alice"),
        (
            lambda: client.effective(Subject(user="alice", application="d d")),
            "GET",
            "/v1/requirements/effective?user=alice&application=d+d",
        ),
        (lambda: client.select(Subject(user="alice"), WANTED), "POST", "/v1/selections"),
        (lambda: client.elements(), "GET", "/v1/elements"),
        (
            lambda: client.elements(Chosen(system="u", tier=""), offset=400, limit=9),
            "GET",
            "/v1/elements?system=u&tier=&offset=400&limit=9",
        ),
        (
            lambda: client.element_groups(Chosen(server="n 1"), by="tier", measure="free"),
            "GET",
            "/v1/element-groups?server=n+1&by=tier&measure=free&offset=0&limit=400",
        ),
        (client.exporters, "GET", "/v1/exporters?limit=200"),
        (
            lambda: client.placements(user="alice", path="/u/a&b", limit=50),
            "GET",
            "/v1/placements?user=alice&path=%2Fu%2Fa%26b&limit=50",
        ),
        (
            lambda: client.files({"job": "7", "path": "a&b", "user": None}, after="ended:1.5:ab", limit=9),
            "GET",
            "/v1/files?job=7&path=a%26b&after=ended%3A1.5%3Aab&limit=9",
        ),
        (lambda: client.report({"vo": "m", "since": 5.0}), "GET", "/v1/report?vo=m&since=5.0"),
        (lambda: client.placement("a b?%"), "GET", "/v1/placements/a%20b%3F%25"),
        (client.check, "GET", "/healthz"),
    ]
    server.answer = server.say(404, {})
    for call, method, path in calls:
        with pytest.raises(NotFoundError):
            call()
        assert server.asked[-1][:2] == (method, path)


def test_calls_are_observed(server: Server) -> None:
    seen: list[tuple[str, str, float]] = []
    client = ServiceClient(ServiceAddress(server.url), observe=lambda *call: seen.append(call))
    client.requirement_set("user", "alice")
    server.answer = server.say(200, None, b"rubbish")
    with pytest.raises(UnavailableError):
        client.requirement_set("user", "alice")
    assert [(method, outcome) for method, outcome, _ in seen] == [("GET", "200"), ("GET", "unreadable")]


CHANGE = {
    "number": 7,
    "at": "2026-11-21T15:00:07.500Z",
    "author": "alice",
    "reason": "requirements of user alice",
    "subjects": 1,
    "subject": "https://w3id.org/qstorman/requirements/user/alice",
    "undone": 6,
}


def test_the_history_is_read(server) -> None:
    service = _client(server)
    server.answer = server.say(200, {"changes": [CHANGE], "next": 7})
    page = service.changes(before=9, subject="user/alice")
    assert server.asked[-1][1] == "/v1/changes?before=9&subject=user%2Falice"
    assert (page.next, page.changes[0].undone, page.changes[0].made_at) == (7, 6, 1795273207.5)
    server.answer = server.say(
        200,
        {"number": 7, "next": None, "states": [
            {"subject": CHANGE["subject"], "before": None, "after": "...", "set_before": None,
             "set_after": {"level": "user", "name": "alice", "requirements": [], "profile": "scratch"}}]},
    )  # fmt: skip
    (state,) = service.change(7).states
    assert (state.set_before, state.set_after and state.set_after.profile) == (None, "scratch")


def test_undoing_is_told_apart_from_what_stands_against_it(server) -> None:
    service = _client(server).acting("alice")
    server.answer = server.say(200, {"change": 8, "dry_run": False})
    assert service.undo(7).change == 8
    method, path, headers, body = server.asked[-1]
    assert (method, path, headers["X-Acting-User"]) == ("POST", "/v1/changes/7/undo", "alice")
    assert json.loads(body) == {"force": False, "dry_run": False}
    for slug in ("changed-since", "changed-meanwhile"):
        server.answer = server.say(409, {"type": f"urn:qstorman:problem:{slug}", "detail": "by change 9"})
        with pytest.raises(ConflictError, match="by change 9"):
            service.undo(7)


def test_an_undo_whose_answer_is_lost_is_not_sent_twice(server) -> None:
    service = _client(server)
    server.answer = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(UnavailableError):
        service.undo(7)
    assert len(server.asked) == 1
