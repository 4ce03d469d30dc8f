"""Places over HTTP: given in one step with the choice, counted, renewed, and ended by whatever ends them."""

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from ses_service.security.tokens import Role, TokenFile, add_token

AGENT = "a" * 16
GB = 10**9
PROCESS = {"pid": 4711, "started": 99, "namespace": 1}

Service = Any
Given = dict[str, Any]


@pytest.fixture
def scratch(site: Any, serve: Any) -> Service:
    """Four equal directories of which 500 GB are free each, seen a moment ago."""
    return seen(serve(directories(site, 4)).refresh(), site)


def directories(site: Any, count: int) -> Any:
    described = site.equal(count).environment
    sets = {
        name: replace(system, backend="directories", mount_point="")
        for name, system in described.systems.items()
    }
    return replace(described, systems=sets)


def seen(service: Service, site: Any, free: float = 500) -> Service:
    elements = service.knowledge.site.elements
    made = site(*elements).see_all(free=free)
    service.see(made.observed.values())
    return service


def request_for(**more: Any) -> Given:
    asked = {"place_id": secrets.token_hex(8), "subject": {"user": "alice"}, "storage_system": "union"}
    if "process" in more:
        asked["subject"]["node"] = "n1"
    else:
        asked["lease_seconds"] = 3600
    return {**asked, **more}


def ask(service: Service, code: int = 200, **more: Any) -> Given:
    answer = service.post("/v1/places", request_for(**more), code=code)
    return dict(answer.get_json())


def announce(service: Service, node: str = "n1", incarnation: str = AGENT, **said: Any) -> Given:
    answer = service.post(f"/v1/nodes/{node}/announcements", {"incarnation": incarnation, **said}, code=200)
    return dict(answer.get_json())


def report(place: Given, **more: Any) -> Given:
    return {"placement_id": place["place_id"], "user": "alice", "device": 0, "inode": "0", **more}


def open_places(service: Service, **query: Any) -> list[str]:
    listed = service.get("/v1/places", query_string=query).get_json()["places"]
    return [place["place_id"] for place in listed]


def test_a_place_is_a_directory_with_a_claim_that_the_next_caller_sees(scratch: Service) -> None:
    given = [ask(scratch, expected_bytes=50 * GB, name=f"run-{number}") for number in range(8)]
    assert set(Counter(place["element"] for place in given).values()) == {2}
    first = given[0]
    assert first["directory"] == f"/mnt/{first['element'].partition('/')[2]}/run-0"
    assert (first["claimed_bytes"], first["expected_from"]) == (50 * GB, "request")
    assert len(first["candidates"]) == 4
    elements = scratch.get("/v1/elements").get_json()["elements"]
    assert [element["open_placements"] for element in elements] == [2, 2, 2, 2]
    assert open_places(scratch) == [place["place_id"] for place in sorted(given, key=_latest, reverse=True)]


def _latest(place: Given) -> tuple[float, str]:
    return place["made_at"], place["place_id"]


def test_a_size_that_is_stated_is_never_given_where_it_does_not_fit_beside_the_claims(
    scratch: Service,
) -> None:
    for _ in range(4):
        ask(scratch, expected_bytes=300 * GB)
    answer = ask(scratch, 409, expected_bytes=300 * GB)
    assert answer["type"].endswith("nothing-fits")
    assert "No directory of union fits" in answer["detail"]
    assert {refusal["reason"] for refusal in answer["refused"]} == {"no-space"}
    assert ask(scratch, expected_bytes=100 * GB)["state"] == "open"


def test_files_count_the_claims_of_places_and_places_those_of_files(scratch: Service) -> None:
    place = ask(scratch, expected_bytes=400 * GB, streams=3)
    ranked = scratch.post(
        "/v1/selections", {"subject": {"user": "bob"}, "expected_bytes": 200 * GB}
    ).get_json()
    assert [refusal["element"] for refusal in ranked["refused"]] == [place["element"]]
    loads = {
        element["id"]: element["open_placements"]
        for element in scratch.get("/v1/elements").get_json()["elements"]
    }
    assert loads[place["element"]] == place["streams"] == 3
    file = {"element": "union/b1", "placed_at": 1.0, "expected_bytes": 150 * GB}
    scratch.open(3, element="union/b1", restore=file)
    assert ask(scratch, expected_bytes=100 * GB)["element"] not in ("union/b1", place["element"])


def test_the_same_request_again_gives_the_same_place(scratch: Service) -> None:
    asked = request_for(expected_bytes=GB)
    first, again = (scratch.post("/v1/places", asked).get_json() for _ in range(2))
    assert first == again
    assert len(open_places(scratch)) == 1
    other = {**asked, "subject": {"user": "bob"}}
    assert scratch.post("/v1/places", other).status_code == 409


def test_a_place_ends_when_it_is_released_and_again_changes_nothing(scratch: Service) -> None:
    place = ask(scratch, expected_bytes=500 * GB)
    path = f"/v1/places/{place['place_id']}"
    ended = scratch.client.delete(path, query_string={"written_bytes": 7}).get_json()
    assert (ended["state"], ended["end_reason"], ended["written_bytes"]) == ("ended", "closed", 7)
    assert scratch.client.delete(path).get_json() == ended
    assert open_places(scratch) == []
    assert open_places(scratch, state="ended") == [place["place_id"]]
    assert ask(scratch, expected_bytes=490 * GB)["element"]
    assert scratch.post(f"{path}/renewals", {}).status_code == 409


def test_a_lease_ends(scratch: Service) -> None:
    place = ask(scratch, lease_seconds=100)
    assert (place["until"], place["renewed_by"]) == (scratch.clock() + 100, None)
    scratch.clock.time += 99
    assert scratch.post(f"/v1/places/{place['place_id']}/renewals", {}).get_json()["until"] == place["until"]
    assert open_places(scratch)
    scratch.clock.time += 2
    assert open_places(scratch) == []


def test_a_place_of_a_process_without_an_agent_ends_within_30_s_of_the_last_renewal(scratch: Service) -> None:
    place = ask(scratch, process=PROCESS)
    assert (place["renewed_by"], place["pid"], place["until"]) == ("caller", 4711, None)
    for _ in range(5):
        scratch.clock.time += 24
        renewed = scratch.post(f"/v1/places/{place['place_id']}/renewals", {"written_bytes": 3}).get_json()
        assert (renewed["state"], renewed["written_bytes"]) == ("open", 3)
    scratch.clock.time += 30
    assert open_places(scratch) == []
    scratch.post(f"/v1/places/{place['place_id']}/renewals", {})  # it was only late
    assert open_places(scratch) == [place["place_id"]]


def test_the_agent_of_the_node_is_asked_until_it_reports_the_place_and_ends_it(scratch: Service) -> None:
    announce(scratch)
    place = ask(scratch, process=PROCESS, expected_bytes=300 * GB)
    assert (place["renewed_by"], place["followed"]) == ("node", False)
    for _ in range(2):  # as long as no answer arrives
        (asked,) = announce(scratch, complete=True)["open"]
        assert (asked["placement_id"], asked["pid"]) == (place["place_id"], 4711)
        assert (asked["place"]["started"], asked["place"]["namespace"]) == (99, 1)
        assert open_places(scratch) == [place["place_id"]], "what the node was not asked about is not lost"
    assert announce(scratch, opened=[report(place)])["refused"] == []
    assert announce(scratch)["open"] is None
    scratch.clock.time += 29
    announce(scratch, opened=[report(place, bytes=290 * GB)])
    followed = scratch.get(f"/v1/places/{place['place_id']}").get_json()
    assert (followed["followed"], followed["written_bytes"]) == (True, 290 * GB)
    scratch.clock.time += 29
    announce(scratch, complete=True, opened=[report(place)])
    assert open_places(scratch)
    announce(scratch, ended=[{"placement_id": place["place_id"], "reason": "exited", "bytes_written": 5}])
    assert open_places(scratch) == []


def test_what_is_written_is_taken_off_the_claim(scratch: Service) -> None:
    place = ask(scratch, expected_bytes=450 * GB)
    others = [element.id for element in scratch.knowledge.site.elements if element.id != place["element"]]
    ask(scratch, 409, expected_bytes=100 * GB, exclude=others)
    scratch.post(f"/v1/places/{place['place_id']}/renewals", {"written_bytes": 400 * GB})
    assert ask(scratch, expected_bytes=100 * GB, exclude=others)["element"] == place["element"]


def test_a_node_that_dies_frees_its_places_within_30_s(scratch: Service) -> None:
    announce(scratch)
    place = ask(scratch, process=PROCESS)
    announce(scratch, opened=[report(place)])
    scratch.clock.time += 30.1
    assert open_places(scratch) == []
    assert announce(scratch, opened=[report(place)])["refused"] == []
    assert open_places(scratch) == [place["place_id"]], "it was only cut off"


def test_an_agent_that_starts_again_is_told_of_all_places_and_keeps_them(scratch: Service) -> None:
    announce(scratch)
    place = ask(scratch, process=PROCESS)
    announce(scratch, opened=[report(place)])
    (asked,) = announce(scratch, incarnation="b" * 16)["open"]
    assert asked["placement_id"] == place["place_id"]
    announce(scratch, incarnation="b" * 16, complete=True, opened=[report(place)])
    assert open_places(scratch) == [place["place_id"]]


def test_a_node_that_watches_a_place_learns_that_it_was_released(scratch: Service) -> None:
    announce(scratch)
    place = ask(scratch, process=PROCESS)
    announce(scratch, opened=[report(place)])
    scratch.client.delete(f"/v1/places/{place['place_id']}")
    answer = announce(scratch, opened=[report(place)])
    assert (answer["unknown"], answer["refused"]) == ([place["place_id"]], [])


def test_places_of_unknown_size_are_given_where_few_like_them_found_no_room(scratch: Service) -> None:
    for size in (350, 360, 340):
        place = ask(scratch, subject={"user": "alice", "application": "sort"})
        scratch.client.delete(f"/v1/places/{place['place_id']}", query_string={"written_bytes": size * GB})
    scratch.runtime.state.ledger.learn()
    place = ask(scratch, subject={"user": "alice", "application": "sort"})
    assert place["expected_from"] == "history"
    assert place["claimed_bytes"] >= 360 * GB
    assert ask(scratch, subject={"user": "bob", "application": "sort"})["claimed_bytes"] is None
    files = scratch.post("/v1/selections", {"subject": {"user": "alice", "application": "sort"}}).get_json()
    assert files["expected_from"] is None, "places say nothing of files"


def test_a_user_has_a_number_of_places_and_their_own_ones(site: Any, serve: Any, tmp_path: Any) -> None:
    file = tmp_path / "tokens"
    tokens = {user: add_token(file, Role.USER, user, user) for user in ("alice", "bob")}
    policies = replace(site.equal(1).policies, places_of_user=2)
    service = serve(
        directories(site, 2), tokens=TokenFile(file), trust_loopback=False, policies=policies
    ).refresh()

    def call(user: str, method: Callable[..., Any], path: str, *body: Any) -> Any:
        return method(path, *body, headers={"Authorization": f"Bearer {tokens[user]}"})

    places = [
        call("alice", service.post, "/v1/places", request_for()).get_json()["place_id"] for _ in range(2)
    ]
    full = call("alice", service.post, "/v1/places", request_for())
    assert (full.status_code, full.get_json()["type"]) == (409, "urn:qstorman:problem:too-many-places")
    assert call("bob", service.post, "/v1/places", request_for()).status_code == 403, "for alice"
    assert call("bob", service.get, "/v1/places").get_json() == {"places": []}
    for method, path in ((service.get, ""), (service.client.delete, "")):
        assert call("bob", method, f"/v1/places/{places[0]}{path}").status_code == 403
    assert call("alice", service.client.delete, f"/v1/places/{places[0]}").status_code == 200
    assert call("alice", service.post, "/v1/places", request_for()).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"lease_seconds": None},
        {"process": PROCESS, "lease_seconds": 5},
        {"process": PROCESS, "subject": {"user": "alice"}},
        {"name": "a/b"},
        {"name": ".."},
        {"streams": 0},
        {"storage_system": "nowhere"},
        {"place_id": "x"},
    ],
)
def test_a_request_that_cannot_be_right_is_refused(scratch: Service, wrong: Any) -> None:
    assert scratch.post("/v1/places", {**request_for(), **wrong}).status_code == 422


def test_only_sets_of_directories_give_places(service: Service) -> None:
    answer = service.post("/v1/places", request_for(), code=422)
    assert "has no directories to give" in answer.get_json()["errors"][0]["message"]


def test_500_places_asked_at_once_by_50_nodes_are_spread(scratch: Service) -> None:
    given: Counter[str] = Counter()

    def node(number: int) -> None:
        client = scratch.app.test_client()
        for _ in range(10):
            body = request_for(process=PROCESS, subject={"user": "alice", "node": f"n{number}"})
            given[client.post("/v1/places", json=body).get_json()["element"]] += 1

    nodes = [threading.Thread(target=node, args=(number,)) for number in range(50)]
    for thread in nodes:
        thread.start()
    for thread in nodes:
        thread.join()
    assert sum(given.values()) == 500
    assert max(given.values()) <= 1.25 * 500 / 4


@pytest.fixture
def begin(site: Any, serve: Any, tmp_path: Any) -> Iterator[Callable[[], Service]]:
    """Returns a service with the ledger of the one before, which has ended."""
    from ses_service.store.database import Database
    from ses_service.store.records import RecordStore

    running: list[Service] = []

    def end() -> None:
        while running:
            journal = running.pop().runtime.journal
            journal.stop()
            journal._store.database.close()

    def begun() -> Service:
        end()
        database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
        store = RecordStore(database)
        service = serve(directories(site, 2), store=store).refresh()
        service.runtime.journal.start()
        running.append(service)
        return service

    yield begun
    end()


def test_a_place_given_soon_after_a_restart_waits_no_longer_for_its_node(
    begin: Callable[[], Service], clock: Any
) -> None:
    """A node that is expected, since files are open there, may take minutes; a place does not."""
    before = begin()
    announce(before)
    first = ask(before, process=PROCESS)
    announce(before, opened=[report(first)])
    service = begin()
    second = ask(service, process=PROCESS)
    assert set(open_places(service)) == {first["place_id"], second["place_id"]}
    clock.time += 30
    assert open_places(service) == []


def test_a_place_that_nobody_renews_ends_also_where_the_service_starts_again_and_again(
    begin: Callable[[], Service], clock: Any
) -> None:
    service = begin()
    left, renewed = (ask(service, process=PROCESS)["place_id"] for _ in range(2))
    for _ in range(4):
        for _ in range(2):
            clock.time += 8
            assert service.post(f"/v1/places/{renewed}/renewals", {}).status_code == 200
        clock.time += 2
        service = begin()
        assert renewed in open_places(service)
    assert open_places(service) == [renewed]
    assert left not in open_places(service)
