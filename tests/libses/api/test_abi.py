"""Programs built against libses go on working: the interface is compared with the one promised."""

import re
import subprocess
from pathlib import Path

import pytest

PROMISED = Path(__file__).parents[3] / "libses" / "abi" / "libses.abi"
WRITE = (
    "abidw --headers-dir libses/include/ses --drop-private-types --no-corpus-path --no-comp-dir-path "
    "--no-show-locs --no-elf-needed --exported-interfaces-only build/libses/libses.so.0 "
    "| sed \"s#path='.*/#path='#\" >libses/abi/libses.abi"
)
CHANGED, INCOMPATIBLE = 4, 8  # bits of abidiff's exit status


def compare(promised: Path, library: Path) -> tuple[int, str]:
    done = subprocess.run(["abidiff", promised, library], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_the_library_keeps_what_was_promised(build: Path) -> None:
    status, told = compare(PROMISED, build / "libses.so.0")
    assert not status & INCOMPATIBLE, f"Programs built before would break:\n{told}"
    assert not status & CHANGED, f"If programs built before go on working, promise it: {WRITE}\n{told}"
    assert status == 0, told


@pytest.mark.parametrize(
    ("promise", "broken"),
    [
        ("name='ses_policy_free'", "name='ses_policy_forget'"),
        (r"name='ses_result' size-in-bits='\d+'", "name='ses_result' size-in-bits='1024'"),
    ],
    ids=["a function that is gone", "a struct of another size"],
)
def test_a_break_is_noticed(build: Path, tmp_path: Path, promise: str, broken: str) -> None:
    other = tmp_path / "other.abi"
    text, replaced = re.subn(promise, broken, PROMISED.read_text())
    assert replaced
    other.write_text(text)
    status, told = compare(other, build / "libses.so.0")
    assert status & (CHANGED | INCOMPATIBLE), told
