"""The quick way past Flask: the same answers, and a refusal when there is too much to do."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asked import answer_to, request_for
from files_opened import announcement, new_ids
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ses_service.api import render
from ses_service.api.operations import OPERATIONS
from ses_service.http.edge import REFUSED_AFTER, Edge
from ses_service.model.entities import Level
from ses_service.security.tokens import Role, TokenFile, add_token

Answer = tuple[int, dict[str, str], bytes]
JSON = [(b"host", b"localhost"), (b"content-type", b"application/json")]


async def ask(
    edge: Edge, path: str, body: bytes, headers: Any = (), method: str = "POST", query: bytes = b""
) -> Answer:
    given = [*JSON, (b"content-length", b"%d" % len(body)), *headers]
    asked = request_for(path, method=method, query=query, headers=given, body=body[: edge.max_body + 1])
    answer = await answer_to(edge, asked)
    assert answer is not None
    named = {name.decode(): value.decode() for name, value in answer.headers}
    return answer.status, named, answer.body


def through(service: Any, path: str, body: bytes, headers: Any = (), **change: Any) -> Answer:
    edge = Edge(service.app)
    try:
        return asyncio.run(ask(edge, path, body, headers, **change))
    finally:
        edge.close()


kinds = st.sampled_from(["current-write-rate", "average-read-rate", "free-capacity", "speed"])
wanted = st.fixed_dictionaries(
    {"kind": kinds, "minimum": st.sampled_from([0, 1.5, -1, "2", 1e400])},
    optional={"unit": st.sampled_from(["MB/s", "GB", "furlong"]), "weight": st.sampled_from([1, 0])},
)
questions = st.fixed_dictionaries(
    {"subject": st.fixed_dictionaries({"user": st.sampled_from(["alice", "", "a\x00", 7, None])})},
    optional={
        "requirements": st.lists(wanted, max_size=3),
        "limit": st.sampled_from([0, 2, 1.0, True, -1]),
        "storage_system": st.sampled_from(["union", "elsewhere", None]),
        "exclude": st.lists(st.sampled_from(["union/b0", "union/b9", ""]), max_size=2),
        "expected_bytes": st.sampled_from([1e9, 1e13, -1]),
        "other": st.none(),
    },
)
bodies = questions.map(json.dumps).map(str.encode) | st.sampled_from(
    [b"", b"null", b"[]", b"{", b"[" * 5000, b'{"subject": {"user": "\\ud800"}}', b"\xff", b'"x"', b"NaN"]
)


@given(body=bodies)
@example(body=b'{"subject":{"user":"a"},"subject":{"user":"b"}}')
@example(body='{"subject":{"user":"b"}}'.encode("utf-16"))
@example(body=b'\xef\xbb\xbf{"subject":{"user":"b"}}')
@settings(max_examples=120, deadline=None)
def test_both_ways_give_the_same_answer(twins: tuple[Any, Any], body: bytes) -> None:
    quick, flask = twins
    status, headers, answered = through(quick, "/v1/selections", body)
    answer = flask.client.post("/v1/selections", data=body, content_type="application/json")
    assert (status, headers["content-type"]) == (answer.status_code, answer.content_type)
    assert answered == answer.data


@pytest.fixture(scope="module")
def twins(make_service: Any, site: Any) -> tuple[Any, Any]:
    """Two services that are asked the same, and are in the same state therefore."""
    first, second = (make_service(site.equal(3).environment, lambda: site.NOW).refresh() for _ in range(2))
    return first, second


def test_what_is_right_does_not_reach_flask(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.app, "wsgi_app", None)
    assert through(service, "/v1/selections", b'{"subject": {"user": "alice"}}')[0] == 200
    said = json.dumps({"incarnation": "a" * 16}).encode()
    assert through(service, "/v1/nodes/n1/announcements", said)[0] == 200


def test_what_every_node_asks_again_and_again_does_not_reach_flask(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/storage-systems"
    status, headers, body = through(service, path, b"", method="GET")
    answer = service.get(path)
    assert (status, headers["content-type"], body) == (200, answer.content_type, answer.data)
    assert through(service, path, b"", [(b"authorization", b"Bearer wrong")], method="GET")[0] == 401
    monkeypatch.setattr(service.app, "wsgi_app", None)
    assert through(service, path, b"", method="GET")[0] == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"headers": [(b"authorization", b"Bearer wrong")]}, 401),
        ({"headers": [(b"x-forwarded-for", b"10.0.0.1")]}, 401),
        ({"headers": [(b"content-type", b"text/plain")]}, 415),
        ({"query": b"a=1&a=2"}, 422),
        ({"method": "DELETE"}, 405),
        ({"path": "/v1/nothing"}, 404),
        ({"body": b" " * (2**20 + 1)}, 413),
    ],
)
def test_what_is_wrong_is_said_by_flask(service: Any, change: dict[str, Any], status: int) -> None:
    asked = {"path": "/v1/selections", "body": b'{"subject": {"user": "alice"}}', **change}
    answered, headers, body = through(service, **asked)
    assert (answered, headers["content-type"]) == (status, "application/problem+json")
    assert json.loads(body)["status"] == status


def test_roles_hold_on_the_quick_way(tmp_path: Any, serve: Any) -> None:
    path = tmp_path / "tokens.toml"
    tokens = {
        role: add_token(path, role, role.value, node="n1" if role is Role.NODE else None)
        for role in (Role.NODE, Role.PORTAL)
    }
    service = serve(2, tokens=TokenFile(path)).refresh()

    def status(role: Role) -> int:
        bearer = [(b"authorization", b"Bearer " + tokens[role].encode())]
        said = json.dumps({"incarnation": "a" * 16}).encode()
        return through(service, "/v1/nodes/n1/announcements", said, bearer)[0]

    assert (status(Role.NODE), status(Role.PORTAL)) == (200, 403)


def test_requests_beyond_capacity_are_refused_a_moment_later(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks again as soon as it is refused must not take the time of decisions."""
    short = tuple(replace(operation, waiting=4) for operation in OPERATIONS)
    monkeypatch.setattr("ses_service.http.edge.OPERATIONS", short)

    async def storm() -> list[Answer]:
        edge = Edge(service.app)
        asked = [ask(edge, "/v1/selections", b'{"subject": {"user": "alice"}}') for _ in range(50)]
        order: list[Answer] = []
        begun = asyncio.get_running_loop().time()
        for answer in asyncio.as_completed(asked):
            order.append(await answer)
            waited = asyncio.get_running_loop().time() - begun
            assert order[-1][0] == 200 or waited >= REFUSED_AFTER * 0.9
        assert (await ask(edge, "/v1/selections", b'{"subject": {"user": "alice"}}'))[0] == 200
        edge.close()
        return order

    order = asyncio.run(storm())
    statuses = [status for status, _, _ in order]
    assert (statuses.count(200), statuses.count(503)) == (4, 46)
    for status, headers, body in order:
        if status == 503:
            assert int(headers["retry-after"]) >= 1
            assert headers["content-type"] == "application/problem+json"
            assert json.loads(body)["type"] == "urn:qstorman:problem:overloaded"


def test_a_node_is_not_refused_because_users_wait(
    tmp_path: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens.toml"
    tokens = {"user": add_token(path, Role.USER, "laptop", "alice")}
    tokens["node"] = add_token(path, Role.NODE, "n1", node="n1")
    service = serve(2, tokens=TokenFile(path)).refresh()
    edge = Edge(service.app)
    monkeypatch.setattr(edge._admission, "full", lambda _, *, node=False: not node)
    for route in ("/v1/selections", "/v1/nodes/n1/announcements"):
        for who, is_read in (("user", False), ("node", True)):
            headers = [*JSON, (b"authorization", b"Bearer " + tokens[who].encode())]
            asked = request_for(route, method="POST", headers=headers, client=("192.0.2.7", 40000))
            assert edge.reads(asked) is is_read
        stranger = request_for(route, method="POST", headers=JSON, client=("192.0.2.7", 40000))
        assert not edge.reads(stranger)
    edge.close()


def test_a_crowd_that_asks_at_once_is_answered(service: Any) -> None:
    async def storm() -> list[Answer]:
        edge = Edge(service.app)
        question = b'{"subject": {"user": "alice"}}'
        answers = await asyncio.gather(*(ask(edge, "/v1/selections", question) for _ in range(300)))
        edge.close()
        return answers

    assert {status for status, _, _ in asyncio.run(storm())} == {200}


def test_a_part_of_the_path_is_passed_on(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(_now: Any, who: Any, body: Any, node: str) -> Any:
        return render.reply({"who": who.name, "user": body.subject.user, "node": node})

    operation = replace(OPERATIONS[0], route="/v1/nodes/<node>/words", run=answered)
    monkeypatch.setattr("ses_service.http.edge.OPERATIONS", (operation,))
    ask_alice = b'{"subject": {"user": "alice"}}'
    status, _, body = through(service, "/v1/nodes/n 1/words", ask_alice)
    assert (status, json.loads(body)) == (200, {"who": "loopback", "user": "alice", "node": "n 1"})
    for other in ("/v1/nodes//words", "/v1/nodes/a/b/words", "/v1/nodes/words", "/v1/nodes/n1/word"):
        assert through(service, other, ask_alice)[0] == 404


def test_flask_takes_no_more_than_it_can_answer_either(service: Any) -> None:
    async def storm() -> list[int]:
        edge = Edge(service.app)
        answers = await asyncio.gather(
            *(ask(edge, "/v1/elements", b"", method="GET") for _ in range(200)),
            ask(edge, "/healthz", b"", method="GET"),
        )
        edge.close()
        return [status for status, _, _ in answers]

    *elements, health = asyncio.run(storm())
    assert (elements.count(200), elements.count(503)) == (50, 150), "two run, and 48 of a caller wait"
    assert health == 200
    metrics = service.get("/metrics").text
    assert 'ses_requests_total{method="other",route="unknown",status="503"} 150.0' in metrics


def test_requests_of_both_ways_are_counted(service: Any) -> None:
    through(service, "/v1/selections", b'{"subject": {"user": "alice"}}')
    service.post("/v1/selections", {"subject": {"user": "alice"}})
    assert (
        'ses_requests_total{method="POST",route="/v1/selections",status="200"} 2.0'
        in service.get("/metrics").text
    )


def test_an_own_error_is_reported_without_its_words(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    service.knowledge.put(Level.SITE, "default")
    monkeypatch.setattr(service.runtime.state, "select", fail)
    status, _, body = through(service, "/v1/selections", b'{"subject": {"user": "alice"}}')
    assert (status, b"secret" in body) == (500, False)


def test_a_long_announcement_beside_others_ends_what_it_does_not_list(service: Any) -> None:
    ids = new_ids(1024)
    said: dict[str, Any] = announcement(ids, ["union/b0", "union/b1"])
    opened = said["opened"]
    assert through(service, "/v1/nodes/n1/announcements", json.dumps(said).encode())[0] == 200
    assert service.runtime.state.open_placements == 1024
    said.update(opened=opened[24:], ended=[{"placement_id": ids[30], "reason": "closed"}], complete=True)
    order: list[str] = []

    async def both() -> None:
        edge = Edge(service.app)

        async def send(name: str, path: str, body: Any) -> None:
            status, _, _ = await ask(edge, path, json.dumps(body).encode())
            assert status == 200
            order.append(name)

        await asyncio.gather(
            send("long", "/v1/nodes/n1/announcements", said),
            *(send("short", "/v1/selections", {"subject": {"user": "alice"}}) for _ in range(3)),
        )
        edge.close()

    asyncio.run(both())
    assert sorted(order) == ["long", *["short"] * 3]
    assert service.runtime.state.open_placements == 1024 - 24 - 1


def test_what_takes_several_steps_holds_no_other_up_and_is_answered_in_its_order(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, order = [False], list[str]()

    def in_parts(_now: Any, _who: Any, body: Any) -> Iterator[Any]:
        while not stored[0]:
            yield 0.01
        if body.subject.user == "bob":
            raise ZeroDivisionError
        yield render.reply({"user": body.subject.user})

    slow = replace(OPERATIONS[0], route="/v1/slow", run_in_parts=in_parts, waiting=4)
    monkeypatch.setattr("ses_service.http.edge.OPERATIONS", (*OPERATIONS, slow))

    async def story() -> list[int]:
        edge = Edge(service.app)

        async def send(path: str, user: str) -> int:
            status, _, _ = await ask(edge, path, b'{"subject": {"user": "%b"}}' % user.encode())
            order.append(user)
            return status

        waiting = [asyncio.ensure_future(send("/v1/slow", user)) for user in ("alice", "bob", "carol")]
        assert await send("/v1/selections", "dora") == 200
        waiting.append(asyncio.ensure_future(send("/v1/slow", "erin")))
        await asyncio.sleep(0)
        assert await send("/v1/slow", "frank") == 503, "four wait already"
        stored[0] = True
        statuses = await asyncio.gather(*waiting)
        edge.close()
        return statuses

    assert asyncio.run(story()) == [200, 500, 200, 200]
    assert order == ["dora", "frank", "alice", "bob", "carol", "erin"]
