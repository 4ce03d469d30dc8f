"""Names of things are the field's: what the glossary gave up comes back in no identifier."""

import re
from pathlib import Path

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


def test_no_identifier_has_a_word_that_was_given_up() -> None:
    code = [f":(glob)**/*.{ending}" for ending in ("c", "h", "cpp", "hpp", "py")]
    tree = ["git", "ls-files", "-z", *code, f":!{Path(__file__).relative_to(ROOT)}"]
    done = ran(tree, cwd=ROOT)
    banned = {re.compile(pattern): instead for pattern, instead in BANNED.items()}
    used = {
        word: name
        for name in done.stdout.split("\0")[:-1]
        for word in set(re.findall(r"\w+", (ROOT / name).read_text(encoding="utf-8")))
    }
    assert len(used) > 10_000
    given_up = [
        f"{name}: {word}, which is {instead}"
        for word, name in used.items()
        for pattern, instead in banned.items()
        if pattern.fullmatch(word)
    ]
    assert given_up == []
