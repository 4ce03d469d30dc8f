"""What a policy accepts, what it refuses, and that a refusal changes nothing."""

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

(NO_POLICY, NOT_FINITE, NEGATIVE, TOO_LARGE, NO_KIND, STRIPE_SIZE, BAD_POOL, BAD_APPLICATION) = range(1, 9)
RATES = [
    "ses_policy_set_current_read_rate",
    "ses_policy_set_average_read_rate",
    "ses_policy_set_current_write_rate",
    "ses_policy_set_average_write_rate",
    "ses_policy_set_capacity",
]


class Library:
    """libses.so through ctypes, with the argument types of ses.h."""

    def __init__(self, path: Path) -> None:
        self.so = ctypes.CDLL(str(path))
        policy = ctypes.c_void_p
        for name in ("ses_policy_new", "ses_policy_copy"):
            getattr(self.so, name).restype = policy
        self.so.ses_strerror.restype = ctypes.c_char_p
        self.so.ses_version.restype = ctypes.c_char_p
        for name in RATES:
            getattr(self.so, name).argtypes = [policy, ctypes.c_double]
        for name, types in {
            "ses_policy_copy": [policy],
            "ses_policy_free": [policy],
            "ses_policy_status": [policy],
            "ses_policy_set_weight": [policy, ctypes.c_int, ctypes.c_double],
            "ses_policy_set_hard": [policy, ctypes.c_int, ctypes.c_int],
            "ses_policy_clear": [policy, ctypes.c_int],
            "ses_policy_set_expected_size": [policy, ctypes.c_uint64],
            "ses_policy_set_stripe_count": [policy, ctypes.c_uint],
            "ses_policy_set_stripe_size": [policy, ctypes.c_uint64],
            "ses_policy_set_pool": [policy, ctypes.c_char_p],
            "ses_policy_set_application": [policy, ctypes.c_char_p],
        }.items():
            getattr(self.so, name).argtypes = types

    def __getattr__(self, name: str) -> Callable[..., int]:
        function: Callable[..., int] = getattr(self.so, f"ses_{name}")
        return function


@pytest.fixture(scope="module")
def library(build: Path) -> Library:
    return Library(build / "libses.so")


@pytest.fixture
def policy(library: Library) -> Iterator[int]:
    made = library.policy_new()
    assert made
    yield made
    library.policy_free(made)


@pytest.mark.parametrize("setter", RATES)
@pytest.mark.parametrize(
    ("value", "status"),
    [
        (0.0, 0), (-0.0, 0), (1e-9, 0), (50.0, 0), (1e9, 0),
        (math.nan, NOT_FINITE), (math.inf, NOT_FINITE), (-math.inf, NOT_FINITE),
        (-1.0, NEGATIVE), (-1e-300, NEGATIVE), (1.1e12, TOO_LARGE), (1e308, TOO_LARGE),
    ],
)  # fmt: skip
def test_a_minimum_is_a_finite_number_from_zero_to_its_limit(
    library: Library, policy: int, setter: str, value: float, status: int
) -> None:
    assert getattr(library.so, setter)(policy, value) == status
    assert library.policy_status(policy) == status


@pytest.mark.parametrize(
    ("kind", "weight", "status"),
    [
        (1, 1.0, 0), (5, 1e6, 0), (3, 1e-6, 0),
        (0, 1.0, NO_KIND), (6, 1.0, NO_KIND), (-1, 1.0, NO_KIND),
        (1, 0.0, NEGATIVE), (1, -1.0, NEGATIVE), (1, math.nan, NOT_FINITE), (1, 1e7, TOO_LARGE),
    ],
)  # fmt: skip
def test_a_weight_is_above_zero_and_of_a_known_kind(
    library: Library, policy: int, kind: int, weight: float, status: int
) -> None:
    assert library.policy_set_weight(policy, kind, weight) == status


@pytest.mark.parametrize(
    ("setter", "value", "status"),
    [
        ("expected_size", 0, 0),
        ("expected_size", 2**63 - 1, 0),
        ("expected_size", 2**63, TOO_LARGE),
        ("stripe_count", 0, 0),
        ("stripe_count", 2000, 0),
        ("stripe_count", 2001, TOO_LARGE),
        ("stripe_size", 0, 0),
        ("stripe_size", 65536, 0),
        ("stripe_size", 4294901760, 0),
        ("stripe_size", 65535, STRIPE_SIZE),
        ("stripe_size", 2**32, TOO_LARGE),
        ("pool", None, 0),
        ("pool", b"", 0),
        ("pool", b"fast_pool-1.a", 0),
        ("pool", b"123456789012345", 0),
        ("pool", b"1234567890123456", BAD_POOL),
        ("pool", b"fs/pool", BAD_POOL),
        ("pool", "pół".encode(), BAD_POOL),
        ("application", None, 0),
        ("application", b"dd", 0),
        ("application", "symulacja łuku".encode(), 0),
        ("application", b"a" * 63, 0),
        ("application", b"a" * 64, BAD_APPLICATION),
        ("application", b"", BAD_APPLICATION),
        ("application", b"root:dd", BAD_APPLICATION),
        ("application", b"a\nb", BAD_APPLICATION),
    ],
)
def test_hints_are_checked_before_they_are_taken(
    library: Library, policy: int, setter: str, value: object, status: int
) -> None:
    assert getattr(library.so, f"ses_policy_set_{setter}")(policy, value) == status


def test_the_first_refusal_is_kept_and_copied(library: Library, policy: int) -> None:
    assert library.policy_set_capacity(policy, -1.0) == NEGATIVE
    assert library.policy_set_capacity(policy, math.nan) == NOT_FINITE
    assert library.policy_set_capacity(policy, 1.0) == 0
    copy = library.policy_copy(policy)
    assert library.policy_status(policy) == library.policy_status(copy) == NEGATIVE
    library.policy_free(copy)


def test_every_function_survives_a_missing_policy(library: Library) -> None:
    calls = [getattr(library.so, name)(None, 1.0) for name in RATES]
    calls += [
        library.policy_status(None),
        library.policy_set_weight(None, 1, 1.0),
        library.policy_set_hard(None, 1, 1),
        library.policy_clear(None, 1),
        library.policy_set_expected_size(None, 1),
        library.policy_set_stripe_count(None, 1),
        library.policy_set_stripe_size(None, 65536),
        library.policy_set_pool(None, b"p"),
        library.policy_set_application(None, b"a"),
    ]
    assert set(calls) == {NO_POLICY}
    assert library.policy_copy(None) is None
    library.policy_free(None)


def test_every_status_has_a_text_of_its_own_and_a_number_that_stays(library: Library) -> None:
    header = (ROOT / "libses/include/ses/ses.h").read_text()
    body = re.search(r"enum ses_status \{(.*?)\} ses_status;", header, re.DOTALL)
    assert body
    numbers = {name: int(value) for name, value in re.findall(r"(SES_\w+) = (\d+)", body[1])}
    assert numbers == {
        "SES_OK": 0,
        "SES_REFUSED_NO_POLICY": 1,
        "SES_REFUSED_NOT_FINITE": 2,
        "SES_REFUSED_NEGATIVE": 3,
        "SES_REFUSED_TOO_LARGE": 4,
        "SES_REFUSED_KIND": 5,
        "SES_REFUSED_STRIPE_SIZE": 6,
        "SES_REFUSED_POOL": 7,
        "SES_REFUSED_APPLICATION": 8,
        "SES_NOT_PLACED_EXISTS": 20,
        "SES_NOT_PLACED_NOT_MANAGED": 21,
        "SES_NOT_PLACED_NO_AGENT": 22,
        "SES_NOT_PLACED_NO_ANSWER": 23,
        "SES_NOT_PLACED_NO_DECISION": 24,
        "SES_NOT_PLACED_UNSUITED": 25,
        "SES_NOT_PLACED_STEP_FAILED": 26,
        "SES_CREATE_FAILED": 40,
    }
    texts = {library.so.ses_strerror(number) for number in numbers.values()}
    assert len(texts) == len(numbers)
    assert all(library.so.ses_strerror(n).startswith(b"unknown status") for n in (-1, 9, 19, 41, 2**31 - 1))


def test_the_version_is_the_one_of_the_build(library: Library) -> None:
    lists = (ROOT / "libses/CMakeLists.txt").read_text()
    version = re.search(r"project\(libses VERSION ([0-9.]+)", lists)
    assert version
    assert library.so.ses_version().decode() == version[1]
