"""Tables fit the terminal, and no word of them is cut where there is room for it."""

from __future__ import annotations

import io
import random

import pytest
from ses.output import console, on_one_line, table

PATHS = ("/srv/union/projects/materials/run-0001/out.dat", "/srv/union/a")
WORDS = ("misses", "the", "hard", "minimum", "of", "distance")
SHORT = ("0.14", "7", "1000.25")


def shown(headers: list[str], rows: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    stream = io.StringIO()
    table(console(stream), headers, rows)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("seed", range(20))
def test_no_word_is_cut_in_eighty_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    headers = ["file", ">amount", "state", "why it was refused"]
    rows = [
        [
            choose.choice(PATHS),
            choose.choice(SHORT),
            choose.choice(("ok", "full")),
            " ".join(choose.choices(WORDS, k=choose.randint(1, 40))),
        ]
        for _ in range(9)
    ]
    lines = shown(headers, rows, monkeypatch)
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).replace("|", " ").split()
    for word in {word for row in rows for cell in row for word in cell.split()}:
        given = sum(cell.split().count(word) for row in rows for cell in row)
        assert words.count(word) == given, word


def test_a_word_wider_than_the_table_is_folded_and_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/" + "x" * 200
    lines = shown(["file", "element"], [[path, "union/b1"]], monkeypatch)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("x") == 200


def test_where_words_do_not_fit_only_the_longest_columns_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/" + "x" * 200
    row = [path, "union/b1", "12.5", "free-capacity"]
    lines = shown(["file", "element", ">MB", "kind"], [row], monkeypatch)
    assert max(map(len, lines)) <= 80
    for whole in ("union/b1", "12.5", "free-capacity", "element"):
        assert any(whole in one for one in lines)


STEERING = "\x1b]0;mine\x07\x9b31m\x7f\u202egpj.\u2066\udcff"


def test_a_name_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(["file"], [[STEERING]], monkeypatch)
    assert lines[-1] == r"\x1b]0;mine\x07\x9b31m\x7f\u202egpj.\u2066\xff"


def test_a_name_stays_on_one_line() -> None:
    assert on_one_line("a\n\tb") == r"a\n\tb"
