"""Quotas: whose VO each is of, when each is used up, and who may see which."""

import json
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from http_server import HttpServer
from ses_service.feeds.monitor_answer import MonitorError
from ses_service.feeds.monitor_quotas import MonitorQuotas
from ses_service.model.quotas import Quota, QuotaSource
from ses_service.process.quotas import Quotas
from ses_service.security.tokens import Role, TokenFile, add_token
from ses_service.security.trust import Trust

GB = 1e9
SOURCE = QuotaSource("scratch", "http://mds1:9100/metrics", "")


def quota(name: str, used: float, limit: float = 100, *, at: float, **more: Any) -> Quota:
    return Quota(**{"system": "scratch", "kind": "user", "name": name, "used": used * GB, "limit": limit * GB,
                    "at": at, **more})  # fmt: skip


@pytest.fixture
def filling(serve: Any, site: Any, clock: Any) -> Any:
    """A day in which alice writes 24 GB, bob deletes, and the group of a VO writes 48 GB."""
    environment = replace(
        site.equal(1).environment, member_groups=(("mat", "materials"),), home_vo={"alice": "materials"}
    )
    service = serve(environment).refresh()
    begin = clock()
    for hour in range(26):
        clock.time = now = begin + hour * 3600
        limit = 100 if hour < 20 else 200
        seen = [
            quota("alice", 10 + hour, limit, at=now),
            quota("bob", 90 - hour, at=now),
            quota("mat", 2 * hour, 1000, at=now, kind="group"),
            quota("full", 100, at=now, kind="project"),
            quota("carol", 1, 1e6, at=now, system="home"),
        ]
        service.runtime.quotas.take(seen, [SOURCE, replace(SOURCE, system="home", error="silent")])
    return service


def listed(service: Any, query: str = "", **options: Any) -> dict[str, Any]:
    answer = service.get(f"/v1/quotas{query}", **options, code=200)
    return answer.get_json()


def test_those_that_are_used_up_first_come_first(filling: Any) -> None:
    body = listed(filling)
    assert [shown["name"] for shown in body["quotas"]] == ["full", "alice", "mat", "bob", "carol"]
    full, alice, mat, bob, carol = body["quotas"]
    assert (full["full_in_days"], full["kind"]) == (0, "project")
    assert alice["full_in_days"] == pytest.approx(165 / 24, abs=0.05), "a new limit is no file"
    assert alice["used_bytes_per_day"] == pytest.approx(24 * GB, rel=0.01)
    assert mat["vo"] == "materials"
    assert (bob["full_in_days"], bob["vo"]) == (None, None)
    assert bob["used_bytes_per_day"] == pytest.approx(-24 * GB, rel=0.01)
    assert carol["full_in_days"] is None
    assert body["sources"][1] == {"system": "home", "target": SOURCE.target, "error": "silent"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?system=home", ["carol"]),
        ("?kind=group", ["mat"]),
        ("?user=alice", ["alice", "mat"]),
        ("?user=bob", ["bob"]),
        ("?full_within_days=7", ["full", "alice"]),
        ("?limit=2&offset=1", ["alice", "mat"]),
    ],
)
def test_quotas_are_chosen(filling: Any, query: str, names: list[str]) -> None:
    body = listed(filling, query)
    assert [shown["name"] for shown in body["quotas"]] == names
    if "limit" in query:
        assert body["total"] == 5


def test_a_person_sees_what_counts_for_them(serve: Any, clock: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    tokens = {user: add_token(file, Role.USER, user, user) for user in ("alice", "bob")}
    tokens["portal"] = add_token(file, Role.PORTAL, "portal")
    service = serve(1, tokens=TokenFile(file), trust_loopback=False)
    service.refresh()
    service.runtime.quotas.take([quota(name, 1, at=clock()) for name in ("alice", "bob")], [SOURCE])

    def seen(who: str, query: str = "") -> Any:
        return service.get(f"/v1/quotas{query}", headers={"Authorization": f"Bearer {tokens[who]}"})

    body = seen("alice").get_json()
    assert [shown["name"] for shown in body["quotas"]] == ["alice"]
    assert body["sources"] == []
    assert seen("alice", "?user=bob").status_code == 403
    assert [shown["name"] for shown in seen("portal", "?user=bob").get_json()["quotas"]] == ["bob"]
    assert seen("portal").get_json()["total"] == 2


class Says:
    """A monitor that says something."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def read(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_what_was_seen_stays_while_the_monitor_is_silent(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "quotas.json"
    begin = clock()
    quotas = Quotas(Says(), clock, path)
    for hour in range(26):
        clock.time = begin + hour * 3600
        quotas.take([quota("alice", hour, at=clock()), quota("old", hour, at=clock() - 7200)], [SOURCE])
    assert quotas.changes() == {"scratch/user/alice": pytest.approx(-24 * GB, rel=0.01)}
    quotas._monitor = Says(MonitorError("the monitor is away"), ([], []))
    quotas.step()
    assert (len(quotas.seen), quotas.problem) == (2, "the monitor is away")
    quotas.step()
    assert (quotas.seen, quotas.problem) == ((), "")
    assert Quotas(Says(), clock, path).changes() == quotas.changes(), "also after a restart"


def test_a_monitor_that_knows_of_no_quotas_is_no_problem(answering: Any) -> None:
    assert MonitorQuotas(None, Trust()).read() == ([], [])
    assert MonitorQuotas(answering(404, b"{}"), Trust()).read() == ([], [])
    said = (
        b'{"systems": [{"system": "s", "target": "t", "error": "", "more": 1, "quotas": [{"kind": "user", '
        b'"name": "a", "used_bytes": 1, "limit_bytes": 2, "sampled_at": 3}, {"kind": "user", "name": "b", '
        b'"used_bytes": 1, "limit_bytes": 0, "sampled_at": 3}]}]}'
    )
    quotas, sources = MonitorQuotas(answering(200, said), Trust()).read()
    assert quotas == [Quota("s", "user", "a", 1, 2, 3)]
    assert sources == [QuotaSource("s", "t", "")]


@pytest.mark.parametrize(("status", "body"), [(500, b"{}"), (200, b"{"), (200, b'{"systems": 3}')])
def test_an_answer_that_cannot_be_read_is_said(answering: Any, status: int, body: bytes) -> None:
    with pytest.raises(MonitorError):
        MonitorQuotas(answering(status, body), Trust()).read()


@pytest.fixture
def answering() -> Any:
    """Give the address of a server that answers everything the same way."""
    with ExitStack() as servers:

        def make(status: int, body: bytes) -> str:
            return servers.enter_context(closing(HttpServer(lambda asked: asked.say(status, body)))).url

        yield make


def test_one_quota_that_is_none_hides_no_other(answering: Any) -> None:
    good = {"kind": "user", "name": "alice", "used_bytes": 1.0, "limit_bytes": 2.0, "sampled_at": 3.0}
    odd = [{**good, "kind": "team"}, {**good, "name": None}, 7, {**good, "limit_bytes": "much"}]
    body = json.dumps({"systems": [{"system": "union", "quotas": [*odd, good]}]}).encode()
    quotas, _sources = MonitorQuotas(answering(200, body), Trust()).read()
    assert [shown.name for shown in quotas] == ["alice"]
