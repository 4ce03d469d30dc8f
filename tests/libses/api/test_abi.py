"""Programs built against the libraries go on working: each interface is compared with the one promised."""

import re
import subprocess
from pathlib import Path

import pytest

PROMISED = Path(__file__).parents[3] / "libses" / "abi"
LIBRARIES = ["libses", "libses-offload", "libses-share"]
WRITE = (
    "abidw --headers-dir libses/include/ses --drop-private-types --no-corpus-path --no-comp-dir-path "
    "--no-show-locs --no-elf-needed --exported-interfaces-only build/libses/{0}.so.0 "
    "| sed \"s#path='.*/#path='#\" >libses/abi/{0}.abi"
)
CHANGED, INCOMPATIBLE = 4, 8  # bits of abidiff's exit status


def compare(promised: Path, library: Path) -> tuple[int, str]:
    done = subprocess.run(["abidiff", promised, library], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_library_keeps_what_was_promised(build: Path, library: str) -> None:
    status, told = compare(PROMISED / f"{library}.abi", build / f"{library}.so.0")
    assert not status & INCOMPATIBLE, f"Programs built before would break:\n{told}"
    assert not status & CHANGED, (
        f"If programs built before go on working, promise it: {WRITE.format(library)}\n{told}"
    )
    assert status == 0, told


@pytest.mark.parametrize(
    ("library", "promise", "broken"),
    [
        ("libses", "name='ses_policy_free'", "name='ses_policy_forget'"),
        ("libses", r"name='ses_result' size-in-bits='\d+'", "name='ses_result' size-in-bits='1024'"),
        ("libses-share", "name='ses_share_put'", "name='ses_share_give'"),
        ("libses-offload", "name='ses_type_long'", "name='ses_type_length'"),
    ],
    ids=[
        "a function that is gone",
        "a struct of another size",
        "another function",
        "a variable that is gone",
    ],
)
def test_a_break_is_noticed(build: Path, tmp_path: Path, library: str, promise: str, broken: str) -> None:
    other = tmp_path / "other.abi"
    text, replaced = re.subn(promise, broken, (PROMISED / f"{library}.abi").read_text())
    assert replaced
    other.write_text(text)
    status, told = compare(other, build / f"{library}.so.0")
    assert status & (CHANGED | INCOMPATIBLE), told
