"""What one node may have open, and may begin, is bounded, so that one that lies cannot fill the ledger."""

from itertools import count
from typing import Any

import pytest
from files_opened import announcement, new_ids, opened
from ses_service.ledger import file_bounds
from ses_service.ledger.file_bounds import FileBounds
from ses_service.model.policies import Policies


def test_a_node_has_no_more_files_open_than_an_agent_follows(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_bounds, "MAX_OPEN", 3)
    service = serve(2).refresh()
    ids = new_ids(5)
    said = announcement(ids, ["union/b0"])
    answer = service.post("/v1/nodes/n1/announcements", said).get_json()
    assert [refusal["placement_id"] for refusal in answer["refused"]] == ids[3:]
    assert "3 files open" in answer["refused"][0]["detail"]
    assert (
        service.post("/v1/nodes/n2/announcements", announcement(new_ids(1), ["union/b0"])).get_json()[
            "refused"
        ]
        == []
    )


def test_a_job_has_one_user_on_a_node_and_who_else_names_it_has_files_of_no_job(serve: Any) -> None:
    """As an agent says it that believes what programs name; nothing else of its message is worse for it."""
    service = serve(2).refresh()
    first, theirs, own, elsewhere, late = new_ids(5)

    def say(node: str, **lists: Any) -> None:
        said = {"incarnation": "a" * 16, **lists}
        answer = service.post(f"/v1/nodes/{node}/announcements", said).get_json()
        assert (answer["refused"], answer["unknown"]) == ([], [])

    def jobs() -> dict[str, str | None]:
        files = service.get("/v1/files?limit=1000").get_json()["files"]
        return {file["placement_id"]: file["job"] for file in files}

    say("n1", opened=[opened(first, job="7"), opened(theirs, user="bob", job="7"),
                      opened(own, user="bob", job="8")])  # fmt: skip
    say("n2", opened=[opened(elsewhere, user="bob", job="7")])
    assert jobs() == {first: "7", theirs: None, own: "8", elsewhere: "7"}
    say("n1", opened=[opened(theirs, user="bob", job="7"), opened(first, job="7")])
    assert jobs()[theirs] is None
    notes = service.get(f"/v1/placements/{theirs}").get_json()["notes"]
    assert notes == ["job 7, which the node named, is another user's there"]
    say("n1", ended=[{"placement_id": first, "reason": "closed"}])
    say("n1", opened=[opened(late, user="bob", job="7")])
    assert jobs()[late] == "7", "numbers of jobs come again"


AT_ONCE = 60  # files: ten minutes' worth at a tenth of a file a second


def bounded(serve: Any) -> Any:
    policies = Policies(node_files_per_second=0.1)
    return serve(2, policies=policies).refresh()


def say(
    service: Any, node: str, ids: list[str], *, incarnation: str = "a" * 16, reason: str = "closed"
) -> int:
    """Tell that files were created and closed, each of a megabyte; return how many were refused."""
    said = announcement(ids, ["union/b0"], path="/union/out")
    said["incarnation"] = incarnation
    said["ended"] = [{"placement_id": placement, "reason": reason, "bytes_written": 1e6} for placement in ids]
    return len(service.post(f"/v1/nodes/{node}/announcements", said).get_json()["refused"])


def check(service: Any) -> dict[str, Any]:
    (wanted,) = (
        listed for listed in service.get("/readyz").get_json()["checks"] if listed["name"] == "files-of-nodes"
    )
    return dict(wanted)


def test_a_node_that_tells_of_more_and_more_files_is_not_believed_for_ever(serve: Any) -> None:
    service = bounded(serve)
    assert check(service)["ok"]
    refused = [say(service, "liar", new_ids(50), incarnation=f"{number:016x}") for number in range(1, 40)]
    taken = sum(50 - rejected for rejected in refused)
    assert AT_ONCE <= taken <= AT_ONCE + 1, "another incarnation of its agent begins nothing anew"
    service.runtime.state.ledger.learn()
    (whole, *_) = service.get("/v1/sizes?user=alice").get_json()["sizes"]
    assert whole["count"] == taken, "what was refused teaches nothing"
    assert len(service.get("/v1/files?limit=1000").get_json()["files"]) == taken
    assert say(service, "honest", new_ids(50)) == 0
    assert not check(service)["ok"]
    assert "liar" in check(service)["detail"]
    metrics = service.get("/metrics").text
    assert f'ses_files_refused_total{{reason="too-fast"}} {sum(refused):.1f}' in metrics


def test_a_node_may_begin_more_as_time_goes_by_and_silence_is_no_trick(serve: Any, clock: Any) -> None:
    service = bounded(serve)
    say(service, "liar", new_ids(2 * AT_ONCE))
    clock.time += 100
    service.runtime.state.expire()
    assert service.get("/v1/nodes").get_json()["nodes"] == []
    taken = 50 - say(service, "liar", new_ids(50))
    assert 10 <= taken <= 11
    clock.time += 1000
    assert check(service)["ok"]
    assert say(service, "liar", new_ids(AT_ONCE)) == 0


def test_files_that_are_taken_up_again_count(serve: Any) -> None:
    service = bounded(serve)
    ids = new_ids(1)
    assert sum(say(service, "liar", ids, reason="unused") for _ in range(AT_ONCE)) == 0
    assert sum(say(service, "liar", ids, reason="unused") for _ in range(50)) >= 49


def test_what_an_agent_says_again_does_not_count(serve: Any) -> None:
    service = bounded(serve)
    said = announcement(new_ids(50), ["union/b0"])
    for _ in range(20):
        assert service.post("/v1/nodes/n1/announcements", said).get_json()["refused"] == []
    assert check(service)["ok"]


def test_an_agent_that_comes_back_with_all_it_may_have_is_believed() -> None:
    bounds = FileBounds(Policies().node_files_per_second)
    backlog = 20_000
    for _ in range(3):  # it and the service were started again at once, again and again
        assert not any(bounds.refuses("n1", "alice", 1e9) for _ in range(file_bounds.MAX_OPEN + backlog))


def test_nodes_that_begin_few_files_are_forgotten() -> None:
    bounds = FileBounds(1.0)
    for number in range(5000):
        assert bounds.refuses(f"n{number}", "alice", 1e9 + 10.0 * number) == ""
    assert bounds.begun <= 1001


def test_one_user_of_a_node_with_too_many_open_costs_another_nothing(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_bounds, "MAX_OPEN", 8)
    service = serve(2).refresh()
    mallory, alice = new_ids(12), new_ids(3)
    files = announcement(mallory, ["union/b0"], user="mallory")["opened"]
    files += announcement(alice, ["union/b0"])["opened"]
    answer = service.post("/v1/nodes/n1/announcements", {"incarnation": "a" * 16, "opened": files}).get_json()
    assert [refusal["placement_id"] for refusal in answer["refused"]] == mallory[8:]
    ended = {
        "incarnation": "a" * 16,
        "ended": [{"placement_id": placement, "reason": "closed"} for placement in mallory[:7]],
        "opened": [],
    }
    service.post("/v1/nodes/n1/announcements", ended)
    assert (
        service.post(
            "/v1/nodes/n1/announcements", announcement(new_ids(4), ["union/b0"], user="mallory")
        ).get_json()["refused"]
        == []
    ), "what has ended does not count"


def test_one_user_who_begins_files_without_end_costs_another_nothing() -> None:
    bounds = FileBounds(10.0)
    taken = {"mallory": 0, "alice": 0}
    for second in range(2000):
        now = 1e9 + second
        for user, number in (("mallory", 100), ("alice", 3)):
            taken[user] += sum(bounds.refuses("n1", user, now) == "" for _ in range(number))
    assert taken["alice"] == 3 * 2000
    assert taken["mallory"] < 10.0 * (2000 + 2 * file_bounds.AVERAGED_OVER)


def test_a_node_that_makes_up_users_has_at_most_three_times_as_much_more() -> None:
    bounds, at_once = FileBounds(0.1), 60
    taken = 0
    for user in (f"u{number}" for number in range(300)):
        files = next(number for number in count() if bounds.refuses("n1", user, 1e9))
        taken += files
        for _ in range(files):
            bounds.opened("n1", user)
    assert at_once < taken < 4 * at_once + 300


def test_a_node_that_makes_up_users_has_at_most_three_times_as_many_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_bounds, "MAX_OPEN", 100)
    bounds = FileBounds(1e9)
    opened = 0
    for user in (f"u{number}" for number in range(300)):
        while not bounds.refuses("n1", user, 1e9):
            bounds.opened("n1", user)
            opened += 1
    assert 100 < opened < 400 + 300
