"""POST /v1/selections: the question, its answer, and what a wrong question gets."""

import re
from dataclasses import replace
from typing import Any

import pytest
from ses_service.model.entities import Level, Observation
from units import RATES, SIZES

Service = Any
ASK = {"subject": {"user": "alice"}}
WRITE_50 = {"kind": "current-write-rate", "minimum": 50, "unit": "MB/s"}


def test_a_selection_ranks_explains_and_books_nothing(service: Service, clock: Any) -> None:
    service.see(
        [
            Observation("union/b0", clock() - 0.5, 0, 90e6, free_bytes=5e9),
            Observation("union/b1", clock() - 0.5, 0, 0, free_bytes=5e9),
            Observation("union/b2", clock() - 0.5, 0, 0, free_bytes=5e9, read_only=True),
        ]
    )
    answer = service.post("/v1/selections", {**ASK, "requirements": [WRITE_50]}, code=200)
    body = answer.get_json()
    first, second = body["candidates"]
    assert (first["rank"], first["element"], first["distance"]) == (1, "union/b1", 0)
    assert first["predicted"] == [
        {"kind": "current-write-rate", "value": 100, "unit": "MB/s", "minimum": 50, "shortfall": 0}
    ]
    assert (first["free_gb"], first["age_seconds"], first["basis"]) == (5, 0.5, "monitor+ledger")
    assert (first["storage_system"], first["backend"], first["target"]) == ("union", "mergerfs", "/mnt/b1")
    assert second["available"]["write_mb_s"] == pytest.approx(100 / 1.9)
    assert body["refused"] == [
        {"element": "union/b2", "reason": "read-only", "detail": "The monitor sees it mounted read-only."}
    ]
    assert body["decided_at"] == clock()
    elements = service.get("/v1/elements").get_json()["elements"]
    assert {element["open_placements"] for element in elements} == {0}


@pytest.mark.parametrize(
    "spelling", ["write", "current write rate", "CURRENT_WRITE_RATE", "setCurrentWriteTransferRate"]
)
def test_a_kind_may_be_spelled_in_several_ways_and_is_shown_in_one(service: Service, spelling: str) -> None:
    asked = {**ASK, "requirements": [{**WRITE_50, "kind": spelling}]}
    (requirement,) = service.post("/v1/selections", asked).get_json()["requirements"]
    assert (requirement["kind"], requirement["minimum"]) == ("current-write-rate", 50)


def test_one_kind_in_two_spellings_is_stated_twice_and_a_slip_gets_a_hint(service: Service) -> None:
    twice = {**ASK, "requirements": [WRITE_50, {**WRITE_50, "kind": "write"}]}
    assert "current-write-rate is stated more than once" in service.post("/v1/selections", twice).text
    slip = {**ASK, "requirements": [{**WRITE_50, "kind": "wirte"}]}
    assert "did you mean current-write-rate?" in service.post("/v1/selections", slip).text


def test_a_draft_counts_in_place_of_the_stored_set_and_is_not_stored(service: Service, site: Any) -> None:
    service.knowledge.put(Level.APPLICATION, "alice:dd", site.read(7))
    service.knowledge.put(Level.USER, "alice", site.write(9))
    service.refresh()
    asked: Any = {"subject": {"user": "alice", "application": "dd"}}

    def resolved(**draft: Any) -> set[tuple[str, float, str]]:
        answer = service.post("/v1/selections", {**asked, **draft}).get_json()["requirements"]
        return {(requirement["kind"], requirement["minimum"], requirement["level"]) for requirement in answer}

    draft = {"level": "application", "name": "alice:dd", "requirements": [WRITE_50]}
    assert resolved(draft=draft) == {("current-write-rate", 50, "application")}
    assert resolved(draft={"level": "application", "name": "alice:dd"}) == {("current-write-rate", 9, "user")}
    assert resolved() == {("current-read-rate", 7, "application"), ("current-write-rate", 9, "user")}
    wrong = service.post("/v1/selections", {**asked, "draft": {**draft, "profile": "chekpoint"}}, code=422)
    assert "json.draft.profile" in wrong.text


def test_fast_elements_are_kept_for_what_others_require(serve: Any, site: Any, clock: Any) -> None:
    elements = site.element("a", write=50), site.element("b", write=90)
    service = serve(site(*elements)).refresh()
    asked = {**ASK, "requirements": [{**WRITE_50, "minimum": 20}]}

    def order(level: Level, name: str, *stated: Any) -> list[str]:
        service.knowledge.put(level, name, *stated)
        service.refresh()
        service.see([Observation(f"union/{letter}", clock() - 0.5, 0, 0, free_bytes=5e9) for letter in "ab"])
        candidates = service.post("/v1/selections", asked).get_json()["candidates"]
        return [
            *(candidate["element"] for candidate in candidates),
            candidates[1]["ordered_by"],
            candidates[1]["after"],
        ]

    unkept = ["union/b", "union/a", "share", "a stream would get less: 50 MB/s, before it 90 MB/s"]
    why = "is kept for files that ask for more: writes 90 MB/s, that before it 50 MB/s"
    assert order(Level.PROFILE, "unused", site.write(70)) == unkept
    assert order(Level.USER, "bob", replace(site.write(70), valid_until=clock())) == unkept
    assert order(Level.VO, "materials", site.write(70)) == ["union/a", "union/b", "kept", why]
    assert order(Level.VO, "materials") == unkept


def test_requirements_come_from_the_levels_that_state_them(service: Service, site: Any) -> None:
    service.knowledge.put(Level.APPLICATION, "alice:dd", site.read(7))
    service.knowledge.put(Level.USER, "alice", site.read(1), site.free(2, hard=True))
    service.refresh()
    body = service.post(
        "/v1/selections", {"subject": {"user": "alice", "application": "dd"}, "requirements": [WRITE_50]}
    ).get_json()
    resolved = [
        (
            requirement["kind"],
            requirement["minimum"],
            requirement["unit"],
            requirement["level"],
            requirement["level_name"],
        )
        for requirement in body["requirements"]
    ]
    assert resolved == [
        ("current-read-rate", 7, "MB/s", "application", "alice:dd"),
        ("current-write-rate", 50, "MB/s", "explicit", "request"),
        ("free-capacity", 2, "GB", "user", "alice"),
    ]
    assert body["requirements"][2]["strictness"] == "hard"


def test_the_home_vo_of_a_user_applies(serve: Any, site: Any) -> None:
    environment = replace(site.equal(1).environment, home_vo={"alice": "materials"})
    service = serve(environment)
    service.knowledge.put(Level.VO, "materials", site.write(9))
    body = service.refresh().post("/v1/selections", ASK).get_json()
    assert [(requirement["level"], requirement["level_name"]) for requirement in body["requirements"]] == [
        ("vo", "materials")
    ]


def test_units_are_converted(service: Service) -> None:
    asked = [
        {"kind": "current-read-rate", "minimum": 1, "unit": "GiB/s"},
        {"kind": "free-capacity", "minimum": 500, "unit": "MB"},
    ]
    body = service.post("/v1/selections", {**ASK, "requirements": asked}).get_json()
    assert [(requirement["minimum"], requirement["unit"]) for requirement in body["requirements"]] == [
        (1073.741824, "MB/s"),
        (0.5, "GB"),
    ]


@pytest.mark.parametrize(
    ("change", "location", "says"),
    [
        ({"subject": None}, "json.subject", "valid"),
        ({"subject": {}}, "json.subject.user", "required"),
        ({"subject": {"user": ""}}, "json.subject.user", "at least 1"),
        ({"subject": {"user": "a\nb"}}, "json.subject.user", "pattern"),
        ({"subject": {"user": "\ud800"}}, "json.subject.user", "unicode"),
        ({"subject": {"user": "a", "uid": 0}}, "json.subject.uid", "not permitted"),
        ({"unknown": 1}, "json.unknown", "not permitted"),
        ({"limit": -1}, "json.limit", "greater"),
        ({"limit": "3"}, "json.limit", "integer"),
        ({"expected_bytes": -5}, "json.expected_bytes", "greater"),
        ({"exclude": "union/b0"}, "json.exclude", "list"),
        ({"requirements": [{**WRITE_50, "kind": "colour"}]}, "json.requirements.0.kind", "current-read-rate"),
        (
            {"requirements": [{**WRITE_50, "unit": "furlongs"}]},
            "json.requirements.0",
            "unknown unit 'furlongs'",
        ),
        ({"requirements": [{**WRITE_50, "unit": "GB"}]}, "json.requirements.0", "unknown unit 'GB'"),
        ({"requirements": [{**WRITE_50, "unit": "mb/S"}]}, "json.requirements.0", "did you mean 50MB/s?"),
        ({"requirements": [{**WRITE_50, "minimum": -1}]}, "json.requirements.0.minimum", "greater"),
        ({"requirements": [{**WRITE_50, "minimum": "50"}]}, "json.requirements.0.minimum", "number"),
        ({"requirements": [{**WRITE_50, "weight": 0}]}, "json.requirements.0.weight", "greater"),
        ({"requirements": [{**WRITE_50, "strictness": "very"}]}, "json.requirements.0.strictness", "soft"),
        ({"requirements": [WRITE_50, WRITE_50]}, "json", "stated more than once"),
    ],
)
def test_a_wrong_question_is_refused_where_it_is_wrong(
    service: Service, change: dict[str, Any], location: str, says: str
) -> None:
    answer = service.post("/v1/selections", {**ASK, **change}, code=422)
    problem = answer.get_json()
    assert problem["type"] == "urn:qstorman:problem:invalid-request"
    located = {error["location"]: error["message"] for error in problem["errors"]}
    assert says in located[location], located
    assert "Value error" not in located[location]


@pytest.mark.parametrize(
    ("name", "says"),
    [("storage_system", "no storage system 'nowhere'"), ("profile", "unknown profile 'nowhere'")],
)
@pytest.mark.parametrize("path", ["/v1/selections", "/v1/nodes/selections"])
def test_a_name_that_nobody_describes_is_told_from_what_is_malformed(
    service: Service, path: str, name: str, says: str
) -> None:
    answer = service.post(path, {"subject": {"user": "a"}, name: "nowhere"})
    problem = answer.get_json()
    assert (answer.status_code, problem["type"]) == (422, "urn:qstorman:problem:unknown-name")
    (error,) = problem["errors"]
    assert error["location"] == f"json.{name}"
    assert says in error["message"]


@pytest.mark.parametrize(
    ("kind", "typed", "right"),
    [
        *(("current-write-rate", *item) for item in RATES.items()),
        *(("free-capacity", *item) for item in SIZES.items()),
    ],
)
def test_a_wrong_unit_is_answered_with_the_one_that_was_meant(
    service: Service, kind: str, typed: str, right: str
) -> None:
    number, unit = re.fullmatch(r"([0-9.]+) ?(.*)", typed).groups()
    asked = {"kind": kind, "minimum": float(number), "unit": unit}
    answer = service.post("/v1/selections", {"subject": {"user": "a"}, "requirements": [asked]})
    (error,) = answer.get_json()["errors"]
    match = re.search(r"did you mean (\S+)\?", error["message"])
    assert (match[1] if match else "") == right
    assert ("counts bits" in error["message"]) == ("bit" in typed or "Mb/s" in typed)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused(service: Service, number: str) -> None:
    text = '{"subject":{"user":"a"},"expected_bytes":' + number + "}"
    answer = service.client.post("/v1/selections", data=text, content_type="application/json")
    assert answer.status_code == 422


def test_before_the_site_is_read_the_service_says_so(serve: Any) -> None:
    service = serve(1)
    answer = service.post("/v1/selections", ASK)
    assert (answer.status_code, answer.get_json()["type"]) == (503, "urn:qstorman:problem:not-ready")


def test_a_silent_monitor_is_reported_in_the_notes(service: Service) -> None:
    notes = service.post("/v1/selections", ASK).get_json()["notes"]
    assert "No observations: no monitor is configured." in notes


def test_a_lost_knowledge_base_is_reported_with_the_age_of_what_is_used(service: Service, clock: Any) -> None:
    from ses_service.knowledge.errors import StoreUnavailableError

    service.knowledge.broken = StoreUnavailableError("connection refused")
    clock.time += 42
    service.runtime.site_manager.step()
    answer = service.post("/v1/selections", ASK, code=200)
    assert "Site and requirements are 42 s old: connection refused." in answer.get_json()["notes"]
