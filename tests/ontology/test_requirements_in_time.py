"""Requirements with a time and from profiles: what applies when, from where, and who is told of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ses_service.api.app import create_app
from ses_service.decision.needs import Needs
from ses_service.decision.resolve import index_sets, next_change, resolve
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.times import moment, written
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Kind, Level, Profile, Requirement, RequirementSet, Subject
from ses_service.model.kinds import PREDICTED
from ses_service.process.runtime import ServiceConfig, runtime

SITE = Path(__file__).resolve().parents[2] / "ontology/examples/union-site.ttl"
OPENS, CLOSES = 1_000.0, 2_000.0
ALICE = Subject("alice", "dd", "materials")
ADMIN = {"environ_base": {"REMOTE_ADDR": "127.0.0.1"}}
WRITE, READ, FREE = Kind.CURRENT_WRITE_RATE, Kind.CURRENT_READ_RATE, Kind.FREE_CAPACITY
BUSY = Profile("busy", (Requirement(WRITE, 5.0), Requirement(READ, 7.0)))


def windowed(bound: float, kind: Kind = WRITE) -> Requirement:
    return Requirement(kind, bound, valid_from=OPENS, valid_until=CLOSES)


def required(
    sets: list[RequirementSet], now: float, **asked: Any
) -> dict[str, tuple[float, str, str | None]]:
    resolved = resolve(ALICE, (), index_sets(sets), now, **asked)
    return {need.requirement.kind: (need.requirement.bound, need.level, need.profile) for need in resolved}


@pytest.mark.parametrize(
    ("now", "expected"), [(OPENS - 1, 1.0), (OPENS, 9.0), (CLOSES - 1, 9.0), (CLOSES, 1.0)]
)
def test_outside_its_time_a_requirement_is_as_if_it_were_not_stated(now: float, expected: float) -> None:
    sets = [
        RequirementSet(Level.USER, "alice", (windowed(9.0),)),
        RequirementSet(Level.SITE, "default", (Requirement(WRITE, 1.0),)),
    ]
    assert required(sets, now)[WRITE][0] == expected


def test_own_requirements_go_before_those_of_the_profile_kind_by_kind() -> None:
    sets = [
        RequirementSet(Level.USER, "alice", (Requirement(WRITE, 1.0),), profile=BUSY),
        RequirementSet(Level.VO, "materials", (Requirement(READ, 2.0), Requirement(FREE, 3.0))),
    ]
    assert required(sets, 0.0) == {
        READ: (7.0, "user", "busy"),
        WRITE: (1.0, "user", None),
        FREE: (3.0, "vo", None),
    }


def test_a_profile_fills_in_while_an_own_requirement_does_not_apply() -> None:
    sets = [RequirementSet(Level.USER, "alice", (windowed(9.0),), profile=BUSY)]
    assert required(sets, OPENS)[WRITE] == (9.0, "user", None)
    assert required(sets, CLOSES)[WRITE] == (5.0, "user", "busy")


def test_a_profile_the_request_names_goes_before_every_level() -> None:
    sets = [RequirementSet(Level.APPLICATION, "alice:dd", (Requirement(WRITE, 1.0),))]
    assert required(sets, 0.0, profile=BUSY)[WRITE] == (5.0, "explicit", "busy")


def test_the_next_change_is_the_next_time_anything_begins_or_ends() -> None:
    late = Profile("late", (Requirement(READ, 1.0, valid_from=5_000.0),))
    sets = [
        RequirementSet(Level.USER, "alice", (windowed(9.0),)),
        RequirementSet(Level.USER, "bob", (), profile=late),
    ]
    moments = [OPENS - 1, OPENS, CLOSES, 5_000.0]
    assert [next_change(sets, now) for now in moments] == [OPENS, CLOSES, 5_000.0, float("inf")]


def generation(stated: RequirementSet, user: str = "alice", now: float = 0.0) -> str:
    return Needs(index_sets([stated]), {}, (), lambda _user: {}).of(user, now).generation


def test_agents_are_told_when_a_time_begins_and_when_it_ends() -> None:
    needs = Needs(index_sets([RequirementSet(Level.USER, "alice", (windowed(9.0),))]), {}, (), lambda _: {})
    before, within, after = (needs.of("alice", now).generation for now in (OPENS - 1, OPENS, CLOSES))
    assert before != within
    assert after == before
    assert needs.of("bob", CLOSES).generation == before


def test_what_a_profile_says_counts_for_the_generation() -> None:
    plain = generation(RequirementSet(Level.USER, "alice"))
    assert generation(RequirementSet(Level.USER, "alice", profile=BUSY)) != plain
    overridden = RequirementSet(Level.USER, "alice", BUSY.requirements, profile=BUSY)
    assert generation(overridden) == generation(RequirementSet(Level.USER, "alice", BUSY.requirements))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("2026-12-01T00:00:00.250000Z", 1796083200.25),
    ],
)
def test_moments_are_read_in_any_zone_and_written_in_utc(text: str, seconds: float) -> None:
    assert moment(text) == seconds
    assert moment(written(seconds)) == seconds
    assert str(written(seconds)).endswith("Z")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:59:59.999999+00:00", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_moment_before_or_after_all_years_is_the_nearest_that_can_be_written(text: str, kept: str) -> None:
    assert written(moment(text)) == kept


@pytest.mark.parametrize("text", ["tomorrow", "2026-12-01", "2026-12-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_a_moment_without_zone_or_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no time with a time zone"):
        moment(text)


class Clock:
    now = moment("2026-12-01T00:00:00Z") or 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    embedded = EmbeddedStore(tmp_path_factory.mktemp("knowledge"))
    made = KnowledgeBase(embedded.start())
    made.load_ontology()
    made.load_site(SITE.read_text(), source=SITE.name)
    yield made
    embedded.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(knowledge: KnowledgeBase, clock: Clock) -> Any:
    app = create_app(ServiceConfig(knowledge=knowledge, trust_loopback=True, clock=clock))
    runtime(app).site_manager.refresh()
    return app.test_client()


def effective(client: Any) -> dict[str, Any]:
    answer = client.get("/v1/requirements/effective?user=alice", **ADMIN).get_json()
    return {requirement["kind"]: requirement for requirement in answer["requirements"]}


def test_a_set_with_profile_and_times_is_stored_and_applies_in_its_time(client: Any, clock: Clock) -> None:
    stated = {
        "kind": "current-write-rate",
        "minimum": 300,
        "unit": "MiB/s",
        "valid_from": "2026-12-24T12:00:00+01:00",
        "valid_until": "2026-12-25T00:00:00Z",
    }
    body = {"requirements": [stated], "profile": "checkpoint"}
    answer = client.put("/v1/requirements/user/alice", json=body, **ADMIN)
    assert answer.status_code == 200, answer.get_json()
    runtime(client.application).site_manager.refresh()
    shown = client.get("/v1/requirements/user/alice", **ADMIN).get_json()
    assert shown["profile"] == "checkpoint"
    (kept,) = shown["requirements"]
    assert (kept["minimum"], kept["unit"]) == (314.5728, "MB/s")
    assert (kept["valid_from"], kept["valid_until"]) == ("2026-12-24T11:00:00Z", "2026-12-25T00:00:00Z")
    assert effective(client)["current-write-rate"]["minimum"] == 200.0
    assert effective(client)["current-write-rate"]["profile"] == "checkpoint"
    clock.now = moment("2026-12-24T11:00:00Z") or 0.0
    assert effective(client)["current-write-rate"]["minimum"] == 314.5728
    assert "profile" not in effective(client)["current-write-rate"]
    clock.now = moment("2026-12-25T00:00:00Z") or 0.0
    assert effective(client)["current-write-rate"]["minimum"] == 200.0
    removed = client.put("/v1/requirements/user/alice", json={"requirements": []}, **ADMIN)
    assert removed.get_json()["profile"] is None
    assert effective(client) == {}


def test_what_holds_for_ever_may_be_stated_in_any_zone(client: Any) -> None:
    ever = "9999-12-31T23:59:59-05:00"
    stated = {"kind": "free-capacity", "minimum": 1, "unit": "TB", "valid_until": ever}
    answer = client.put("/v1/requirements/user/alice", json={"requirements": [stated]}, **ADMIN)
    assert answer.status_code == 200, answer.get_json()
    drained = client.post("/v1/elements/union/b1/drain", json={"until": ever}, **ADMIN)
    assert drained.status_code == 200, drained.get_json()
    runtime(client.application).site_manager.refresh()
    (first, *_) = client.get("/v1/elements?limit=1", **ADMIN).get_json()["elements"]
    assert (first["id"], first["state_until"]) == ("union/b1", "9999-12-31T23:59:59Z")
    assert client.post("/v1/elements/union/b1/undrain", json={}, **ADMIN).status_code == 200
    removed = client.put("/v1/requirements/user/alice", json={"requirements": []}, **ADMIN)
    assert removed.status_code == 200, removed.get_json()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            {"requirements": [], "profile": "leisure"},
            "unknown profile 'leisure'; ses requirements kinds lists",
        ),
        (
            {
                "requirements": [
                    {
                        "kind": "free-capacity",
                        "minimum": 1,
                        "unit": "TB",
                        "valid_from": "2026-12-02T00:00:00Z",
                        "valid_until": "2026-12-01T00:00:00Z",
                    }
                ]
            },
            "valid_until is not after valid_from",
        ),
        (
            {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "TB", "valid_from": "soon"}]},
            "no time with a time zone",
        ),
    ],
)
def test_what_cannot_apply_is_refused(client: Any, body: dict[str, Any], says: str) -> None:
    answer = client.put("/v1/requirements/user/alice", json=body, **ADMIN)
    assert answer.status_code == 422
    assert says in str(answer.get_json()["errors"])


def test_a_request_may_name_a_profile(client: Any) -> None:
    body = {"subject": {"user": "alice"}, "profile": "interactive"}
    answer = client.post("/v1/selections", json=body, **ADMIN).get_json()
    assert [
        (requirement["kind"], requirement["minimum"], requirement["level"])
        for requirement in answer["requirements"]
    ] == [("current-read-rate", 50.0, "explicit"), ("current-write-rate", 20.0, "explicit")]


@pytest.mark.parametrize(
    ("kind", "value", "unit", "base"),
    [
        ("current-read-rate", 1, "GiB/s", 2.0**30),
        ("average-write-rate", 250, "kB/s", 250e3),
        ("current-write-rate", 2, "TB/s", 2e12),
        ("free-capacity", 3, "TB", 3e12),
        ("free-capacity", 3, "TiB", 3 * 2.0**40),
        ("free-capacity", 5, "B", 5.0),
    ],
)
def test_units_are_converted_by_the_multipliers_of_the_ontology(
    kind: str, value: float, unit: str, base: float
) -> None:
    assert vocabulary().metric(kind).described.to_base(value, unit) == base


def test_the_load_model_and_the_ontology_agree_on_the_predicted_kinds() -> None:
    described = [metric.kind for metric in vocabulary().metrics.values()]
    assert tuple(described) == PREDICTED
    for stated, known in zip(described, PREDICTED, strict=True):
        assert (stated.unit, stated.size, stated.at_most) == (known.unit, known.size, known.at_most)


def test_the_order_of_levels_is_the_one_the_ontology_states() -> None:
    graph, namespace = vocabulary().graph, "https://w3id.org/qstorman/ontology#"
    rows = graph.query(
        f"SELECT ?name WHERE {{ ?l a <{namespace}Level> ; <{namespace}name> ?name ; "
        f"<{namespace}precedence> ?place }} ORDER BY ?place"
    )
    applying = [level.value for level in Level if level is not Level.PROFILE]  # a profile is taken up
    assert [str(row[0]) for row in rows] == applying  # type: ignore[index]


def test_every_profile_of_the_ontology_requires_something() -> None:
    profiles = vocabulary().profiles
    assert {"checkpoint", "scratch", "archive", "interactive", "streaming"} <= set(profiles)
    for profile in profiles.values():
        assert profile.requirements
        assert profile.label
        assert profile.definition


def test_nodes_hear_of_an_application_that_only_takes_up_a_profile(client: Any) -> None:
    body = {"requirements": [], "profile": "scratch"}
    assert client.put("/v1/requirements/application/alice:sort", json=body, **ADMIN).status_code == 200
    try:
        updates, _ = runtime(client.application).state.updates_for("node", {"alice": ""}, [])
        entries = json.loads(b"[%s]" % b",".join(updates))
        assert [entry["application"] for entry in entries if entry["user"] == "alice"] == [None, "sort"]
        assert {requirement["profile"] for requirement in entries[-1]["requirements"]} == {"scratch"}
        listed = client.get("/v1/requirements?user=alice", **ADMIN).get_json()["sets"]
        assert [(stated["name"], stated["profile"]) for stated in listed] == [("alice:sort", "scratch")]
    finally:
        client.put("/v1/requirements/application/alice:sort", json={"requirements": []}, **ADMIN)
