"""Programs built against the library go on working: its interface is compared with the one promised."""

from pathlib import Path

import pytest
from interfaces import must_keep_what_was_promised, must_notice_a_break

LIBSES = Path(__file__).parents[3] / "libses"
PROMISED = LIBSES / "abi/libses.abi"


def test_the_library_keeps_what_was_promised(build: Path) -> None:
    must_keep_what_was_promised(PROMISED, build / "libses.so.0", LIBSES / "include/ses")


@pytest.mark.parametrize(
    ("promise", "broken"),
    [
        ("name='ses_policy_free'", "name='ses_policy_forget'"),
        (r"name='ses_result' size-in-bits='\d+'", "name='ses_result' size-in-bits='1024'"),
    ],
    ids=["a function that is gone", "a struct of another size"],
)
def test_a_break_is_noticed(build: Path, tmp_path: Path, promise: str, broken: str) -> None:
    must_notice_a_break(PROMISED, build / "libses.so.0", promise, broken, tmp_path)
