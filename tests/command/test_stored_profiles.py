"""Profiles people store in the knowledge base: taken up by name, by whom they belong to, and undone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from knowledge_service import KnowledgeService, knowledge_service

LOG = Path(__file__).parents[1] / "streaming" / "darshan" / "shared-checkpoint.txt"


@pytest.fixture(scope="module")
def ses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("profiles")) as running:
        yield running


def test_a_stored_profile_is_taken_up_and_followed_when_it_changes(ses: KnowledgeService) -> None:
    ses("profile", "--darshan", str(LOG), "--save", "profile", "alice:simulate", who="alice", code=0)
    line = ses("requirements", "profile", "alice:simulate", who="alice").stdout
    assert "current-write-rate>=6400MB/s" in line
    ses("requirements", "set", "user", "alice", "--profile", "alice:simulate", who="alice", code=0)

    def minimum() -> float:
        answer = json.loads(ses("requirements", "effective", "--user", "alice", "--json", who="alice").stdout)
        return float(answer["requirements"][0]["minimum"])

    assert minimum() == 6400
    ses(
        "profile",
        "--darshan",
        str(LOG),
        "--margin",
        "1",
        "--save",
        "profile",
        "alice:simulate",
        who="alice",
        code=0,
    )
    assert minimum() == 5200


def test_a_profile_is_forecast_by_its_name(ses: KnowledgeService) -> None:
    ses("profile", "--darshan", str(LOG), "--save", "profile", "alice:forecast", who="alice")
    result = ses("advise", "--profile", "alice:forecast", "--user", "alice", who="alice")
    assert result.exit_code in (0, 5), result.output  # 5: nobody measures the site of this test
    unmeasured = ses("advise", "--profile", "checkpoint", who="alice", code=2)
    assert "was not measured" in unmeasured.stderr
    assert ses("advise", "--profile", "alice:nothing", who="alice").exit_code != 0


def test_nobody_writes_the_profiles_of_others_or_of_the_site(ses: KnowledgeService) -> None:
    for name in ("bob:simulate", "simulate", "%climate:simulate"):
        result = ses("profile", "--darshan", str(LOG), "--save", "profile", name, who="alice")
        assert result.exit_code != 0
        assert "name it alice:simulate" in result.stderr
        ses("profile", "--darshan", str(LOG), "--save", "profile", name, code=0)
    for name in ("checkpoint", "alice:No", "a b:c"):
        assert ses("profile", "--darshan", str(LOG), "--save", "profile", name).exit_code != 0


def test_a_removed_profile_requires_nothing_and_comes_back_by_undo(ses: KnowledgeService) -> None:
    ses("profile", "--darshan", str(LOG), "--save", "profile", "alice:gone", who="alice")
    ses("requirements", "set", "profile", "alice:gone", "--clear", who="alice", code=0)
    assert ses("requirements", "profile", "alice:gone", who="alice").exit_code != 0
    history = ses("kb", "history", "--subject", "profile/alice:gone", "--json", who="alice")
    number = json.loads(history.stdout)["changes"][0]["number"]
    ses("kb", "undo", str(number), who="alice", code=0)
    vocabulary = json.loads(ses("requirements", "kinds", "--json", who="alice").stdout)
    back = next(profile for profile in vocabulary["profiles"] if profile["profile"] == "alice:gone")
    assert back["measured"]["written_bytes"] > 0


def test_an_exported_set_that_takes_one_up_is_imported_again(ses: KnowledgeService) -> None:
    ses("profile", "--darshan", str(LOG), "--save", "profile", "alice:kept")
    ses("requirements", "set", "user", "carol", "--profile", "alice:kept", code=0)
    whole = ses("kb", "export").stdout
    assert 'level "profile"' in whole
    assert ses("kb", "import", "-", text=whole).exit_code == 0
    alone = """@prefix qsm: <https://w3id.org/qstorman/ontology#> .
<https://w3id.org/qstorman/requirements/user/dave> a qsm:RequirementSet ;
    qsm:level "user" ; qsm:subject "dave" ;
    qsm:profile <https://w3id.org/qstorman/requirements/profile/alice%3Akept> .
"""
    ses("kb", "import", "-", text=alone, code=0)
    answer = json.loads(ses("requirements", "get", "user", "dave", "--json").stdout)
    assert answer["profile"] == "alice:kept"
