"""Promises about the embedded knowledge base and the other users of the machine."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from doors import doors, family, knock
from http_server import Asked, HttpServer
from service_process import Running

QUERY, UPDATE = "application/sparql-query", "application/sparql-update"


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def web(asked: list[str]) -> int:
    """A port on which somebody notes who asks; to be seen when a store is made to ask others."""

    def note(question: Asked) -> None:
        asked.append(question.path)
        question.say(200, b"<a:loaded> <a:b> <a:c> .", Content_Type="text/turtle")

    return HttpServer(note).port


def attempts(web: int) -> dict[str, tuple[str, str, str]]:
    """Return what another user may try, by what it would be."""
    return {
        "read everything": ("/query", QUERY, "SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }"),
        "insert": ("/update", UPDATE, "INSERT DATA { GRAPH <a:g> { <a:s> <a:p> 1 } }"),
        "load from elsewhere": ("/update", UPDATE, f"LOAD <http://127.0.0.1:{web}/load> INTO GRAPH <a:g>"),
        "ask others in our name": (
            "/query", QUERY, f"SELECT * WHERE {{ SERVICE <http://127.0.0.1:{web}/service> {{ ?s ?p ?o }} }}",
        ),
        "clear all": ("/update", UPDATE, "CLEAR ALL"),
    }  # fmt: skip


@pytest.mark.root
@pytest.mark.parametrize("slip", ["none", "everything opened to all"])
def test_another_user_can_neither_read_nor_change_it_nor_have_it_ask_others(
    start: Callable[..., Running], open_folder: Path, stranger: int, web: int, asked: list[str], slip: str
) -> None:
    service = start().wait_ready()
    if slip != "none":
        for path in [open_folder, *open_folder.rglob("*")]:
            with suppress(FileNotFoundError):  # the store removes what it needs no more
                path.chmod(0o777)
    listening = doors(family(service.process.pid))
    assert listening, "the store listens somewhere"
    tried = attempts(web)
    for door in listening:
        answers = dict(zip(tried, knock(stranger, door, list(tried.values())), strict=True))
        done = {what: answer for what, answer in answers.items() if answer[0] != 0}
        assert not done, f"user {stranger} at {door}: {done}"
    assert asked == []
    assert len(service.call("GET", "/v1/elements")[1]["elements"]) == 8


@pytest.mark.root
def test_another_user_can_read_none_of_its_files(
    start: Callable[..., Running], open_folder: Path, stranger: int
) -> None:
    (open_folder / "state/knowledge").mkdir()
    (open_folder / "state/knowledge").chmod(0o755)  # as a backup put back may leave it
    start().wait_ready()
    kept: dict[str, int] = {}
    for path in (open_folder / "state/knowledge").rglob("*"):
        with suppress(FileNotFoundError):  # the store removes what it needs no more
            status = path.stat()
            if not stat.S_ISDIR(status.st_mode):
                kept[path.name] = status.st_mode
    assert "CURRENT" in kept
    assert not [name for name, mode in kept.items() if mode & 0o077 and name not in ("lock", "store.log")]
    assert (open_folder / "state/knowledge").stat().st_mode & 0o077 == 0


def test_its_own_user_is_answered(start: Callable[..., Running]) -> None:
    service = start().wait_ready()
    (door,) = doors(family(service.process.pid))
    ask = ("/query", QUERY, "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }")
    ((status, text),) = knock(os.getuid(), door, [ask])
    assert status == 200
    assert '"value":"0"' not in text
