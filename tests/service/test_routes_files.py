"""Files as people see them: what each received, whose they may see, pages, sums and metrics."""

from typing import Any

import pytest
from files_opened import AGENT, announcement, decision, new_ids
from ses_service.model.policies import Policies
from ses_service.security.tokens import Role, TokenFile, add_token
from ses_service.state import verdicts
from ses_service.store.database import Database
from ses_service.store.records import RecordStore

MB = 1e6


class Story:
    """A service with files of alice and bob on b0 and b1: every second one gets what it needs."""

    def __init__(self, serve: Any, database: Any = None, **more: Any) -> None:
        if database is not None:
            more = {**more, "store": RecordStore(database)}
        self.service = serve(3, **more).refresh()
        self.clock = self.service.clock
        self.start = self.clock.time
        if database is not None:
            self.service.runtime.journal._open()
            self.service.runtime.journal._failed = None

    def place(self, count: int, user: str, application: str, element: str, job: str = "7") -> list[str]:
        ids = new_ids(count)
        made = announcement(
            ids, [element], user=user, application=application, job=job, placed_at=self.clock.time
        )
        required = {
            "kind": "current-write-rate", "code": 2, "bound": 100 * MB, "unit": "MB/s", "size": MB,
            "level": "user", "level_name": user,
        }  # fmt: skip
        made["decisions"] = [{**decision(1, element), "requirements": [required]}]
        for number, file in enumerate(made["opened"]):
            file["path"] = f"/data/{application}/out_{number}%.dat"
            file["decision"] = {"id": 1, "predicted": {"write": 150 * MB}}
        self._say(made)
        return ids

    def end(self, ids: list[str], *rates: float) -> None:
        for number, placement in enumerate(ids):
            self.clock.time += 10
            rate = rates[number % len(rates)]
            achieved = {
                "bytes_written": rate * MB * 10, "writing_seconds": 10, "open_seconds": 10,
                "samples": [[0, 0, 0], [10, rate * MB * 10, 0]],
            }  # fmt: skip
            end = {"placement_id": placement, "reason": "closed", "achieved": achieved}
            self._say({"incarnation": AGENT, "ended": [end]})
        journal = self.service.runtime.journal
        if journal is None:
            self.service.runtime.state.ledger.learn()
        else:
            journal._step()

    def files(self, **asked: Any) -> list[dict[str, Any]]:
        return self.page(**asked)["files"]

    def page(self, **asked: Any) -> dict[str, Any]:
        answer = self.service.get("/v1/files", query_string=asked)
        assert answer.status_code == 200, answer.get_json()
        body: dict[str, Any] = answer.get_json()
        return body

    def _say(self, said: dict[str, Any]) -> None:
        answer = self.service.post("/v1/nodes/n1/announcements", said)
        assert answer.status_code == 200, answer.get_json()
        assert answer.get_json()["refused"] == []


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def story(request: pytest.FixtureRequest, serve: Any, tmp_path: Any) -> Any:
    database = None
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    elif request.param == "postgresql":
        database = Database(request.getfixturevalue("postgresql").url)
    yield Story(serve, database)
    if database is not None:
        with database.transaction() as connection:
            if request.param == "postgresql":
                connection.exec_driver_sql("drop schema public cascade")
                connection.exec_driver_sql("create schema public")
        database.close()


def test_files_are_found_by_all_that_is_asked_and_summed_up(story: Story) -> None:
    alice = story.place(6, "alice", "dd", "union/b0")
    bob = story.place(2, "bob", "fio", "union/b1", "8")
    story.end(alice[:5], 120, 90, 40, 120, 40)
    story.end(bob, 120)
    listed = story.files()
    assert [file["placement_id"] for file in listed] == [alice[5], *reversed(bob), *reversed(alice[:5])]
    assert [file["verdict"] for file in listed] == [
        None, "met", "met", "missed", "met", "missed", "nearly", "met",
    ]  # fmt: skip
    missed = listed[3]
    assert (missed["kind"], missed["unit"]) == ("current-write-rate", "MB/s")
    assert (missed["required"], missed["predicted"], missed["achieved"]) == (100, 150, 40)
    assert missed["write_mb_s"] == 40

    def ids(**asked: Any) -> list[str]:
        return [file["placement_id"] for file in story.files(**asked)]

    assert ids(user="bob") == ids(application="fio") == ids(job="8") == ids(element="union/b1")
    assert ids(user="bob") == list(reversed(bob))
    assert ids(verdict="missed") == ids(verdict="missed", user="alice") == [alice[4], alice[2]]
    assert ids(verdict="missed", element="union/b1") == []
    assert ids(state="open") == [alice[5]]
    assert ids(path="out_1%") == [bob[1], alice[1]]
    assert ids(path="/fio/", verdict="met") == list(reversed(bob))
    assert ids(path="%", user="bob", state="ended") == list(reversed(bob))
    assert ids(since=story.start + 45, until=story.start + 65, state="ended") == [bob[0], alice[4]]

    seen: list[str] = []
    page = story.page(limit=3)
    while True:
        seen += [file["placement_id"] for file in page["files"]]
        if page["next"] is None:
            break
        page = story.page(limit=3, after=page["next"])
    assert seen == [file["placement_id"] for file in listed]

    record = story.service.get(f"/v1/files/{alice[2]}").get_json()
    assert [kind["verdict"] for kind in record["kinds"]] == ["missed"]
    assert record["samples"] == [[0, 0, 0], [10, 400 * MB, 0]]
    assert record["why"]

    answer = story.service.get("/v1/report", query_string={"user": "alice"}).get_json()
    assert answer["complete"] is True
    assert {name: answer["total"][name] for name in ("files", "met", "nearly", "missed", "met_ratio")} == {
        "files": 5, "met": 2, "nearly": 1, "missed": 2, "met_ratio": 0.4,
    }  # fmt: skip
    assert answer["total"]["shortfall"] == pytest.approx((0.6 + 0.6 + 0.1) / 5)
    assert answer["total"]["forecast_files"] == 3, "two got all they required and may have wanted no more"
    assert answer["total"]["of_forecast"] == pytest.approx((90 + 40 + 40) / 150 / 3, abs=1e-3)
    assert [element["name"] for element in answer["elements"]] == ["union/b0"]
    assert [kind["name"] for kind in answer["kinds"]] == ["current-write-rate"]
    everything = story.service.get("/v1/report").get_json()
    assert [application["name"] for application in everything["applications"]] == ["dd", "fio"], (
        "the worst first"
    )
    for by in ("jobs", "users", "vos"):
        assert sum(part["files"] for part in everything[by]) == everything["total"]["files"]
    assert [(user["name"], user["met_ratio"]) for user in everything["users"]] == [
        ("alice", 0.4),
        ("bob", 1.0),
    ]

    metrics = story.service.get("/metrics").text
    assert 'ses_files_judged_total{verdict="missed",vo=""} 2.0' in metrics
    assert 'ses_element_files_judged_total{element="union/b1",verdict="met"} 2.0' in metrics
    assert 'ses_prediction_ratio_count{element="union/b0"}' in metrics

    journal = story.service.runtime.journal
    if journal is not None:
        journal._keep_files, journal._forget_next = 35.0, 0.0
        journal._step()
        assert ids(state="ended") == [*reversed(bob), alice[4], alice[3]]


def test_a_file_whose_figures_come_late_is_judged_again_and_counted_once(serve: Any) -> None:
    story = Story(serve)
    ids = story.place(1, "alice", "dd", "union/b0")
    story._say({"incarnation": AGENT, "ended": [{"placement_id": ids[0], "reason": "closed"}]})
    story.service.runtime.state.verdicts.run()
    assert [file["verdict"] for file in story.files(user="alice")] == ["cannot-say"]
    story.end(ids, 50)
    story.service.runtime.state.verdicts.run()
    assert [file["verdict"] for file in story.files(user="alice")] == ["missed"]
    answer = story.service.get("/metrics").text
    counted = [line for line in answer.splitlines() if line.startswith("ses_element_files_judged_total{")]
    assert counted == ['ses_element_files_judged_total{element="union/b0",verdict="cannot-say"} 1.0']


def test_elements_beyond_those_that_are_counted_apart_are_one(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "MAX_LABELS", 2)
    story = Story(serve)
    for element in ("union/b0", "union/b1", "union/b2"):
        story.end(story.place(2, "alice", "dd", element), 120, 40)
    answer = story.service.get("/metrics").text
    counted = [line for line in answer.splitlines() if line.startswith("ses_element_files_judged_total{")]
    assert counted == [
        f'ses_element_files_judged_total{{element="{name}",verdict="{verdict}"}} 1.0'
        for name in ("other", "union/b0", "union/b1")
        for verdict in ("met", "missed")
    ]


def test_a_person_sees_their_own_files_only(serve: Any, tmp_path: Any) -> None:
    tokens = tmp_path / "tokens.toml"
    bearer = {"headers": {"Authorization": f"Bearer {add_token(tokens, Role.USER, 'bob', user='bob')}"}}
    story = Story(serve, tokens=TokenFile(tokens))
    alice, bob = story.place(1, "alice", "dd", "union/b0"), story.place(1, "bob", "dd", "union/b1")
    story.end([*alice, *bob], 120)

    def get(path: str) -> Any:
        return story.service.get(path, **bearer)

    assert [file["placement_id"] for file in get("/v1/files").get_json()["files"]] == bob
    assert get("/v1/report").get_json()["total"]["files"] == 1
    assert get(f"/v1/files/{bob[0]}").status_code == 200
    for forbidden in ("/v1/files?user=alice", "/v1/report?user=alice", f"/v1/files/{alice[0]}"):
        assert get(forbidden).status_code == 403


@pytest.mark.parametrize(
    "wrong", ["after=x", "after=open:x:y", "verdict=bad", "limit=0", "since=-1", "what=1"]
)
def test_questions_that_cannot_be_right_are_refused(service: Any, wrong: str) -> None:
    assert service.get(f"/v1/files?{wrong}").status_code == 422


def test_a_file_is_known_longer_than_its_explanation(serve: Any, tmp_path: Any) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    story = Story(serve, database, policies=Policies(max_records=1))
    old, kept = story.place(2, "alice", "dd", "union/b0")
    story.end([old], 100)
    story.end([kept], 100)
    assert story.service.get(f"/v1/placements/{old}").status_code == 404
    assert story.service.get(f"/v1/placements/{kept}").status_code == 200
    assert {file["placement_id"] for file in story.files(user="alice")} == {old, kept}
    assert story.service.get(f"/v1/files/{old}").get_json()["kinds"]
    database.close()
