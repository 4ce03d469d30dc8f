"""An answer of the service in which nothing is new is read without being parsed, to the same effect."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_sources import link
from ran import ran

TABLE = {"system": "union", "revision": "r1", "version": 7, "sent_at": 100.5, "elements": None, "loads": []}
QUIET: dict[str, Any] = {
    "instance": "i1", "stored": 1, "next_within_seconds": 0.1, "unknown": [], "refused": [], "open": None,
    "needs": [], "tables": [TABLE],
}  # fmt: skip
LATER = {**QUIET, "stored": 2, "tables": [{**TABLE, "sent_at": 101.25}]}
OTHERS = {
    "another instance": {"instance": "i2"},
    "another pace": {"next_within_seconds": 1.0},
    "a file it does not know": {"unknown": ["00000000000000ff"]},
    "a file it holds open": {"open": []},
    "another version": {"tables": [{**TABLE, "version": 8}]},
    "another table": {"tables": [TABLE, {**TABLE, "system": "other"}]},
    "no number": {"stored": None},
    "a name that says more": {"instance": 'x","stored":9,"y":"'},
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    probe = Path(__file__).parent / "probes/quiet_answer.cpp"
    return link(tmp_path_factory.mktemp("quiet") / "quiet_answer", probe)


def said(program: Path, place: Path, *answers: dict[str, Any]) -> list[str]:
    """What is made of these answers, as compact as the service writes them."""
    paths = [place / f"{number}.json" for number in range(len(answers))]
    for path, answer in zip(paths, answers, strict=True):
        path.write_text(json.dumps(answer, separators=(",", ":")))
    done = ran([program, *paths])
    return done.stdout.splitlines()


@pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine
def test_what_is_not_new_is_read_as_it_would_be_parsed(program: Path, tmp_path_factory: Any) -> None:
    place = tmp_path_factory.mktemp("answers")
    parsed = said(program, place, LATER)[0]
    assert parsed == "parsed i1 stored 2 next 100 union r1 at 101.250"
    assert said(program, place, QUIET, LATER, QUIET)[1:] == [
        parsed.replace("parsed", "quiet"),
        "quiet i1 stored 1 next 100 union r1 at 100.500",
    ]


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("new", OTHERS.values(), ids=OTHERS)
def test_what_is_new_is_parsed(program: Path, tmp_path_factory: Any, new: dict[str, Any]) -> None:
    place = tmp_path_factory.mktemp("answers")
    answer = {**QUIET, **new}
    assert said(program, place, QUIET, answer)[1] == said(program, place, answer)[0]
    assert said(program, place, QUIET, answer)[1].startswith("parsed")
