"""``ses status``, ``elements`` and ``rank``: what they show, ask and return."""

import pytest
from fake_selection_service import candidate, element, observation, requirement, storage_system


@pytest.fixture(autouse=True)
def two_elements(service):
    seen = observation("union/b1", exporter="http://127.0.0.1:9/metrics")
    service.elements = [
        element("b1", "/srv/union", "/srv/b1", seen),
        element("b2", "/srv/union", "/srv/b2", None),
    ]


def test_status_counts_elements_and_placements(ses):
    data = ses.json("status")
    assert data["ready"] is True
    assert data["elements"] == 2
    assert data["open_placements"] == 2
    assert data["knowledge_base"]["revision"] == "7"
    text = ses("status").output
    assert "ready" in text
    assert "1 with fresh data" in text


def test_status_fails_and_names_the_check_when_the_service_is_not_ready(ses, service):
    service.ready = False
    service.checks = [{"name": "knowledge-base", "ok": False, "detail": "cannot be reached"}]
    result = ses("status", code=1)
    assert "NOT ready" in result.output
    assert "knowledge-base" in result.output
    assert "cannot be reached" in result.output
    assert ses.json("status", code=1)["ready"] is False


def test_status_says_what_a_ready_service_does_without(ses, service):
    service.checks = [{"name": "monitor", "ok": False, "detail": "cannot be reached"}]
    result = ses("status", code=0)
    assert "ready, but not ok: monitor" in result.output
    assert ses.json("status")["degraded"] is True


def test_elements_show_what_a_newcomer_would_get_beside_the_nominal_rate(ses):
    row = next(line for line in ses("elements").output.splitlines() if "union/b1" in line)
    assert "45.0 of 90" in row
    assert "0.4 s" in row


def test_elements_say_what_keeps_files_away(ses, service):
    service.elements[0]["observation"] |= {"degraded": True, "no_create": True}
    row = next(line for line in ses("elements").output.splitlines() if "union/b1" in line)
    assert "active, degraded, no new files" in row


def test_an_element_the_monitor_never_saw_has_no_data_age(ses):
    row = next(line for line in ses("elements").output.splitlines() if "union/b2" in line)
    assert "none" in row


def test_elements_of_one_system_only(ses, service):
    service.elements[1]["storage_system"] = "other"
    assert [row["id"] for row in ses.json("elements", "--system", "union")["elements"]] == ["union/b1"]


def test_elements_of_a_system_that_does_not_exist_is_not_found_and_names_those_that_do(ses, service):
    service.storage_systems = [storage_system("/srv/union")]
    result = ses("elements", "--system", "nowhere", code=5)
    assert "union" in result.output


def test_rank_asks_with_subject_and_needs_as_typed(ses, service):
    service.selection["candidates"] = [candidate(1, "b1", 0.0, 45.0, 20.0)]
    ses(
        "rank",
        "--user",
        "alice",
        "--application",
        "dd",
        "--write",
        "20MB/s",
        "--free",
        "2 GB",
        "--hard",
        "--exclude",
        "union/b2",
        "--size",
        "1.5GiB",
        "average-read-rate>=5MB/s,weight=2",
        code=0,
    )
    (asked,) = [body for method, path, body in service.requests if path == "/v1/selections"]
    assert asked["subject"] == {"user": "alice", "application": "dd", "vo": None}
    assert asked["exclude"] == ["union/b2"]
    assert asked["expected_bytes"] == round(1.5 * 2**30)
    by_kind = {sent["kind"]: sent for sent in asked["requirements"]}
    assert by_kind["average-read-rate"] == requirement("average-read-rate", 5.0, "MB/s", weight=2.0)
    assert by_kind["current-write-rate"]["strictness"] == "hard"
    assert (by_kind["free-capacity"]["minimum"], by_kind["free-capacity"]["unit"]) == (2.0, "GB")


def test_rank_shows_distance_shortfall_refusal_and_level(ses, service):
    service.selection.update(
        requirements=[requirement("current-write-rate", 50.0, "MB/s", level="user", level_name="alice")],
        candidates=[candidate(1, "b1", 0.1, 45.0, 50.0)],
        refused=[{"element": "union/b2", "reason": "draining", "detail": "An administrator drains it."}],
        notes=["the monitor was not reachable"],
    )
    text = ses("rank", "--user", "alice").output
    assert "current-write-rate>=50MB/s  (user alice)" in text
    assert "0.100" in text
    assert "current-write-rate 45.0 MB/s, needs 50.0" in text
    assert "An administrator drains it." in text
    assert "the monitor was not reachable" in text


def test_rank_without_a_candidate_is_not_found(ses, service):
    service.selection["refused"] = [{"element": "union/b1", "reason": "no-space", "detail": "Full."}]
    result = ses("rank", code=5)
    assert "Full." in result.output


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["Speed?>=2MB/s"], "'Speed?' cannot be a kind"),
        (["free-capacity>=2GB,from=soon"], "'soon' is not a time"),
        (["free-capacity=2GB"], "is not a requirement"),
        (["free-capacity>=lots"], "is not a quantity"),
        (["free-capacity>=2GB,firm"], "'firm'"),
        (["--write", "20"], "is not a quantity"),
        (["--size", "2parsec"], "parsec"),
    ],
)
def test_what_cannot_be_understood_is_said_and_never_sent(ses, service, typed, said):
    result = ses("rank", *typed, code=2)
    assert said in result.output
    assert not service.requests


def test_output_off_a_terminal_keeps_to_a_width_that_is_asked_for(ses, service):
    service.elements[0]["id"] = "union/größe"
    result = ses("elements", COLUMNS="90", code=0)
    assert "union/größe" in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 90


def test_what_a_narrow_terminal_has_no_room_for_is_named_and_shown_with_wide(ses):
    narrow, wide = (ses("elements", *more, COLUMNS="80").output.splitlines() for more in ([], ["--wide"]))
    assert max(map(len, narrow)) <= 80
    note = narrow[-1]
    assert note.startswith("Not shown in 80 columns: ")
    assert note.endswith("Shown with --wide.")
    left_out = note.removeprefix("Not shown in 80 columns: ").partition(".")[0].split(", ")
    assert left_out
    for title in left_out:
        assert title not in narrow[0]
        assert title in wide[0]
    assert "Not shown" not in wide[-1]


@pytest.mark.parametrize("command", [("elements",), ("rank",), ("nodes", "rank"), ("files",)])
def test_a_pipe_gets_one_whole_line_for_each_row(ses, service, command):
    service.elements[0]["id"] = f"union/größe-{'x' * 300}"
    narrow, piped = ses(*command, COLUMNS="80"), ses(*command, COLUMNS="")
    assert narrow.exit_code == piped.exit_code
    assert "Not shown" not in piped.output
    if command == ("elements",):
        rows = [line for line in piped.output.splitlines() if "union/" in line]
        assert len(rows) == len(service.elements)
        assert service.elements[0]["id"] in rows[0]


def test_a_ranking_takes_up_a_profile(ses, service):
    assert ses("rank", "--profile", "checkpoint").exit_code in (0, 5)
    (asked,) = [body for _, path, body in service.requests if path == "/v1/selections"]
    assert asked["profile"] == "checkpoint"
