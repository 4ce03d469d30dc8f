"""What a program states and what its user requires become the needs of one file."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ses_core import NEED, REQUIREMENT

LIBSES = Path(__file__).resolve().parents[2] / "libses"
HARD, SOFT = True, False
OF_USER = list(range(1, 5)) + list(range(16, 20))  # kinds of the eight that one file can have


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The core, with the compiler's checks."""
    library = tmp_path_factory.mktemp("core") / "merge.so"
    options = ("-std=gnu11", "-g", "-shared", "-fPIC", f"-I{LIBSES / 'include'}")
    subprocess.run(["gcc", *options, "-o", library, LIBSES / "core/merge.c"], check=True)
    return ctypes.CDLL(str(library))


def merged(
    core: ctypes.CDLL, stated: list[tuple[int, bool]], required: list[tuple[int, bool]]
) -> tuple[list[int], int]:
    """Return the kinds that count, and how many of them are stated."""
    own, other, need = np.zeros(8, REQUIREMENT), np.zeros(1, NEED), np.zeros(1, NEED)
    for row, (kind, hard) in zip(own, stated, strict=False):
        row["kind"], row["hard"], row["bound"], row["weight"] = kind, hard, 1e6, 1
    for row, (kind, hard) in zip(other["requirements"][0], required, strict=False):
        row["kind"], row["hard"], row["bound"], row["weight"] = kind, hard, 1e6, 1
    other["count"] = len(required)
    kept = core.ses_core_merge(*(ctypes.c_void_p(each.ctypes.data) for each in (need, own)), len(stated),
                               ctypes.c_void_p(other.ctypes.data))  # fmt: skip
    return list(need["requirements"][0]["kind"][: need["count"][0]]), kept


def test_of_more_requirements_than_a_file_can_have_hard_ones_count(core: ctypes.CDLL) -> None:
    soft = [(kind, SOFT) for kind in OF_USER]
    hard = [(kind, HARD) for kind in OF_USER]
    assert merged(core, [], soft) == (OF_USER, 0)
    assert merged(core, [(1, HARD)], soft) == (OF_USER, 1), "it takes the place of the user's"
    assert merged(core, [(5, SOFT)], soft[:7]) == ([5, *OF_USER[:7]], 1)
    assert merged(core, [(5, SOFT)], soft) == ([5, *OF_USER[:7]], 1)
    assert merged(core, [(5, SOFT)], [*soft[:7], (19, HARD)]) == ([5, *OF_USER[:6], 19], 1)
    assert merged(core, [(5, SOFT)], hard) == ([19, *OF_USER[:7]], 0)
    assert merged(core, [(5, HARD)], hard) == ([5, *OF_USER[:7]], 1)
