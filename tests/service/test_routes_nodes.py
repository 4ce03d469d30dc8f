"""Announcements over HTTP: what an agent is told, and what its decisions look like afterwards."""

from dataclasses import replace
from typing import Any

import pytest
from ses_service.api.render_nodes import excluded
from ses_service.ledger.exclusions import Exclusion
from ses_service.model.entities import Level
from ses_service.model.nodes import ByHost, NodeCalibration, NodeClass
from ses_service.security.tokens import Principal, Role

ROUTE = "/v1/nodes/n1/announcements"
AGENT = {"incarnation": "1" * 16}
WRITE = {
    "kind": "current-write-rate",
    "code": 3,
    "bound": 100e6,
    "weight": 1.0,
    "hard": False,
    "at_most": False,
    "unit": "MB/s",
    "size": 1e6,
    "level": "user",
    "level_name": "alice",
    "profile": None,
}
DECISION = {
    "id": 4,
    "decided_at": 999_999.0,
    "system": "union",
    "version": 17,
    "age_seconds": 0.4,
    "job_rank": {"number": 5, "of": None, "begins_at": "union/b1"},
    "requirements": [WRITE],
    "candidates": [
        {"element": "union/b1", "distance": 0.5, "write": 50e6, "free": 2e9, "streams": 1.0, "age": 0.7}
    ],
    "refused": [{"element": "union/b2", "reason": "not-usable-here"}],
    "refused_total": 1,
}


def opened(**more: Any) -> dict[str, Any]:
    return {
        "placement_id": "a" * 16,
        "user": "alice",
        "path": "/mnt/union/f",
        "device": 7,
        "inode": "42",
        "restore": {"element": "union/b1", "placed_at": 999_999.0, "distance": 0.5, "decided_by": "program"},
        "decision": {"id": 4, "batch_number": 2, "batch_size": 3, "predicted": {"write": 25e6}},
        **more,
    }


def say(service: Any, **said: Any) -> Any:
    answer = service.post(ROUTE, {**AGENT, **said}, code=200)
    return answer.get_json()


def test_a_file_a_program_placed_is_explained_like_any_other(service: Any) -> None:
    answer = say(service, opened=[opened()], decisions=[DECISION])
    assert (answer["unknown"], answer["refused"]) == ([], [])
    record = service.get(f"/v1/placements/{'a' * 16}").get_json()
    assert (record["decided_by"], record["element"], record["state"]) == ("program", "union/b1", "open")
    assert (record["rank"], record["batch_number"], record["batch_size"]) == (1, 2, 3)
    assert record["requirements"][0]["minimum"] == 100.0
    assert record["predicted"][0]["value"] == 25.0
    (first,) = record["candidates"]
    assert (first["available"]["write_mb_s"], first["free_gb"], first["age_seconds"]) == (50.0, 2.0, 0.7)
    assert [(refusal["element"], refusal["reason"]) for refusal in record["refused"]] == [
        ("union/b2", "unreachable")
    ]


def test_what_an_open_file_is_predicted_follows_what_comes_and_goes(service: Any) -> None:
    def now(placement: str = "a" * 16) -> list[tuple[float, float]]:
        record = service.get(f"/v1/placements/{placement}").get_json()
        assert not record["predicted"] or record["predicted"][0]["value"] == 25.0, "that of its create"
        return [(prediction["value"], prediction["shortfall"]) for prediction in record["predicted_now"]]

    say(service, opened=[opened()], decisions=[DECISION])
    assert now() == [(100.0, 0.0)], "it is alone"
    (other,) = service.open(node="n2", element="union/b1", user="bob")
    assert now() == [(50.0, 0.5)]
    assert now(other) == [], "it asks for nothing"
    say(service, opened=[opened(idle=True)])
    assert now() == [(50.0, 0.5)], "of two streams, if it goes on"
    service.post(
        "/v1/nodes/n2/announcements",
        {"incarnation": "a" * 16, "ended": [{"placement_id": other, "reason": "closed"}]},
    )
    assert now() == [(100.0, 0.0)]
    say(service, ended=[{"placement_id": "a" * 16, "reason": "closed"}])
    assert now() == []


def test_what_a_node_excludes_is_kept_until_it_says_otherwise(service: Any) -> None:
    def refused() -> list[tuple[str, str]]:
        listed = service.post("/v1/selections", {"subject": {"user": "alice"}}).get_json()["refused"]
        return [(refusal["element"], refusal["detail"]) for refusal in listed]

    why = "its mode in the union is NC"
    nc = [{"element": "union/b2", "why": why}]
    second = {"element": "union/b0", "distance": 0.7, "streams": 0.0, "order": 2}
    decision = {**DECISION, "candidates": [*DECISION["candidates"], second]}
    asked = {"system": "union"}
    say(service, tables=[{**asked, "excluded": nc}], opened=[opened()], decisions=[decision])
    record = service.get(f"/v1/placements/{'a' * 16}").get_json()
    assert [refusal["detail"] for refusal in record["refused"]] == [f"It is excluded on n1: {why}."]
    assert [candidate["after"] for candidate in record["candidates"]] == [
        "", "falls further short: distance 0.700, before it 0.500",
    ]  # fmt: skip
    assert refused() == [("union/b2", f"It is excluded on n1: {why}.")]
    say(service, tables=[asked])
    excluded = [{"node": "n1", "user": None, **nc[0]}]
    assert [node["excluded"] for node in service.get("/v1/nodes").get_json()["nodes"]] == [excluded]
    assert service.get("/v1/node-classes").get_json()["node_classes"][0]["excluded"] == excluded
    elements = service.get("/v1/elements").get_json()["elements"]
    assert [element["excluded"] for element in elements] == [[], [], excluded]
    full = [{"element": "union/b2", "user": "alice", "why": "No space left on device"}]
    others = opened(placement_id="b" * 16, user="bob", decision={**opened()["decision"], "id": 5})
    say(
        service, tables=[{**asked, "excluded": full}],
        opened=[opened(placement_id="c" * 16), others], decisions=[DECISION, {**DECISION, "id": 5}],
    )  # fmt: skip
    why = "It is excluded on n1: No space left on device."
    assert refused() == [("union/b2", why)]
    records = [service.get(f"/v1/placements/{digit * 16}").get_json() for digit in "cb"]
    assert [placed["refused"][0]["detail"] == why for placed in records] == [True, False]
    elements = service.get("/v1/elements").get_json()["elements"]
    assert elements[2]["excluded"] == [{"node": "n1", **full[0]}]
    say(service, tables=[{**asked, "excluded": []}])
    assert refused() == []


def test_people_read_of_exclusions_of_their_own_files_alone() -> None:
    exclusions = [("n1", Exclusion("union/b2", "no space", user)) for user in ("alice", "bob", None)]

    def read(role: Role, user: str | None) -> list[str | None]:
        return [exclusion["user"] for exclusion in excluded(exclusions, Principal("x", role, user))]

    assert read(Role.USER, "bob") == read(Role.PORTAL, "bob") == ["bob", None]
    assert read(Role.ADMIN, "root") == ["alice", "bob", None]


def test_own_files_show_in_the_very_answer(service: Any) -> None:
    asked = [{"system": "union"}]
    table = say(service, tables=asked, opened=[opened()], decisions=[DECISION])["tables"][0]
    own = {table["elements"][load[0]]["element"]: load[5] for load in table["loads"]}
    assert own == {"union/b0": 0.0, "union/b1": 1.0, "union/b2": 0.0}
    had = [{"system": "union", "revision": table["revision"], "version": table["version"]}]
    again = say(service, tables=had, ended=[{"placement_id": "a" * 16, "reason": "closed"}])["tables"][0]
    assert again["elements"] is None
    assert [load[5] for load in again["loads"]] == [0.0]


def test_needs_come_once_and_again_when_they_changed(service: Any, site: Any) -> None:
    def needs(**have: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = say(service, users=["alice"], generations=have)["needs"]
        return listed

    first = needs()
    assert [(need["application"], need["requirements"]) for need in first] == [(None, [])]
    assert needs(alice=first[0]["generation"]) == []
    service.knowledge.put(Level.APPLICATION, "alice:sort", site.write(100))
    service.refresh()
    changed = needs(alice=first[0]["generation"])
    assert [need["application"] for need in changed] == [None, "sort"]
    assert changed[1]["requirements"][0] == {**WRITE, "level": "application", "level_name": "alice:sort"}


def test_nodes_where_programs_choose_are_to_speak_often(service: Any) -> None:
    answer = say(service, busy=True, in_use=True)
    assert (answer["next_within_seconds"], answer["report_within_seconds"]) == (0.1, 0.05)
    assert say(service, busy=True)["next_within_seconds"] == 1.0
    assert say(service)["next_within_seconds"] == 2.0


def test_nodes_hear_over_which_time_so_many_are_to_come_back(service: Any) -> None:
    assert say(service)["return_within_seconds"] == pytest.approx(1 / 200)
    for number in range(3):
        others = service.post(ROUTE.replace("n1", f"o{number}"), AGENT).get_json()
    assert others["return_within_seconds"] == pytest.approx(4 / 200)


def test_what_a_newer_agent_says_more_is_passed_over(service: Any) -> None:
    answer = say(service, mood="fine", opened=[opened(colour="red")], decisions=[{**DECISION, "more": 1}])
    assert answer["refused"] == []


@pytest.mark.parametrize("wrong", [{"id": -1}, {"candidates": [{"element": "b1"}]}, {"refused": [{}]}])
def test_a_decision_that_is_none_is_refused(service: Any, wrong: dict[str, Any]) -> None:
    answer = say(service, decisions=[{**DECISION, **wrong}])
    assert [(item["list"], item["index"]) for item in answer["refused_items"]] == [("decisions", 0)]


def test_the_windows_and_ages_are_those_of_the_monitor(service: Any, site: Any) -> None:
    seen = site.equal(3).see_all(interval=15.0).observed.values()
    service.runtime.state.take_observations([replace(observation) for observation in seen], window=30.0)
    table = say(service, tables=[{"system": "union"}])["tables"][0]
    assert (table["max_age_seconds"], table["rate_window_seconds"]) == (90.0, 30.0)


def select(service: Any, **asked: Any) -> Any:
    answer = service.post("/v1/nodes/selections", {"subject": {"user": "alice"}, **asked}, code=200)
    return answer.get_json()


def with_nodes(service: Any, *classes: NodeClass) -> None:
    service.knowledge.site = replace(service.knowledge.site, node_classes=classes)
    service.knowledge.changes += 1
    service.refresh()


def test_nodes_are_ranked_for_a_task_from_classes_and_what_is_open_there(service: Any) -> None:
    names = ("n1", "n2", "n3")
    with_nodes(service, NodeClass("thin", "n[1-3]", names, frozenset({"union"}), 100e6, holds={"union/b1"}))
    service.open(1, node="n1")
    hard = {"kind": "write", "minimum": 60, "unit": "MB/s", "strictness": "hard"}
    selection = select(service, requirements=[hard], exclude="n3")
    (first,) = selection["candidates"]
    assert (first["node"], first["node_class"], first["limited_by"]) == ("n2", "thin", "element")
    assert (first["available"]["write_mb_s"], first["distance"], first["open_files"]) == (100, 0, 0)
    answer = {refusal["nodes"]: (refusal["reason"], refusal["count"]) for refusal in selection["refused"]}
    assert answer == {"n3": ("excluded", 1), "n1": ("hard-requirement", 1)}
    assert selection["total"] == 3
    (listed,) = service.get("/v1/node-classes").get_json()["node_classes"]
    assert (listed["nodes"], listed["count"], listed["heard"], listed["open_files"]) == ("n[1-3]", 3, 1, 1)
    assert (listed["storage_systems"], listed["link_mb_s"], listed["uplink"]) == (["union"], 100, None)
    assert listed["holds"] == ["union/b1"]


def test_a_node_that_calls_itself_by_its_domain_is_the_one_that_the_site_describes(service: Any) -> None:
    with_nodes(service, NodeClass("thin", "n[1-2]", ("n1", "n2"), frozenset({"union"}), 100e6))
    service.open(1, node="n1.example.org")
    selection = select(service)
    assert [(candidate["node"], candidate["open_files"]) for candidate in selection["candidates"]] == [
        ("n2", 0),
        ("n1", 1),
    ]
    (listed,) = service.get("/v1/node-classes").get_json()["node_classes"]
    assert (listed["count"], listed["heard"], listed["open_files"]) == (2, 1, 1)


def test_without_descriptions_the_nodes_are_those_whose_agents_are_heard_of(service: Any) -> None:
    say(service, tables=[{"system": "union"}])
    selection = select(service)
    assert [candidate["node"] for candidate in selection["candidates"]] == ["n1"]
    assert selection["candidates"][0]["node_class"] is None
    (listed,) = service.get("/v1/node-classes").get_json()["node_classes"]
    assert (listed["node_class"], listed["nodes"], listed["storage_systems"]) == (None, "n1", ["union"])


@pytest.mark.parametrize("text", ["n[1-", "n[1-9999999]", "@all", "n1 n2", "[1-400][1-400]"])
def test_what_is_no_list_of_nodes_is_refused_at_once(service: Any, text: str) -> None:
    asked = {"subject": {"user": "alice"}, "exclude": text}
    answer = service.post("/v1/nodes/selections", asked, code=422)
    assert answer.get_json()["errors"][0]["location"] == "json.exclude"


def test_a_node_that_falls_silent_is_listed_until_it_is_heard_again(service: Any, clock: Any) -> None:
    service.post(ROUTE, AGENT, headers={"Ses-Version": "0.1.7"}, code=200)
    listed = service.get("/v1/nodes").get_json()
    assert [(node["node"], node["version"]) for node in listed["nodes"]] == [("n1", "0.1.7")]
    assert listed["silent"] == []
    heard = clock()
    clock.time += 3600
    silent = service.get("/v1/nodes").get_json()
    assert silent["nodes"] == []
    assert [(node["node"], node["heard_at"], node["version"]) for node in silent["silent"]] == [
        ("n1", heard, "0.1.7")
    ]
    say(service)
    again = service.get("/v1/nodes").get_json()
    assert [(node["node"], node["version"]) for node in again["nodes"]] == [("n1", None)]
    assert again["silent"] == []


def test_what_a_node_was_measured_to_give_is_reported(service: Any) -> None:
    measured = NodeCalibration("n1", 1.5e9, "copies", 64, 8e9, None, 1.25e9)
    service.knowledge.site = replace(service.knowledge.site, calibrations=ByHost({"n1": measured}.items()))
    service.knowledge.changes += 1
    service.refresh()
    assert service.get("/v1/nodes/n1.example.org/calibration").get_json() == {
        "node": "n1", "calibrated_at": 1.5e9, "method": "copies", "cores": 64,
        "core_copy_mb_s": 8000.0, "memory_mb_s": None, "link_mb_s": 1250.0,
    }  # fmt: skip
    assert service.get("/v1/nodes/n2/calibration").status_code == 404


def test_threads_of_an_agent_that_stalled_are_listed_until_it_says_no_more(service: Any) -> None:
    said = say(service, stalled=[{"thread": "watcher", "seconds": 40}, {"thread": "\n", "seconds": -1}])
    assert [item["list"] for item in said["refused_items"]] == ["stalled"]
    (listed,) = service.get("/v1/nodes").get_json()["nodes"]
    expected = [{"node": "n1", "thread": "watcher", "since": round(listed["heard_at"] - 40)}]
    assert listed["stalled"] == expected
    (of_class,) = service.get("/v1/node-classes").get_json()["node_classes"]
    assert of_class["stalled"] == expected
    metric = 'ses_node_thread_stalled_seconds{node="n1",thread="watcher"}'
    assert metric in service.get("/metrics").text
    say(service)  # as an agent that knows no such member, too
    assert service.get("/v1/nodes").get_json()["nodes"][0]["stalled"] == []
    assert metric not in service.get("/metrics").text
