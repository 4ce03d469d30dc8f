"""What ses_create() does with a policy on a real union: where the file goes, and what the result says."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_agent import NOT_MANAGED, UNAVAILABLE, Ask, answer
from fake_table import table_of
from stranger_programs import answers

if TYPE_CHECKING:
    from conftest import Union

OK, EXISTS, IS_NOT_MANAGED, NO_AGENT, NO_ANSWER, NO_DECISION, UNSUITED, STEP_FAILED = 0, *range(20, 27)
CREATE_FAILED = 40
NOT_FINITE, NEGATIVE, TOO_LARGE = 2, 3, 4

Store = Callable[..., dict[str, str]]


@pytest.fixture
def store(union: Union, stranger: Path) -> Store:
    """Run store_c in the union; what it printed."""

    def run(name: str | Path, *settings: str, library: bool = False, **environment: str) -> dict[str, str]:
        done = union.run(stranger / "store_c", name, *settings, library=library, check=False, **environment)
        assert done.returncode in (0, 1), done.stderr
        return answers(done.stdout)

    return run


def verdict(said: dict[str, str]) -> tuple[int, int]:
    assert "reserved" not in said
    return int(said["placed"]), int(said["reason"])


def asked(union: Union) -> Ask:
    (ask,) = union.agent.asks
    return ask


def test_the_file_is_on_the_answered_element_and_the_result_says_which(union: Union, store: Store) -> None:
    union.agent.choose = lambda _: 2
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, distance=0.25, placement_id=0xAB12)
    said = store("file", "average-read-rate=50", "free-capacity=100")
    assert verdict(said) == (1, OK)
    assert (said["element"], said["distance"], said["placement_id"]) == (
        "union/b3",
        "0.25",
        "000000000000ab12",
    )
    assert (said["create_errno"], said["place_errno"], said["policy_status"]) == ("0", "0", "0")
    assert union.copies(union.path / "file") == [2]
    assert (union.path / "file").read_text() == "stored\n"


def test_policy_is_met_from_the_table_and_the_result_says_who_chose(union: Union, store: Store) -> None:
    """Sizes and stripes are no reason to ask; a pool, and more stripes than a claim can name, are."""
    table = table_of(union)
    try:
        table.only(1)
        said = store("file", "current-write-rate=20", "expected-size=4096", "stripe-count=4")
        assert verdict(said) == (1, OK)
        assert (said["element"], said["distance"], said["chosen_by"]) == ("union/b2", "0", "1")
        (claim,) = table.users[0].claims()
        need = claim.need[0]
        assert (need["bytes"], need["stripes"], need["count"]) == (4096, 4, 1)
        assert tuple(need["requirements"][0]) == (3, 0, 0, 20e6, 1.0)
        assert union.agent.connections == 0
        assert [store("pool", "pool=fast")["chosen_by"], store("many", "stripe-count=15")["chosen_by"]] == [
            *("2", "2")
        ]
        assert len(union.agent.asks) == 2
        assert store("pool")["chosen_by"] == "0", "a file that exists"
    finally:
        table.close()


def test_the_agent_is_asked_exactly_what_the_policy_says(union: Union, store: Store) -> None:
    store(
        "file",
        "average-write-rate=20.5",
        "current-read-rate=3:2.5",
        "free-capacity=0.3:0.5:hard",
        "pool=fast",
        "application=solver",
        "expected-size=4096",
        "stripe-count=4",
        "stripe-size=1048576",
    )
    ask = asked(union)
    assert ask.requirements == ((1, False, 3.0, 2.5), (4, False, 20.5, 1.0), (5, True, 0.3, 0.5))
    assert (ask.pool, ask.application, ask.expected_bytes) == ("fast", "solver", 4096)
    assert (ask.stripe_count, ask.stripe_size) == (4, 1 << 20)


def test_an_empty_policy_asks_for_nothing_of_its_own(union: Union, store: Store) -> None:
    assert verdict(store("file", SES_APPLICATION="from-environment")) == (1, OK)
    ask = asked(union)
    assert (ask.requirements, ask.pool, ask.expected_bytes) == ((), "", -1)
    assert (ask.stripe_count, ask.stripe_size) == (0, 0)
    assert ask.application == "from-environment"


@pytest.mark.parametrize(
    ("value", "status"), [("nan", NOT_FINITE), ("inf", NOT_FINITE), ("-5", NEGATIVE), ("1e13", TOO_LARGE)]
)
def test_a_refused_value_is_never_sent_and_the_result_says_so(
    union: Union, store: Store, value: str, status: int
) -> None:
    said = store("file", f"average-write-rate={value}", "free-capacity=1")
    assert verdict(said) == (1, OK)
    assert int(said["policy_status"]) == status
    assert asked(union).requirements == ((5, False, 1.0, 1.0),)


def test_a_refused_value_leaves_the_one_before_it(union: Union, store: Store) -> None:
    store("file", "average-write-rate=7", "average-write-rate=-1")
    assert asked(union).requirements == ((4, False, 7.0, 1.0),)


def test_a_file_that_exists_is_emptied_where_it_is(union: Union, store: Store) -> None:
    union.agent.choose = lambda _: 1
    (union.branches[2] / "file").write_text("a longer text than before\n")
    said = store("file", "average-write-rate=7")
    assert verdict(said) == (0, EXISTS)
    assert said["distance"] == "-1"
    assert union.copies(union.path / "file") == [2]
    assert (union.path / "file").read_text() == "stored\n"
    assert union.agent.asks == []


@pytest.mark.parametrize(
    ("name", "flags", "error"),
    [
        ("exists", os.O_WRONLY | os.O_EXCL, "EEXIST"),
        ("missing/file", os.O_WRONLY, "ENOENT"),
        ("exists/file", os.O_WRONLY, "ENOTDIR"),
        ("directory", os.O_WRONLY, "EISDIR"),
        ("", os.O_WRONLY, "ENOENT"),
        ("n" * 300, os.O_WRONLY, "ENAMETOOLONG"),
    ],
)
def test_a_create_fails_as_open_does_and_the_result_has_its_errno(
    union: Union, store: Store, name: str, flags: int, error: str
) -> None:
    (union.path / "exists").write_text("kept")
    (union.path / "directory").mkdir()
    said = store(name, f"flags={flags}")
    assert said["fd"] == "-1"
    assert verdict(said) == (0, CREATE_FAILED)
    assert os.strerror(int(said["create_errno"])) == os.strerror(getattr(__import__("errno"), error))
    assert (union.path / "exists").read_text() == "kept"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(placement_id=0, status=NOT_MANAGED), IS_NOT_MANAGED),
        (answer(placement_id=0, status=UNAVAILABLE), NO_DECISION),
        (answer(placement_id=0, status=UNAVAILABLE, magic=1), NO_ANSWER),
        (b"x", NO_ANSWER),
        (b"", NO_ANSWER),
    ],
    ids=["not managed", "unavailable", "wrong magic", "rubbish", "hung up"],
)
def test_a_file_that_could_not_be_placed_is_created_and_the_result_says_why(
    union: Union, store: Store, reply: bytes, reason: int
) -> None:
    union.agent.reply = lambda _, __: reply
    said = store("file", "average-read-rate=50")
    assert verdict(said) == (0, reason)
    assert (said["element"], said["placement_id"], said["distance"]) == ("", "0" * 16, "-1")
    assert (union.path / "file").read_text() == "stored\n"


def test_a_silent_agent_costs_the_budget_and_no_more(union: Union, store: Store) -> None:
    union.agent.reply = lambda _, __: None
    union.agent.settle = lambda: None  # type: ignore[method-assign]  # it hangs on purpose
    said = store("file", SES_SYNC_MS="50")
    assert verdict(said) == (0, NO_ANSWER)
    assert (union.path / "file").read_text() == "stored\n"


@pytest.mark.parametrize(
    "environment",
    [{"SES_AGENT_SOCKET": "/nonexistent/agent.sock"}, {"SES_DISABLE": "1"}, {"SES_SYNC_MS": "0"}],
)
def test_without_an_agent_the_file_is_created_and_the_result_says_so(
    union: Union, store: Store, environment: dict[str, str]
) -> None:
    said = store("file", "average-read-rate=50", **environment)
    assert verdict(said) == (0, NO_AGENT)
    assert (union.path / "file").read_text() == "stored\n"
    assert union.agent.asks == []


def test_a_failed_step_is_undone_and_its_errno_is_in_the_result(union: Union, store: Store) -> None:
    union.agent.reply = lambda ask, number: union.agent.place(
        ask, number, stage=str(union.branches[0] / ".ses/424242")
    )
    said = store("file", "average-read-rate=50")
    assert verdict(said) == (0, STEP_FAILED)
    assert int(said["place_errno"]) > 0
    assert said["create_errno"] == "0"
    assert (union.path / "file").read_text() == "stored\n"
    assert union.agent.leftovers() == []


def test_flags_only_open_can_serve_are_left_to_it(union: Union, store: Store) -> None:
    said = store("file", f"flags={os.O_WRONLY | os.O_PATH}")
    assert verdict(said)[0] == 0
    assert int(said["reason"]) in (UNSUITED, CREATE_FAILED)
    assert union.agent.asks == []


@pytest.mark.parametrize("status", [UNAVAILABLE, None], ids=["no decision", "placed"])
def test_under_the_preload_library_the_agent_is_asked_once(
    union: Union, store: Store, status: int | None
) -> None:
    if status is not None:
        union.agent.reply = lambda _, __: answer(placement_id=0, status=status)
    said = store("file", "average-read-rate=50", library=True)
    assert verdict(said) == ((1, OK) if status is None else (0, NO_DECISION))
    assert len(asked(union).requirements) == 1


def test_the_mode_is_subject_to_the_umask(union: Union, stranger: Path) -> None:
    subprocess.run(
        ["sh", "-c", f"umask 027; exec {stranger}/store_c file"],
        cwd=union.path,
        env=union.environment(library=False),
        check=True,
        timeout=60,
        stdout=subprocess.DEVNULL,
    )
    assert stat.S_IMODE((union.path / "file").stat().st_mode) == 0o640
    assert len(union.agent.asks) == 1


def test_the_cpp_interface_places_by_the_same_rules(union: Union, stranger: Path) -> None:
    union.agent.choose = lambda number: min(number, 2)
    said = answers(union.run(stranger / "store_cpp", "file", "50", library=False).stdout)
    assert (said["placed"], said["element"], said["policy_status"]) == ("1", "union/b2", "0")
    assert (said["second"], said["third"], said["third_errno"], said["fourth"]) == ("1", "-1", "17", "1")
    everything, cleared, nothing = (ask.requirements for ask in union.agent.asks)
    assert everything == (
        (1, False, 50.0, 1.0),
        (2, True, 50.0, 1.0),
        (3, False, 1.0, 1.0),
        (4, False, 1.0, 1.0),
        (5, False, 100.0, 0.5),
    )
    assert cleared == everything[1:]
    assert nothing == ()
    assert (union.agent.asks[0].pool, union.agent.asks[0].expected_bytes) == ("fast", 7)
    assert union.copies(union.path / "file") == [1]
    assert union.copies(union.path / "file.2") == [2]


def test_a_refused_value_shows_in_the_cpp_result(union: Union, stranger: Path) -> None:
    said = answers(union.run(stranger / "store_cpp", "file", "nan", library=False).stdout)
    assert (said["placed"], int(said["policy_status"])) == ("1", NOT_FINITE)
    assert [kind for kind, *_ in union.agent.asks[0].requirements] == [3, 4, 5]


def test_threads_may_share_one_policy(union: Union, build: Path) -> None:
    union.agent.choose = lambda number: number % 3
    threads, creates = 4, 20
    script = f"""
import ctypes, threading
so = ctypes.CDLL({str(build / "libses.so")!r})
so.ses_policy_new.restype = ctypes.c_void_p
so.ses_policy_set_capacity.argtypes = [ctypes.c_void_p, ctypes.c_double]
so.ses_create.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
policy = so.ses_policy_new()
assert so.ses_policy_set_capacity(policy, 1.0) == 0
placed = []
def work(number):
    result = (ctypes.c_int32 * 64)()
    for i in range({creates}):
        fd = so.ses_create(f"file-{{number}}-{{i}}".encode(), 0o644, policy, result)
        assert fd >= 0
        placed.append(result[0])
workers = [threading.Thread(target=work, args=(n,)) for n in range({threads})]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
print(sum(placed), len(placed))
"""
    done = union.run("python3", "-c", script, library=False)
    assert done.stdout.split() == [str(threads * creates)] * 2
    assert len(list(union.path.glob("file-*"))) == threads * creates
    assert {ask.requirements for ask in union.agent.asks} == {((5, False, 1.0, 1.0),)}
