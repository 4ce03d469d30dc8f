"""Names of things are the field's: what the glossary gave up comes back in no identifier."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
BANNED = {
    r"_?(?:MOST|LEAST)_\w+|\w+(?<!\bAT)_MOST|k(?:Most|Least)[A-Z]\w*": "MAX_, MIN_, kMax, kMin",
    r"\w*_?(?:nap|NAP)_\w+|nap": "pause",
    r"\w*_?(?:wish|Wish)(?:es|ed)?": "requirement, request",
    r"give_way": "evict, wait_for_idle",
    r"(?:ses_)?spot": "candidates",
    r"booked_at": "placed_at",
    r"ended_weight": "nothing: files that ended are no part of a load",
    r"tell_within\w*|told_at": "report_within, reported_at",
    r"tell_accounts|tell_systemd": "send_accounts, notify_systemd",
    r"\w+Said": "a name ending in In",
    r"longest_gap": "max_gap",
    r"judgement\w*": "verdict",
    r"\w+Keeper": "a name ending in Manager",
}
VAGUE = {"one", "found", "some", "told"}  # words of prose, which say nothing of what a variable holds
NOT_NAMES = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\da-fA-F])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)  # comments and literals of C and C++; 1'000 is a number


def sources() -> Iterator[tuple[str, str]]:
    code = [f":(glob)**/*.{ending}" for ending in ("c", "h", "cpp", "hpp", "py")]
    done = ran(["git", "ls-files", "-z", *code, f":!{Path(__file__).relative_to(ROOT)}"], cwd=ROOT)
    for name in done.stdout.split("\0")[:-1]:
        yield name, (ROOT / name).read_text(encoding="utf-8")


def names_in(name: str, text: str) -> Iterator[str]:
    """Give what variables, arguments, functions and types are called."""
    if not name.endswith(".py"):
        yield from re.findall(r"\w+", NOT_NAMES.sub(" ", text))
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Name(id=bound, ctx=ast.Store())
                | ast.Attribute(attr=bound, ctx=ast.Store())
                | ast.FunctionDef(name=bound)
                | ast.AsyncFunctionDef(name=bound)
                | ast.ClassDef(name=bound)
                | ast.arg(arg=bound)
                | ast.ExceptHandler(name=str(bound))
                | ast.alias(asname=str(bound))
            ):
                yield bound


def test_no_identifier_has_a_word_that_was_given_up() -> None:
    banned = {re.compile(pattern): instead for pattern, instead in BANNED.items()}
    used = {word: name for name, text in sources() for word in set(re.findall(r"\w+", text))}
    assert len(used) > 10_000
    given_up = [
        f"{name}: {word}, which is {instead}"
        for word, name in used.items()
        for pattern, instead in banned.items()
        if pattern.fullmatch(word)
    ]
    assert given_up == []


def test_variables_are_named_after_the_thing() -> None:
    vague = {
        f"{name}: {word}"
        for name, text in sources()
        if VAGUE & set(re.findall(r"\w+", text))
        for word in VAGUE.intersection(names_in(name, text))
    }
    assert vague == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "for one in found(told): ...\n"),
        ("a.py", "def one(part): ...\n"),
        ("a.py", "pair = lambda *, one=1: one\n"),
        ("a.py", "self.one, last = pair  # found\n"),
        ("a.h", "int count(int one); /* what is found */\n"),
        ("a.c", 'char quote = \'"\', *one = "found";\n'),
        ("a.cpp", 'long most = 1\'000; for (char one : R"("found)") {} // told\n'),
    ],
)
def test_a_vague_name_is_seen_and_prose_is_none(name: str, text: str) -> None:
    assert VAGUE.intersection(names_in(name, text)) == {"one"}
