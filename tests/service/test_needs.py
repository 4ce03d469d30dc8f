"""What agents are sent of the needs of users, and when."""

import json
from typing import Any

import pytest
from ses_service.decision import needs
from ses_service.decision.needs import Needs, code_of, rounded_up
from ses_service.decision.resolve import index_sets
from ses_service.ledger.size_history import SizeHistory, keys_of
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet
from ses_service.model.limits import MAX_APPLICATIONS

NOW = 1_000_000.0
WRITE = Requirement(Kind.CURRENT_WRITE_RATE, 50e6)
READ = Requirement(Kind.CURRENT_READ_RATE, 80e6)


class NeedsOfUsers:
    """The needs of users over some sets, and what is known of sizes."""

    def __init__(self, *sets: RequirementSet) -> None:
        self.history = SizeHistory()
        self.needs = Needs(index_sets(sets), {"alice": "materials"}, ("latency",), self.history.high)

    def entries(self, user: str, now: float = NOW) -> dict[str | None, Any]:
        answer = json.loads(b"[%b]" % self.needs.of(user, now).body)
        return {need["application"]: need for need in answer}


def test_each_application_with_requirements_has_an_entry_beside_the_users_own() -> None:
    answer = NeedsOfUsers(
        RequirementSet(Level.USER, "alice", (WRITE,)),
        RequirementSet(Level.APPLICATION, "alice:sort", (READ,)),
        RequirementSet(Level.APPLICATION, "bob:sort", (READ,)),
    ).entries("alice")
    assert list(answer) == [None, "sort"]
    assert [requirement["kind"] for requirement in answer[None]["requirements"]] == ["current-write-rate"]
    assert [
        (requirement["kind"], requirement["level"], requirement["level_name"])
        for requirement in answer["sort"]["requirements"]
    ] == [("current-read-rate", "application", "alice:sort"), ("current-write-rate", "user", "alice")]


def test_a_vos_requirements_apply_to_its_members() -> None:
    users = NeedsOfUsers(RequirementSet(Level.VO, "materials", (WRITE,)))
    assert users.entries("alice")[None]["requirements"][0]["level_name"] == "materials"
    assert users.entries("bob")[None]["requirements"] == []


def test_room_is_more_than_any_file_of_the_like_took_and_most_where_few_were_seen() -> None:
    users = NeedsOfUsers()
    users.history.learn(keys_of("alice", "sort", "/d/a"), (1e9,), NOW)
    assert users.entries("alice")["sort"]["room_bytes"] >= 3e9
    for _ in range(40):
        users.history.learn(keys_of("alice", "sort", "/d/a"), (1e9,), NOW)
    entries = users.entries("alice", NOW + 2)
    assert 1e9 <= entries["sort"]["room_bytes"] <= 1.3e9
    assert entries["sort"]["expected_from"] == "history"
    assert entries[None]["room_bytes"] == entries["sort"]["room_bytes"]
    assert users.entries("bob")[None]["room_bytes"] is None


def test_the_generation_changes_with_what_is_needed_and_with_nothing_else() -> None:
    first, other = NeedsOfUsers(RequirementSet(Level.USER, "alice", (WRITE,))), NeedsOfUsers()
    generation = first.needs.of("alice", NOW).generation
    assert first.needs.of("alice", NOW + 60).generation == generation
    assert other.needs.of("alice", NOW).generation != generation
    first.history.learn(keys_of("alice", None, None), (5e9,), NOW)
    assert first.needs.of("alice", NOW + 60.2).generation == generation  # asked a moment ago
    assert first.needs.of("alice", NOW + 62).generation != generation


def test_names_that_a_node_makes_up_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "MAX_USERS", 10)
    users = NeedsOfUsers(RequirementSet(Level.USER, "alice", (WRITE,)))
    generation = users.needs.of("alice", NOW).generation
    for number in range(1000):
        users.needs.of(f"user{number}", NOW)
    assert len(users.needs._known) <= 10
    assert users.needs.of("alice", NOW).generation == generation


def test_a_requirement_that_ends_is_not_sent_any_more() -> None:
    until = Requirement(Kind.CURRENT_WRITE_RATE, 50e6, valid_until=NOW + 10)
    users = NeedsOfUsers(RequirementSet(Level.USER, "alice", (until,)))
    assert users.entries("alice")[None]["requirements"]
    assert not users.entries("alice", NOW + 11)[None]["requirements"]


def test_there_are_no_more_entries_than_a_node_has_room_for() -> None:
    sets = [RequirementSet(Level.APPLICATION, f"alice:a{n}", (READ,)) for n in range(100)]
    assert len(NeedsOfUsers(*sets).entries("alice")) == MAX_APPLICATIONS + 1


def test_a_kind_the_site_states_has_its_place_and_one_it_does_not_has_none() -> None:
    latency, iops = Kind("latency", "ms", 1e-3, at_most=True), Kind("iops", "1/s", 1.0)
    assert code_of(latency, ("latency",)) == 16
    assert code_of(iops, ("latency",)) == 20


@pytest.mark.parametrize("size", [0.0, 1.0, 1000.0, 123456789.0])
def test_rounding_up_adds_a_fifth_at_most_and_is_done_once(size: float) -> None:
    up = rounded_up(size)
    assert size <= up <= 1.2 * size + 1
    assert rounded_up(up) <= up + 1
