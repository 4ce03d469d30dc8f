"""Runs: started by a portal for a person, taken once by a process of that person, seen by nobody else."""

import stat
from pathlib import Path
from typing import Any

import pytest
from ses_service.process.runs import LOST_AFTER, MAX_OPEN, MAX_RUNS, SERVED_FOR
from ses_service.security.tokens import Role, TokenFile, add_token

RUN = {"run_id": "a" * 16, "files": ["/data/*.log"], "command": ["grep", "-c", "a b", "{}"], "options": []}
HERE = {"node": "login1", "directory": "/home/alice/runs"}


class People:
    """A service with a portal, an administrator, alice and bob."""

    def __init__(self, serve: Any, folder: Path) -> None:
        path = folder / "tokens.toml"
        named = [(Role.PORTAL, "portal", None), (Role.ADMIN, "admin", None), (Role.NODE, "node", None)]
        named += [(Role.USER, user, user) for user in ("alice", "bob")]
        self.tokens = {name: add_token(path, role, name, user) for role, name, user in named}
        self.folder = folder / "runs"
        self._make = lambda: serve(
            1, tokens=TokenFile(path), trust_loopback=False, runs_state=self.folder
        ).refresh()
        self.service = self._make()

    def restart(self) -> None:
        self.service = self._make()

    def call(self, who: str, method: str, path: str, body: Any = None, acting: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        headers |= {} if acting is None else {"X-Acting-User": acting}
        options = {} if body is None else {"json": body}
        return self.service.client.open(f"/v1/runs{path}", method=method, headers=headers, **options)

    def start(self, acting: str | None = "alice", who: str = "portal", **changed: Any) -> Any:
        return self.call(who, "POST", "", {**RUN, **changed}, acting)

    def take(self, who: str = "alice") -> Any:
        return self.call(who, "POST", "/take", HERE).get_json()["run"]

    def report(self, state: str = "running", **known: Any) -> Any:
        return self.call("alice", "POST", f"/{RUN['run_id']}/report", {"state": state, **known})

    def states(self) -> list[str]:
        return [run["state"] for run in self.call("alice", "GET", "").get_json()["runs"]]


@pytest.fixture
def people(serve: Any, tmp_path: Path) -> People:
    return People(serve, tmp_path)


def test_run_is_taken_once_by_its_owner_and_reported_on_until_it_is_over(people: People) -> None:
    assert people.start(options=["--memory=1GB", "--shuffle=0"]).get_json()["state"] == "waiting"
    taken = people.take()
    assert (taken["files"], taken["command"]) == (RUN["files"], RUN["command"])
    assert taken["options"] == ["--memory=1GB", "--shuffle=0"]
    assert people.take() is None
    answer = people.report(tasks=3, tasks_done=1, bytes_read=7, errors="so far").get_json()
    assert (answer["state"], answer["tasks_done"], "stop" in answer) == ("running", 1, False)
    people.report("ended", tasks_done=3, exit_status=2, output="/home/alice/runs/a.out")
    (run,) = people.call("portal", "GET", "", acting="alice").get_json()["runs"]
    assert (run["state"], run["exit_status"], run["tasks"], run["tasks_done"]) == ("ended", 2, 3, 3)
    assert (run["node"], run["output"]) == ("login1", "/home/alice/runs/a.out")
    assert people.report(tasks_done=0).get_json()["tasks_done"] == 3, "of one that is over nothing is taken"


@pytest.mark.parametrize(
    ("method", "path", "body", "may"),
    [
        ("POST", "", RUN, {"portal"}),
        ("GET", "", None, {"portal", "alice", "bob"}),
        ("POST", "/take", HERE, {"alice", "bob"}),
        ("POST", f"/{RUN['run_id']}/report", {"state": "running"}, {"alice"}),
        ("POST", f"/{RUN['run_id']}/stop", {}, {"portal", "alice"}),
        ("GET", "/counts", None, {"portal", "admin"}),
    ],
)
def test_only_a_portal_starts_and_only_its_owner_takes(people, method, path, body, may) -> None:
    if body is not RUN:
        people.start()
    for who in people.tokens:
        status = people.call(who, method, path, body, "alice").status_code
        assert (status == 200) == (who in may), (who, status)


def test_nobody_sees_takes_or_ends_what_is_anothers(people: People) -> None:
    people.start()
    assert people.call("bob", "GET", "", acting="alice").get_json()["runs"] == []
    assert people.take("bob") is None
    for what, body in (("stop", {}), ("report", {"state": "ended"})):
        assert people.call("bob", "POST", f"/{RUN['run_id']}/{what}", body).status_code == 404
    assert people.start(None).status_code == 403, "a portal that names nobody"
    assert people.start("bob").get_json()["state"] == "waiting", "of the same id, his own"
    people.take()
    counts = people.call("admin", "GET", "/counts")
    assert "grep" not in counts.text
    said = [
        (user["user"], user["waiting"], user["running"], user["served"])
        for user in counts.get_json()["users"]
    ]
    assert said == [("alice", 0, 1, True), ("bob", 1, 0, True)]


def test_form_that_is_sent_twice_starts_one(people: People) -> None:
    people.start()
    people.start()
    assert people.states() == ["waiting"]


def test_stop_ends_what_waits_and_is_said_to_who_runs_it(people: People) -> None:
    stop = f"/{RUN['run_id']}/stop"
    people.start()
    assert people.call("portal", "POST", stop, {}, "alice").get_json()["state"] == "stopped"
    assert people.take() is None
    people.start(run_id="b" * 16)
    taken = people.take()["run_id"]
    people.call("portal", "POST", f"/{taken}/stop", {}, "alice")
    assert people.call("alice", "POST", f"/{taken}/report", {"state": "running"}).get_json()["stop"] is True


def test_run_whose_server_is_silent_is_lost_and_not_given_out_again(people: People) -> None:
    people.start()
    people.take()
    people.service.clock.time += LOST_AFTER + 1
    people.restart()
    assert people.states() == ["lost"]
    assert people.take() is None
    people.report()
    assert people.states() == ["running"], "it was silent, and not gone"


def test_who_serves_is_known_for_as_long_as_it_asks(people: People) -> None:
    people.take()
    (server,) = people.call("alice", "GET", "").get_json()["servers"]
    assert (server["node"], server["directory"]) == ("login1", "/home/alice/runs")
    people.service.clock.time += SERVED_FOR + 1
    assert people.call("alice", "GET", "").get_json()["servers"] == []


def test_runs_outlive_a_restart_and_only_the_service_reads_them(people: People) -> None:
    people.start()
    people.restart()
    assert people.states() == ["waiting"]
    (kept,) = people.folder.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(people.folder.stat().st_mode) == 0o700
    kept.write_text("{")
    people.restart()
    assert people.states() == [], "what cannot be read stops nobody"


def test_a_person_has_so_many_that_are_open_and_so_many_that_are_kept(people: People) -> None:
    for number in range(MAX_OPEN):
        assert people.start(run_id=f"{number:016x}").status_code == 200
    refused = people.start()
    assert (refused.status_code, refused.get_json()["type"]) == (409, "urn:qstorman:problem:too-many-runs")
    for number in range(MAX_RUNS):
        people.call("alice", "POST", f"/{number:016x}/stop", {})
        people.start(run_id=f"{number + MAX_OPEN:016x}")
    states = people.states()
    assert (len(states), states.count("waiting")) == (MAX_RUNS, MAX_OPEN)


@pytest.mark.parametrize(
    "changed",
    [{"files": ["-x"]}, {"files": ["--rsh=sh -c x"]}, {"files": []}, {"files": ["a\nb"]}, {"run_id": "../x"},
     {"command": ["grep", "x"]}, {"command": ["grep", "{}", "a\0b"]}, {"command": ["x" * 8000] * 3 + ["{}"]},
     {"options": ["--rsh=sh"]}, {"options": ["--memory=1 --rsh"]}, {"options": ["-x"]}, {"options": "-x"},
     {"command": "grep {}"}],
)  # fmt: skip
def test_what_could_be_read_as_something_else_is_refused(people: People, changed: dict[str, Any]) -> None:
    assert people.start(**changed).status_code == 422
    assert people.states() == []


def test_runs_are_forgotten_with_the_tokens_of_their_owner(people: People) -> None:
    people.start()
    people.take()
    people.start(run_id="b" * 16)
    headers = {"Authorization": f"Bearer {people.tokens['portal']}", "X-Acting-User": "alice"}
    assert people.service.client.post("/v1/tokens/revoke", json={}, headers=headers).status_code == 200
    assert people.take() is None
    assert people.report().status_code == 404, "who runs one learns it"


def test_runs_that_cannot_be_written_are_not_started(people: People) -> None:
    people.folder.write_text("in the way")
    assert people.start().get_json()["type"] == "urn:qstorman:problem:not-kept"
    assert people.states() == []
