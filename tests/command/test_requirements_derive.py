"""``ses requirements derive``: a sentence, its arithmetic, and what is stored, by a real service."""

import json
from collections.abc import Iterator

import pytest
from knowledge_service import KnowledgeService, knowledge_service

SENTENCE = "checkpoint of 4 TB every 30 min by 512 ranks"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("service")) as running:
        yield running


def test_the_arithmetic_is_shown_before_anything_is_stored(real: KnowledgeService) -> None:
    result = real("requirements", "derive", *SENTENCE.split(), "--set", "share=10%")
    assert result.exit_code == 0, result.output
    assert "4 TB / 512 / (30 min * 10%)" in result.stdout
    assert "current-write-rate>=43.402" in result.stdout
    shown = json.loads(real("requirements", "get", "application", "alice:sim", "--json").stdout)
    assert shown["requirements"] == []


def test_with_save_it_is_stored_as_derived(real: KnowledgeService) -> None:
    result = real("requirements", "derive", SENTENCE, "--save", "application", "alice:sim")
    assert result.exit_code == 0, result.output
    assert "Stored for application alice:sim: revision 1." in result.stderr
    shown = json.loads(real("requirements", "get", "application", "alice:sim", "--json").stdout)
    assert [requirement["kind"] for requirement in shown["requirements"]] == [
        "current-write-rate",
        "free-capacity",
    ]


def test_a_sentence_nobody_knows_is_answered_with_those_there_are(real: KnowledgeService) -> None:
    result = real("requirements", "derive", "do", "something")
    assert result.exit_code != 0
    assert "record 200 MB/s for 6 h" in result.stderr
    assert real("requirements", "derive", SENTENCE, "--set", "share").exit_code == 2
