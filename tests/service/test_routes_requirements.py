"""Requirement sets over HTTP: names, revisions, who may change what."""

from typing import Any

import pytest
from ses_service.model.entities import Level
from ses_service.model.limits import MAX_APPLICATIONS

Service = Any
ONE_GB = {"kind": "free-capacity", "minimum": 1, "unit": "GB"}
SET = {"requirements": [ONE_GB]}


def test_a_set_nobody_stated_is_empty_with_revision_0(service: Service) -> None:
    answer = service.get("/v1/requirements/user/alice")
    assert (answer.status_code, answer.headers["ETag"]) == (200, '"0"')
    assert answer.get_json() == {
        "level": "user",
        "name": "alice",
        "requirements": [],
        "profile": None,
        "revision": 0,
        "modified_at": None,
        "modified_by": None,
    }


def test_a_saved_set_is_stored_and_used_at_once(service: Service, clock: Any) -> None:
    saved = service.put("/v1/requirements/application/alice:dd", SET, headers={"X-Acting-User": "alice"})
    assert (saved.status_code, saved.headers["ETag"]) == (200, '"1"')
    assert (saved.get_json()["modified_by"], saved.get_json()["modified_at"]) == ("alice", clock())
    assert service.get("/v1/requirements/application/alice:dd").get_json() == saved.get_json()
    assert (Level.APPLICATION, "alice:dd") in service.knowledge.sets
    effective = service.get("/v1/requirements/effective?user=alice&application=dd").get_json()
    assert [requirement["level_name"] for requirement in effective["requirements"]] == ["alice:dd"]
    assert service.get("/v1/requirements/effective?user=alice&application=").get_json()["requirements"] == []


@pytest.mark.parametrize(
    ("kind", "number", "unit", "bound"),
    [
        ("free-capacity", 1.5, "TiB", 1649.267441664),
        ("current-write-rate", 7, "MiB/s", 7.340032),
        ("current-write-rate", 4e-7, "MB/s", 4e-7),
    ],
)
def test_a_bound_comes_back_as_exact_as_it_was_stated(
    service: Service, kind: str, number: float, unit: str, bound: float
) -> None:
    stated = {"requirements": [{"kind": kind, "minimum": number, "unit": unit}]}
    answer = service.put("/v1/requirements/user/alice", stated)
    assert [requirement["minimum"] for requirement in answer.get_json()["requirements"]] == [bound]


def test_a_vo_that_there_is_not_is_said_by_whatever_is_asked_for_it(service: Service) -> None:
    service.put("/v1/requirements/vo/materials", SET)

    def notes(vo: str) -> list[list[str]]:
        ask = {"subject": {"user": "alice", "vo": vo}}
        answers = (
            service.get(f"/v1/requirements/effective?user=alice&vo={vo}"),
            service.post("/v1/selections", ask),
            service.post("/v1/nodes/selections", ask),
        )
        return [[note for note in answer.get_json()["notes"] if " VO " in note] for answer in answers]

    near = "Neither the site nor a requirement set has a VO material: did you mean materials?"
    assert notes("material") == [[near]] * 3
    assert notes("nope") == [["Neither the site nor a requirement set has a VO nope."]] * 3
    assert notes("materials") == [[]] * 3


def test_an_empty_list_removes_a_set(service: Service) -> None:
    service.put("/v1/requirements/user/alice", SET)
    assert service.put("/v1/requirements/user/alice", {"requirements": []}).status_code == 200
    assert service.get("/v1/requirements/effective?user=alice").get_json()["requirements"] == []
    assert service.get("/v1/requirements").get_json()["sets"] == []


def test_sets_are_listed_for_a_person_or_all(service: Service) -> None:
    for path in ("user/alice", "user/bob", "application/bob:cp", "application/alice:dd", "site/default"):
        assert service.put(f"/v1/requirements/{path}", SET).status_code == 200

    def names(query: str) -> list[str]:
        return [
            f"{stated['level']}/{stated['name']}"
            for stated in service.get("/v1/requirements" + query).get_json()["sets"]
        ]

    assert names("?user=alice") == ["application/alice:dd", "user/alice", "site/default"]
    assert len(names("")) == 5


def test_if_match_guards_against_lost_changes(service: Service) -> None:
    path = "/v1/requirements/user/alice"
    assert service.put(path, SET, headers={"If-Match": '"0"'}).status_code == 200
    stale = service.put(path, SET, headers={"If-Match": '"0"'})
    assert (stale.status_code, stale.get_json()["type"]) == (412, "urn:qstorman:problem:revision-mismatch")
    assert service.put(path, SET, headers={"If-Match": '"1"'}).status_code == 200
    assert service.put(path, SET, headers={"If-Match": "*"}).status_code == 200
    assert service.put("/v1/requirements/user/bob", SET, headers={"If-Match": "*"}).status_code == 412
    assert service.put(path, SET, headers={"If-Match": "three"}).status_code == 412


@pytest.mark.parametrize("level", ["explicit", "group", "USER"])
def test_an_unknown_level_is_not_found(service: Service, level: str) -> None:
    assert service.get(f"/v1/requirements/{level}/alice").status_code == 404
    assert service.put(f"/v1/requirements/{level}/alice", SET).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "user/alice.smith-2",
        "user/alice@example.org",
        "user/DOM%5Calice",
        "user/host%24",
        "user/%C5%82ukasz",
        "application/alice:g++",
        "application/alice:%5B",
        "application/alice:python3.11",
        "application/alice:my%20simulation",
        "application/alice:a:b",
        "vo/vo.plgrid.pl",
        "site/default",
    ],
)
def test_names_people_use_are_accepted(service: Service, path: str) -> None:
    assert service.put(f"/v1/requirements/{path}", SET).status_code == 200
    assert service.get(f"/v1/requirements/{path}").get_json()["revision"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "user/-rf",
        "user/a%0A",
        "user/a%20b",
        "user/a:b",
        "user/" + "a" * 300,
        "application/alice",
        "application/:dd",
        "application/alice:",
        "application/alice:%20x",
        "application/alice:x%00",
        "vo/a%20%20b",
        "vo/%0A",
        "site/other",
    ],
)
def test_names_that_cannot_be_are_refused(service: Service, path: str) -> None:
    for answer in (service.get(f"/v1/requirements/{path}"), service.put(f"/v1/requirements/{path}", SET)):
        assert answer.status_code == 422
        assert answer.get_json()["errors"][0]["location"] == "path.name"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"requirements": None},
        {"requirements": [ONE_GB], "extra": 1},
        {"requirements": [ONE_GB, ONE_GB]},
        {"requirements": [{**ONE_GB, "unit": "MB/s"}]},
        {"requirements": [{**ONE_GB, "minimum": -1}]},
    ],
)
def test_a_wrong_set_is_refused_and_nothing_is_stored(service: Service, body: Any) -> None:
    assert service.put("/v1/requirements/user/alice", body).status_code == 422
    assert service.knowledge.sets == {}


def test_a_set_that_cannot_be_stored_says_so(service: Service) -> None:
    from ses_service.knowledge.errors import StoreUnavailableError

    service.knowledge.broken = StoreUnavailableError("connection refused")
    answer = service.put("/v1/requirements/user/alice", SET, code=503)
    assert answer.get_json()["type"] == "urn:qstorman:problem:knowledge-base-unavailable"
    assert "connection refused" in answer.get_json()["detail"]
    assert service.get("/v1/requirements/user/alice").get_json()["revision"] == 0


def test_an_application_beyond_what_a_node_takes_is_refused_and_costs_nobody_else_one(
    service: Service,
) -> None:
    def put(name: str, body: Any = SET) -> Any:
        return service.put(f"/v1/requirements/application/{name}", body)

    assert [put(f"alice:a{n}").status_code for n in range(MAX_APPLICATIONS)] == [200] * MAX_APPLICATIONS
    refused = put("alice:one-more")
    assert refused.status_code == 403
    assert "alice has 63 applications with requirements of their own" in refused.get_json()["detail"]
    assert put("bob:one-more").status_code == 200
    assert put("alice:a7").status_code == 200, "one that is there can be changed"
    assert put("alice:a7", {"requirements": []}).status_code == 200
    assert put("alice:one-more").status_code == 200


def test_effective_requirements_need_a_user(service: Service) -> None:
    assert service.get("/v1/requirements/effective").status_code == 422
