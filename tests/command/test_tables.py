"""Tables fit the terminal, and no word of them is cut where there is room for it."""

import io
import random
from collections.abc import Sequence

import pytest
from ses.columns import Column, shortened
from ses.output import console, table
from ses_client.visible import on_one_line

PATHS = ("/srv/union/projects/materials/run-0001/out.dat", "/srv/union/a")
WORDS = ("misses", "the", "hard", "minimum", "of", "distance")
SHORT = ("0.14", "7", "1000.25")


def shown(
    headers: Sequence[Column | str],
    rows: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    columns: str = "80",
) -> list[str]:
    monkeypatch.setenv("COLUMNS", columns)
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
        assert any(whole in line for line in lines)


WIDE = (
    Column("file", path=True),
    Column("least", leaves=2),
    Column("little", right=True, leaves=1),
    Column("kept"),
    Column("why", wraps=True),
)


def test_columns_leave_in_their_order_until_the_rest_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    row = [PATHS[0], "y" * 30, "z" * 20, "k" * 20, "a sentence that may be wrapped"]
    lines = shown(WIDE, [row], monkeypatch)
    assert max(map(len, lines)) <= 80
    assert "little" in lines[0]
    assert lines[-1] == "Not shown in 80 columns: least. Shown with --wide."
    lines = shown(WIDE, [[*row[:3], "k" * 40, row[4]]], monkeypatch)
    assert lines[-1] == "Not shown in 80 columns: least, little. Shown with --wide."
    assert not any("Not shown" in line for line in shown(WIDE, [row], monkeypatch, "200"))


def test_a_path_is_shortened_in_the_middle_and_keeps_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    row = [PATHS[0], "y", "z", "k" * 40, "why"]
    (line,) = [line for line in shown(WIDE, [row], monkeypatch) if "kkkk" in line]
    path = line.partition(" ")[0]
    assert "…" in path
    assert path.startswith("/srv")
    assert path.endswith("out.dat")
    assert PATHS[0] in shown(WIDE, [row], monkeypatch, "")[-1]


@pytest.mark.parametrize("width", range(1, 30))
def test_a_shortened_path_fits(width: int) -> None:
    assert len(shortened("/srv/a/directory/with/a/file.dat", width, "…")) == width
    assert shortened("/srv/a", 6, "…") == "/srv/a"


def test_off_a_terminal_a_row_is_one_whole_line(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["/" + "x" * 500, "größe\nof", "1.5"], ["/y", "", "20.25"]]
    lines = shown(["file", "what", ">MB"], rows, monkeypatch, "")
    assert len(lines) == 4
    assert [[cell.strip() for cell in line.split("|")] for line in lines[2:]] == [
        ["/" + "x" * 500, "größe of", "1.5"], ["/y", "", "20.25"],
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1, "columns are aligned"


STEERING = "\x1b]0;mine\x07\x9b31m\x7f\u202egpj.\u2066\udcff"


def test_a_name_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(["file"], [[STEERING]], monkeypatch)
    assert lines[-1] == r"\x1b]0;mine\x07\x9b31m\x7f\u202egpj.\u2066\xff"


def test_a_name_stays_on_one_line() -> None:
    assert on_one_line("a\n\tb") == r"a\n\tb"
