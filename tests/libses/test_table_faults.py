"""A table or claims that are foreign, stale, damaged or full are none: the agent is asked."""

import errno
import os
import signal
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_table import (
    CLAIM_SIZE,
    CLAIMS_AT,
    CLAIMS_SIZE,
    CLAIMS_STATE_AT,
    COUNT_AT,
    GENERATION_AT,
    HEARTBEAT_AT,
    MOUNTS_AT,
    NEED_SIZE,
    NEEDS_AT,
    NOT_CREATED,
    PLACES_AT,
    SIZE,
    SLOTS,
    STATE_AT,
    USERS_AT,
    VERSION,
    FakeClaims,
    FakeTable,
    placement_id,
    table_of,
)
from mergerfs_union import NOBODY, Union
from patience import wait_until
from ran import ran
from segments import RETIRED, key_of, now_ms

WRITE = str(os.O_CREAT | os.O_WRONLY)
MAGIC_AT, VERSION_AT, HEAD_SIZE_AT, SIZE_AT, SOCKET_AT = 0, 4, 6, 8, 16
INSTANCE_AT, UID_AT = 16, 24


@pytest.fixture
def table(table: FakeTable) -> FakeTable:
    """It has only the union's second branch to choose."""
    table.only(1)
    return table


def create(union: Union, probes: Path, count: int = 3) -> None:
    """Files that must all be there afterwards; the fake agent would put them on the third branch."""
    union.agent.choose = lambda _: 2
    union.run(probes / "process", "many", str(count), union.path)
    assert all((union.path / f"many-{number}").exists() for number in range(count))
    assert union.agent.leftovers() == []


def asks_instead(union: Union, probes: Path, claims: FakeClaims) -> None:
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert claims.total() == 0
    assert not any(claims.states())


# ------------------------------------------------------------------------------------- not to be believed


@pytest.mark.parametrize(
    "fields",
    [{"owner": NOBODY}, {"mode": 0o664}, {"mode": 0o646}, {"mode": 0o600}, {"size": SIZE - 4096},
     {"size": SIZE + 4096}],
)  # fmt: skip
def test_table_of_wrong_owner_mode_or_size_is_not_used(
    union: Union, probes: Path, fields: dict[str, Any]
) -> None:
    table = FakeTable(union.socket, **fields)
    try:
        if table.size >= SIZE:
            table.mount(union.path.stat().st_dev, str(union.path))
            table.system(3)
            claims = table.user()
        create(union, probes)
        assert len(union.agent.asks) == 3
        assert table.size < SIZE or claims.total() == 0
    finally:
        table.close()


@pytest.mark.parametrize(
    "fields",
    [{"owner": NOBODY}, {"mode": 0o660}, {"mode": 0o606}, {"mode": 0o640}, {"size": CLAIMS_SIZE - 4096},
     {"size": CLAIMS_SIZE + 4096}],
)  # fmt: skip
def test_claims_of_wrong_owner_mode_or_size_are_not_used(
    union: Union, table: FakeTable, probes: Path, fields: dict[str, Any]
) -> None:
    claims = FakeClaims(0, **fields)
    try:
        table.name(claims, 0)
        create(union, probes)
        assert len(union.agent.asks) == 3
        assert claims.total() == 0
    finally:
        claims.close()


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (MAGIC_AT, b"\0\0\0\0"),
        (VERSION_AT, struct.pack("=H", VERSION - 1)),
        (VERSION_AT, struct.pack("=H", VERSION + 1)),
        (HEAD_SIZE_AT, struct.pack("=H", 64)),
        (SIZE_AT, struct.pack("=Q", 4096)),
        (SOCKET_AT, struct.pack("=Q", 1)),
        (STATE_AT, struct.pack("=I", RETIRED)),
        (STATE_AT, struct.pack("=I", 0)),
    ],
)
def test_table_with_a_wrong_head_is_not_used(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, at: int, value: bytes
) -> None:
    table.write(at, value)
    asks_instead(union, probes, claims)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (MAGIC_AT, b"\0\0\0\0"),
        (VERSION_AT, struct.pack("=H", VERSION + 1)),
        (HEAD_SIZE_AT, struct.pack("=H", 64)),
        (SIZE_AT, struct.pack("=Q", 4096)),
        (INSTANCE_AT, struct.pack("=Q", 1 << 40)),
        (UID_AT, struct.pack("=I", NOBODY)),
        (CLAIMS_STATE_AT, struct.pack("=I", RETIRED)),
    ],
)
def test_claims_with_a_wrong_head_are_not_used(
    union: Union, claims: FakeClaims, probes: Path, at: int, value: bytes
) -> None:
    claims.write(at, value)
    asks_instead(union, probes, claims)


@pytest.mark.parametrize("age", [60_000, -60_000, None])
def test_table_of_an_agent_without_a_sign_of_life_is_not_used(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, age: int | None
) -> None:
    table.stop_beating()
    table.put64(HEARTBEAT_AT, 0 if age is None else now_ms() - age)
    asks_instead(union, probes, claims)


MAKE = """
import ctypes, sys
libc = ctypes.CDLL(None)
status = (ctypes.c_uint32 * 64)()
segment = libc.shmget(int(sys.argv[1]), int(sys.argv[2]), 0o3000 | int(sys.argv[3], 8))
libc.shmctl(segment, 2, status)
status[1] = int(sys.argv[4])
print(segment if libc.shmctl(segment, 1, status) == 0 else -1)
"""


def made_by_nobody(key: int, size: int, mode: str, owner: int) -> int:
    """A segment that another user has made and, as far as they can, given to OWNER."""
    user = ("setpriv", "--reuid", str(NOBODY), "--clear-groups", "--", "/usr/bin/python3", "-I", "-S", "-c")
    made = ran([*user, MAKE, str(key), str(size), mode, str(owner)])
    assert int(made.stdout) >= 0
    return int(made.stdout)


@pytest.mark.parametrize("owner", [0, NOBODY])
def test_table_that_another_user_made_is_not_used(union: Union, probes: Path, owner: int) -> None:
    segment = made_by_nobody(key_of(union.socket, 0), SIZE, "644", owner)
    try:
        create(union, probes)
        assert len(union.agent.asks) == 3
    finally:
        subprocess.run(["ipcrm", "-m", str(segment)], check=True, timeout=60)


def test_claims_that_another_user_made_are_not_used(union: Union, table: FakeTable, probes: Path) -> None:
    segment = made_by_nobody(0, CLAIMS_SIZE, "600", 0)
    try:
        table.put32(USERS_AT + 4, segment)
        create(union, probes)
        assert len(union.agent.asks) == 3
    finally:
        subprocess.run(["ipcrm", "-m", str(segment)], check=True, timeout=60)


# ----------------------------------------------------------------------------------- without what is needed


@pytest.mark.parametrize("lacking", ["user", "segment", "need", "device", "system"])
def test_without_what_a_choice_needs_the_agent_is_asked(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, lacking: str
) -> None:
    if lacking == "user":
        table.put32(USERS_AT, NOBODY)
    elif lacking == "segment":
        table.put32(USERS_AT + 4, -1 & 0xFFFFFFFF)
    elif lacking == "need":
        claims.put32(NEEDS_AT, 0)
    elif lacking == "device":
        table.put32(MOUNTS_AT + 4, 1 << 19)
    else:
        table.put32(MOUNTS_AT + 8, 8)
    asks_instead(union, probes, claims)


def test_needs_that_are_being_written_are_not_used(union: Union, claims: FakeClaims, probes: Path) -> None:
    claims.put32(NEEDS_AT + NEED_SIZE, 3)  # it may become the application's own
    claims.put64(GENERATION_AT, 9)
    asks_instead(union, probes, claims)


def test_without_room_for_a_claim_the_agent_is_asked(union: Union, claims: FakeClaims, probes: Path) -> None:
    for slot in range(SLOTS):
        claims.put64(CLAIMS_AT + slot * CLAIM_SIZE, 2 * slot + 2)
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert claims.total() == 0


def test_slots_that_are_taken_are_passed_over(union: Union, claims: FakeClaims, probes: Path) -> None:
    for slot in (0, 1, 2, 4):
        claims.put64(CLAIMS_AT + slot * CLAIM_SIZE, 2 * slot + 1)
    create(union, probes)
    assert union.agent.asks == []
    assert [claim.number for claim in claims.claims()] == [3, 5, 6]


@pytest.mark.parametrize(
    "fault", ["branch-elsewhere", "no-branch", "no-element", "backend", "no-end", "index", "too-many-rows"]
)
def test_place_that_makes_no_sense_is_not_taken(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, fault: str
) -> None:
    branch = str(union.branches[1])
    if fault == "branch-elsewhere":
        table.place(1, "union/b2", branch="relative/way")
    elif fault == "no-branch":
        table.write(table.system_at() + PLACES_AT + 512 + 120, b"/.." + bytes(285))
    elif fault == "no-element":
        table.place(1, "", branch=branch)
    elif fault == "backend":
        table.put32(table.system_at() + 4, 7)
    elif fault == "no-end":
        table.write(table.system_at() + PLACES_AT + 512 + 120, b"/" * 288)
    elif fault == "index":
        table.put32(table.system_at() + 4, 2)
        table.place(1, "union/b2", index=1 << 20, form=2)
    else:
        table.put32(table.system_at() + COUNT_AT, 65)
    asks_instead(union, probes, claims)


@pytest.mark.parametrize("where", ["policy", "element", "need"])
def test_numbers_that_make_no_sense_harm_nothing(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, where: str
) -> None:
    table.exclude(0)
    if where == "policy":
        table.write(table.system_at() + 40, b"\xff" * 96)
    elif where == "element":
        table.elements().view(np.uint8)[:] = 0xFF
    else:
        claims.write(NEEDS_AT + 8, b"\xff" * 248)
        claims.put64(GENERATION_AT, 9)
    create(union, probes)
    assert len(union.agent.asks) + len(claims.claims()) == 3


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "EACCES", "ENOSPC", "EDQUOT", "EIO"])
def test_file_that_cannot_be_staged_is_reported_and_the_plain_call_made(
    union: Union, claims: FakeClaims, probes: Path, error: str
) -> None:
    staged = union.agent.stages(1, 0)[0] / f"{placement_id(claims.instance, 0):016x}"
    strace = ("strace", "-qq", "-o", union.path.parent / "trace", "-P", staged, "-e", "trace=openat")
    command = (*strace, "-e", f"inject=openat:error={error}", probes / "create", "open", WRITE, "0644", "022")
    done = union.run(*command, union.path / "placed").stdout
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 1
    plain = union.run(*command[-5:], union.path / "plain", library=False).stdout
    assert done == plain
    assert union.agent.asks == []
    assert union.agent.leftovers() == []
    assert [(claim.outcome, claim.error) for claim in claims.claims()] == [
        (NOT_CREATED, getattr(errno, error))
    ]


# ----------------------------------------------------------------------------------------- while it changes


def test_table_that_is_being_written_is_not_chosen_from(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    with table.change():
        asks_instead(union, probes, claims)
    union.run("touch", "after")
    assert claims.total() == 1


def test_retired_table_is_left_and_the_next_one_found(union: Union, table: FakeTable) -> None:
    first = table.users[0]
    creating = start_creating(union)
    wait_until(lambda: first.total() > 0)
    table.remove()
    used = first.total()
    wait_until(lambda: goes_on(first, used))
    second = table_of(union)
    try:
        table.put32(STATE_AT, RETIRED)
        wait_until(lambda: second.users[0].total() > 0)
        stop_creating(creating)
    finally:
        second.close()


def test_claims_that_the_table_no_longer_names_are_left(
    union: Union, table: FakeTable, claims: FakeClaims
) -> None:
    """As after a restart that found the segment gone: programs go over to the next one."""
    creating = start_creating(union)
    wait_until(lambda: claims.total() > 0)
    second = FakeClaims(0)
    try:
        second.need(0)
        table.name(second, 0)
        wait_until(lambda: second.total() > 0)
        used = claims.total()
        further = second.total()
        wait_until(lambda: goes_on(second, further))
        assert claims.total() == used
        stop_creating(creating)
    finally:
        second.close()


def test_program_killed_while_it_creates_harms_no_other(
    union: Union, claims: FakeClaims, probes: Path
) -> None:
    done = 0
    for _ in range(20):
        before = claims.total()
        creating = start_creating(union)
        wait_until(lambda before=before: claims.total() > before)  # type: ignore[misc]
        creating.send_signal(signal.SIGKILL)
        creating.wait(60)
        done += len(claims.take())
    before = claims.total()
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "after")
    assert claims.total() == before + 1
    assert len(claims.claims()) == 1
    unfinished = sum(state % 2 for state in claims.states())
    assert done <= before <= done + unfinished


def test_program_killed_before_it_claimed_leaves_a_slot_of_no_rows(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    """The agent takes the slot back after minutes; it must not count anything off for it."""
    claims.write(CLAIMS_AT + 84, struct.pack("=I", 3))  # what a former claim had
    table.put32(table.system_at() + COUNT_AT, 0)
    create(union, probes, 1)
    assert claims.get32(CLAIMS_AT + 84) == 0
    assert claims.total() == 0


def start_creating(union: Union) -> subprocess.Popen[bytes]:
    """A program that creates files until it is stopped; it ends badly if one cannot be."""
    script = "import itertools, os, signal, sys\n"
    script += "def stop(*_): sys.exit(0)\nsignal.signal(signal.SIGTERM, stop)\n"
    script += "for n in itertools.count():\n"
    script += "    name = f'{os.getpid()}-{n}'\n"
    script += "    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))"
    return subprocess.Popen(
        ["/usr/bin/python3", "-I", "-S", "-c", script], env=union.environment(), cwd=union.path
    )


def stop_creating(creating: subprocess.Popen[bytes]) -> None:
    assert creating.poll() is None
    creating.terminate()
    assert creating.wait(60) == 0


def goes_on(claims: FakeClaims, used: int) -> bool:
    """Is more claimed than was?  Nothing is without free slots, which a fast program soon has used up."""
    claims.take()
    return claims.total() > used


def test_place_changed_by_nobody_but_the_agent_leads_nowhere_else(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, tmp_path: Path
) -> None:
    """If a table names a directory that is no branch, the file gets its name or the original call is made."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".ses/0").mkdir(parents=True)
    table.place(1, "union/b2", branch=str(elsewhere))
    create(union, probes)
    assert list((elsewhere / ".ses/0").iterdir()) == []
    assert [claim.outcome for claim in claims.claims()] == [NOT_CREATED] * 3
