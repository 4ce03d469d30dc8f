"""``ses requirements``: what is typed is what is stored, and the change is shown."""

import pytest
from fake_selection_service import requirement


def test_set_stores_what_was_typed_and_shows_old_and_new(ses, service):
    service.sets["user", "alice"] = {
        **service.set_of("user", "alice"),
        "revision": 3,
        "requirements": [
            requirement("current-write-rate", 10.0, "MB/s"),
            requirement("free-capacity", 1.0, "GB"),
        ],
    }
    result = ses("requirements", "set", "user", "alice", "current-write-rate>=20MB/s,hard", code=0)
    assert service.sets["user", "alice"]["requirements"] == [
        requirement("current-write-rate", 20.0, "MB/s", strictness="hard")
    ]
    assert "current-write-rate>=10MB/s  ->  current-write-rate>=20MB/s,hard" in result.output
    assert "free-capacity>=1GB  ->  removed" in result.output
    assert "revision 3 -> 4" in result.output


def test_an_exclamation_mark_makes_a_requirement_hard_as_in_the_environment(ses, service):
    ses("requirements", "set", "user", "alice", "free-capacity>=20GB!,weight=2")
    assert service.sets["user", "alice"]["requirements"] == [
        requirement("free-capacity", 20.0, "GB", weight=2.0, strictness="hard")
    ]


@pytest.mark.parametrize("between", [" ", ",", ", ", "\n"])
def test_one_text_states_several_as_in_the_environment(ses, service, between):
    text = between.join(("write>=20MB/s,weight=3", "free >= 2 TB,hard", "average-read>=1GB/s"))
    result = ses("requirements", "set", "user", "alice", text, "read>=5MB/s!", code=2)
    assert "unknown unit" in result.output  # the fake knows neither TB nor GB/s: all reached it
    *_, (_, _, body) = service.requests
    asked = [(row["kind"], row["minimum"], row["unit"], row["strictness"]) for row in body["requirements"]]
    assert asked == [
        ("write", 20.0, "MB/s", "soft"),
        ("free", 2.0, "TB", "hard"),
        ("average-read", 1.0, "GB/s", "soft"),
        ("read", 5.0, "MB/s", "hard"),
    ]


def test_set_takes_kind_and_minimum_as_options(ses, service):
    data = ses.json(
        "requirements",
        "set",
        "application",
        "alice:dd",
        "--kind",
        "free-capacity",
        "--minimum",
        "2GB",
        "--weight",
        "3",
        "--hard",
    )
    assert service.sets["application", "alice:dd"]["requirements"] == [
        requirement("free-capacity", 2.0, "GB", weight=3.0, strictness="hard")
    ]
    assert data["old"]["revision"] == 0
    assert data["new"]["revision"] == 1


def test_clear_removes_all(ses, service):
    ses("requirements", "set", "vo", "materials", "free-capacity>=1GB")
    assert ses("requirements", "set", "vo", "materials", "--clear").exit_code == 0
    assert service.sets["vo", "materials"]["requirements"] == []


def test_set_without_anything_to_set_changes_nothing(ses, service):
    assert ses("requirements", "set", "user", "alice").exit_code == 2
    assert ses("requirements", "set", "user", "alice", "--clear", "free-capacity>=1GB").exit_code == 2
    assert ses("requirements", "set", "user", "alice", "--kind", "free-capacity").exit_code == 2
    assert not [request for request in service.requests if request[0] == "PUT"]


def test_an_unknown_unit_is_refused_in_the_service_s_words(ses):
    result = ses("requirements", "set", "user", "alice", "current-write-rate>=20furlong/s", code=2)
    assert result.output.count("unknown unit 'furlong/s'") == 1


def test_a_change_by_somebody_else_in_between_is_not_overwritten(ses, service):
    service.steal_next_revision = True
    result = ses("requirements", "set", "user", "alice", "free-capacity>=1GB", code=1)
    assert "try again" in result.output
    assert ("user", "alice") not in service.sets


def test_get_shows_one_set_or_those_of_a_user(ses):
    ses("requirements", "set", "user", "alice", "free-capacity>=1GB")
    ses("requirements", "set", "user", "bob", "free-capacity>=2GB")
    assert "free-capacity>=1GB" in ses("requirements", "get", "user", "alice").output
    mine = ses("requirements", "get", "--user", "bob").output
    assert "free-capacity>=2GB" in mine
    assert "alice" not in mine.replace("by alice", "")
    assert ses.json("requirements", "get", "user", "alice")["revision"] == 1
    assert len(ses.json("requirements", "get")["sets"]) == 2


def test_a_level_without_a_name_is_not_understood(ses):
    assert ses("requirements", "get", "user").exit_code == 2


def test_effective_names_the_level_of_each_requirement(ses, service):
    service.selection["requirements"] = [
        requirement("free-capacity", 1.0, "GB", level="vo", level_name="materials")
    ]
    text = ses("requirements", "effective", "--user", "nobody").output
    assert "free-capacity>=1GB" in text
    assert "vo materials" in text


def test_effective_shows_what_the_service_notes_of_the_question(ses, service):
    service.selection["notes"] = ["Neither the site nor a requirement set has a VO nope."]
    text = ses("requirements", "effective", "--vo", "nope").output
    assert text.endswith("Note: Neither the site nor a requirement set has a VO nope.\n")


def test_effective_says_what_does_not_count_and_why(ses, service):
    hidden = requirement("free-capacity", 2.0, "GB", level="site", level_name="default")
    service.passed_over = [{**hidden, "reason": "hidden by the requirement of user alice"}]
    text = " ".join(ses("requirements", "effective", "--user", "alice").output.split())
    assert "free-capacity>=2GB" in text
    assert "hidden by the requirement of user alice" in text


def test_a_maximum_and_a_time_are_typed_as_they_are_shown(ses, service):
    typed = "latency<=2ms,hard,weight=3,from=2026-12-01T00:00:00Z,until=2026-12-02T01:00:00+01:00"
    service.takes_units = ("ms",)
    ses("requirements", "set", "user", "alice", typed, code=0)
    (stored,) = service.sets["user", "alice"]["requirements"]
    assert stored == {
        "kind": "latency",
        "maximum": 2.0,
        "unit": "ms",
        "weight": 3.0,
        "strictness": "hard",
        "valid_from": "2026-12-01T00:00:00Z",
        "valid_until": "2026-12-02T00:00:00Z",
    }
    shown = ses("requirements", "get", "user", "alice").output
    assert "latency<=2ms,hard,weight=3,from=2026-12-01T00:00:00Z,until=2026-12-02T00:00:00Z" in "".join(
        shown.split()
    )


def test_a_set_may_be_a_profile_and_what_differs_from_it(ses, service):
    assert ses("requirements", "set", "user", "alice", "--profile", "checkpoint").exit_code == 0
    assert service.sets["user", "alice"]["profile"] == "checkpoint"
    assert "profile checkpoint" in ses("requirements", "get", "user", "alice").output
    result = ses("requirements", "set", "user", "alice", "free-capacity>=1GB")
    assert service.sets["user", "alice"]["profile"] is None
    assert "profile checkpoint  ->  removed" in result.output


VOCABULARY = {
    "kinds": [
        {
            "kind": "latency",
            "label": "latency",
            "definition": "How long a small read may take.",
            "bound": "maximum",
            "unit": "ms",
            "units": ["us", "ms", "s"],
            "sizes": {"us": 0.001, "ms": 1.0, "s": 1000.0},
            "default_weight": 2.0,
        }
    ],
    "profiles": [
        {
            "profile": "checkpoint",
            "label": "checkpoint",
            "definition": "Saves its state.",
            "requirements": [
                requirement("current-write-rate", 2_000_000.0, "MB/s", weight=3.0, strictness="hard")
            ],
        }
    ],
}


def test_kinds_shows_what_the_service_knows(ses, service):
    service.vocabulary = VOCABULARY
    shown = ses("requirements", "kinds").output
    assert "latency" in shown
    assert "at most" in shown
    assert "us ms s" in shown
    assert "current-write-rate>=2000000MB/s" in shown
    assert ses.json("requirements", "kinds") == service.vocabulary


def test_a_profile_is_printed_as_one_run_takes_it(ses, service):
    service.vocabulary = VOCABULARY
    result = ses("requirements", "profile", "checkpoint")
    assert result.output == "current-write-rate>=2000000MB/s,hard,weight=3\n"
    stated = VOCABULARY["profiles"][0]["requirements"]
    assert ses.json("requirements", "profile", "checkpoint")["requirements"] == stated


def test_an_unknown_profile_is_refused_with_the_known_ones(ses, service):
    service.vocabulary = VOCABULARY
    result = ses("requirements", "profile", "nonsense")
    assert (result.exit_code, result.output) == (
        5,
        "Error: There is no profile 'nonsense'. Profiles are: checkpoint.\n",
    )
