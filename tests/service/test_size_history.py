"""The history of sizes: patterns of paths, medians, and what is forgotten."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.ledger import size_history as sizes
from ses_service.ledger.size_history import KEPT, PATTERNS_OF_A_USER, SizeHistory, SizeKey, keys_of
from ses_state._state import pattern_of


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/data/run-17/out.0003.h5", "/data/run-#/out.#.h5"),
        ("/data/step12/rank3.dat", "/data/step#/rank#.dat"),
        ("/s/3f2504e0-4f89-11d3-9a0c-0305e82c3301.log", "/s/#.log"),
        ("/s/deadbeef01.bin", "/s/#.bin"),
        ("/s/tmp.x7Qa91", "/s/tmp.#"),
        ("/s/facade/Makefile", "/s/facade/Makefile"),
        ("/s/runOutput.txt", "/s/runOutput.txt"),
        ("/daten/Größe-2024/α.h5", "/daten/Größe-#/α.h5"),
        ("", ""),
    ],
)
def test_what_changes_from_run_to_run_is_left_out(path: str, pattern: str) -> None:
    assert pattern_of(path) == pattern


@given(st.text(alphabet=string.printable, max_size=60))
def test_a_pattern_holds_no_digit_and_is_its_own_pattern(path: str) -> None:
    pattern = pattern_of(path)
    assert not any(character in "0123456789" for character in pattern[:-4])
    assert pattern_of(pattern) == pattern
    assert len(pattern) <= 200


PART, DIGITS = re.compile(r"[0-9A-Za-z]+"), re.compile(r"[0-9]+")
UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
HEX = re.compile(r"(?=[^0-9]*[0-9])[0-9a-fA-F]{8,}")
CHANGE = re.compile(r"(?=[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z])")
ENDING = re.compile(r"\.[A-Za-z][0-9A-Za-z]{0,3}\Z")
PIECES = (
    "/",
    "-",
    ".",
    "run",
    "7",
    "deadbeef01",
    "x7Qa91",
    "ä",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ".h5",
)


def said_by_expressions(path: str) -> str:
    def part(match: re.Match[str]) -> str:
        text = match.group()
        is_random = len(text) >= 6 and len(CHANGE.findall(text)) >= 3
        return "#" if HEX.fullmatch(text) or is_random else DIGITS.sub("#", text)

    *folders, name = (part[-100:] for part in path.split("/")[-16:])
    ending = ENDING.search(name)
    at = len(name) if ending is None else ending.start()
    blurred = [PART.sub(part, UUID.sub("#", text)) for text in (*folders, name[:at])]
    return ("/".join(blurred) + name[at:])[-200:]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=90).map("".join))
def test_a_pattern_is_what_expressions_say(path: str) -> None:
    assert pattern_of(path) == said_by_expressions(path)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_alone_make_no_difference(first: int, second: int) -> None:
    assert pattern_of(f"/d/run{first}/f.{second}") == pattern_of("/d/run1/f.1")


def test_of_a_long_path_the_last_parts_make_the_pattern() -> None:
    deep = "/".join(f"folder{number}" for number in range(1000))
    assert pattern_of(f"/a/{deep}/out.17.h5") == pattern_of(f"/other/place/{deep}/out.3.h5")
    assert pattern_of("/d/" + 5000 * "x" + ".h5").endswith("xxx.h5")
    assert len(pattern_of("/d" * 4000)) <= 200


@given(st.lists(st.integers(0, 10**12).map(float), min_size=1, max_size=KEPT))
def test_the_room_to_expect_is_more_than_any_of_the_last_sizes(learned: list[float]) -> None:
    history = SizeHistory()
    for size in learned:
        history.learn(keys_of("alice", "dd", "/d/f1"), (size,), 0.0)
    assert history.room(keys_of("alice", "dd", "/d/f2")) >= max(learned[-KEPT:])


def test_a_changed_habit_is_followed() -> None:
    history = SizeHistory()
    alike = keys_of("alice", "dd", None)
    for size in [1000.0] * 1000 + [70.0] * 300:
        history.learn(alike, (size,), 0.0)
    assert history.room(alike) < 100
    history.grows(alike, 2000.0, 0.0)
    assert history.room(alike) >= 4000, "of one that grows nobody knows how far"
    history.grows(alike, 2100.0, 0.0, closed=True)
    assert 2100 <= history.room(alike) < 2500, "it grows no more, though it has not ended"
    history.learn(alike, (2100.0,), 0.0)
    assert history.room(alike) < 2500, "now it is known"


def test_one_large_file_of_many_is_remembered() -> None:
    history = SizeHistory()
    alike = keys_of("alice", "dd", None)
    for size in [500.0, *[10.0] * 2 * KEPT]:
        history.learn(alike, (size,), 0.0)
    assert history.room(alike) > 250


def test_the_pattern_comes_first_then_the_application_then_nothing() -> None:
    history = SizeHistory()
    for size in (1.0, 1.0, 1.0):
        history.learn(keys_of("alice", "dd", "/d/small.1"), (size,), 0.0)
    history.learn(keys_of("alice", "dd", "/d/large.1"), (900.0,), 0.0)
    assert history.room(keys_of("alice", "dd", "/d/large.2")) == 2700
    assert history.room(keys_of("alice", "dd", "/d/other")) == 1350
    assert history.room(keys_of("alice", "dd", None)) == 1350
    assert history.room(keys_of("alice", "cp", "/d/large.2")) is None
    assert history.room(keys_of("bob", "dd", "/d/large.2")) is None


def test_a_user_has_so_many_patterns_and_no_more() -> None:
    history = SizeHistory()
    for number in range(2 * PATTERNS_OF_A_USER):
        name = "".join(chr(ord("g") + int(digit)) for digit in str(number))
        history.learn(keys_of("alice", "dd", f"/d/{name}"), (5.0,), float(number))
    history.learn(keys_of("bob", "dd", "/d/f"), (5.0,), 0.0)
    assert len(history.entries("alice")) == PATTERNS_OF_A_USER
    assert len(history) == PATTERNS_OF_A_USER + 2
    assert history.get(SizeKey("alice", "dd")) is not None, "what is used is not forgotten"


def test_there_are_so_many_patterns_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "PATTERNS", 10)
    history = SizeHistory()
    for number in range(20):
        history.learn(keys_of(f"user{number}", None, None), (5.0,), 0.0)
    assert len(history) == 10
    assert history.room(keys_of("user0", None, None)) is None
    assert history.room(keys_of("user19", None, None)) == 15
