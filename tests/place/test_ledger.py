"""The file of claims: what is not ours in it is refused, named and left as it is."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from places_program import Ses
from ses.place import ledger as ledgers
from ses.place import placing
from ses.place.claims import Claim
from ses.place.placing import NothingFitsError, Request
from ses_client.errors import SesError

NOBODY, NEIGHBOUR = 65534, 65533


@pytest.fixture
def made(ses: Ses, tmp_path: Path) -> Path:
    """A ledger with a claim, that is in the file and not in its log."""
    ses("place", "--among", tmp_path, "--size", "1MB")
    spoil(ses.ledger, "PRAGMA wal_checkpoint(TRUNCATE)")
    return ses.ledger


def spoil(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as ledger, ledger:
        ledger.execute(statement)


@pytest.mark.parametrize(
    ("mount", "is_shared"),
    [
        ("ceph mon:6789:/", True),
        ("ceph admin@b7f9c1ae.scratch=/", True),
        ("fuse.ceph-fuse ceph-fuse", True),
        ("fuse.glusterfs server:volume", True),
        ("lustre 10.0.0.1@tcp:/scratch", True),
        ("beegfs beegfs_nodev", True),
        ("ext4 /dev/disk/by-label/a:b", False),
        ("tmpfs none", False),
    ],
)
def test_none_is_kept_for_a_group_where_other_machines_have_it(
    asking: Callable[..., Request],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mount: str,
    is_shared: bool,
) -> None:
    (table := tmp_path / "mountinfo").write_text(f"7 1 0:99 / {tmp_path} rw - {mount} rw\n")
    monkeypatch.setattr(ledgers, "MOUNTINFO", table)
    monkeypatch.setattr(ledgers, "mount_of", lambda _: "7")
    try:
        placing.place(asking([str(tmp_path)]), tmp_path / "ledger")
        is_refused = False
    except SesError as error:
        is_refused = str(error).startswith(f"Other machines may have {tmp_path} ")
    assert is_refused == is_shared


@pytest.mark.parametrize("content", [b"not a database, but longer than a header" * 100, b"\0" * 4096])
def test_a_file_that_is_no_ledger_is_named_and_left_as_it_is(
    ses: Ses, made: Path, tmp_path: Path, content: bytes
) -> None:
    made.write_bytes(content)
    for command in (("place", "--among", tmp_path), ("places",), ("release", "1")):
        answer = ses(*command, code=1)
        assert str(made) in answer
        assert "left as it is" in answer or "left as it was" in answer
    assert made.read_bytes() == content


def test_a_torn_file_is_named_and_left_as_it_is(ses: Ses, made: Path, tmp_path: Path) -> None:
    content = bytearray(made.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    made.write_bytes(content)
    assert str(made) in ses("place", "--among", tmp_path, code=1)
    assert made.read_bytes() == content


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER sly AFTER INSERT ON claim BEGIN DELETE FROM claim; END",
        "CREATE VIEW sly AS SELECT 1",
        "ALTER TABLE claim ADD COLUMN more",
        "UPDATE claim SET text = '[]'",
        "UPDATE claim SET text = 'no JSON'",
        "UPDATE claim SET text = x'80'",
        "UPDATE claim SET text = json_remove(text, '$.path')",
        "UPDATE claim SET text = json_set(text, '$.bytes', -5)",
        "UPDATE claim SET text = json_set(text, '$.bytes', 'many')",
        "UPDATE claim SET text = json_set(text, '$.path', '/a/../b')",
        "UPDATE claim SET text = json_set(text, '$.path', char(0))",
        "UPDATE claim SET text = json_set(text, '$.until', 9e999)",
        "UPDATE claim SET text = json_set(text, '$.job', '1 --all')",
        "UPDATE claim SET text = json_set(text, '$.pid', 1.5)",
        f"UPDATE claim SET text = json_set(text, '$.bytes', json('1{'0' * 400}'))",
        f"UPDATE claim SET text = '{'[' * 100_000}'",
    ],
)
def test_what_ses_place_does_not_write_is_refused(
    ses: Ses, made: Path, tmp_path: Path, statement: str
) -> None:
    spoil(made, statement)
    before = made.read_bytes()
    answer = ses("place", "--among", tmp_path, code=1)
    assert f"{made} is no ledger of ses place, or is damaged" in answer
    assert made.read_bytes() == before


def test_a_failure_of_power_leaves_it_whole(made: Path) -> None:
    with ledgers.opened(made) as ledger:
        assert ledger is not None
        modes = [
            ledger._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
    assert modes == ["wal", 1], "SQLite says that a log that is synchronised before a checkpoint does"


def test_its_log_stays_short_however_many_choose(
    made: Path, asking: Callable[..., Request], tmp_path: Path
) -> None:
    sizes = []
    for _ in range(120):
        claim = placing.place(asking([str(tmp_path)]), made).claim
        placing.release(str(claim.id), made)
        sizes.append(made.with_name(f"{made.name}-wal").stat().st_size)
    assert max(sizes) < 1.5 * ledgers._LONG_LOG


def test_names_in_it_steer_no_terminal(ses: Ses, made: Path) -> None:
    ses.change_claims(path="'/a' || char(27) || '[2J'")
    answer = ses("places")
    assert "\x1b" not in answer
    assert "\\x1b[2J" in answer


def test_one_that_is_full_takes_claims_again_when_some_have_ended(
    made: Path, asking: Callable[..., Request], tmp_path: Path
) -> None:
    copy = "INSERT INTO claim SELECT NULL, text FROM claim LIMIT 10000 - (SELECT count(*) FROM claim)"
    for _ in range(14):
        spoil(made, copy)
    with pytest.raises(NothingFitsError, match="as many claims as it may"):
        placing.place(asking([str(tmp_path)]), made)
    first = placing.release("1", made)
    placed = placing.place(asking([str(tmp_path)]), made)
    assert (first.id, placed.claim.id) == (1, 10_001)
    spoil(made, "UPDATE claim SET text = json_set(text, '$.until', 1.0) WHERE id < 10000")
    placing.place(asking([str(tmp_path)]), made)
    assert len(placing.claims_on((), made)) == 3


def test_nobody_waits_while_it_is_seen_which_claims_have_ended(
    made: Path, asking: Callable[..., Request], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    has_ended, read, seen, reads = Claim.has_ended, ledgers.Ledger._claim, list[bool](), list[int]()

    def looks(claim: Claim, *more: object) -> bool:
        with closing(sqlite3.connect(made, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
        seen.append(True)
        return has_ended(claim, *more)

    def reading(ledger: ledgers.Ledger, number: int, text: str) -> Claim:
        reads.append(number)
        return read(ledger, number, text)

    monkeypatch.setattr(Claim, "has_ended", looks)
    monkeypatch.setattr(ledgers.Ledger, "_claim", reading)
    placing.place(asking([str(tmp_path)]), made)
    assert (seen, reads) == ([True], [1]), "nor while what has been read is read again"


def test_one_that_others_write_for_long_is_reported(
    made: Path, asking: Callable[..., Request], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ledgers, "_PATIENCE", 0.1)
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SesError, match=r"is being written by others"):
            placing.place(asking([str(tmp_path)]), made)


def test_who_has_no_home_is_told_to_name_a_ledger(
    monkeypatch: pytest.MonkeyPatch, asking: Callable[..., Request], tmp_path: Path
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    with pytest.raises(SesError, match="--ledger"):
        placing.place(asking([str(tmp_path)]))


def test_a_link_in_its_place_is_not_followed(ses: Ses, made: Path, tmp_path: Path) -> None:
    made.rename(tmp_path / "elsewhere")
    made.symlink_to(tmp_path / "elsewhere")
    assert "a link" in ses("place", "--among", tmp_path, code=1)


def test_no_ledger_is_kept_where_anybody_may_write(ses: Ses, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    answer = ses("place", "--among", tmp_path, "--ledger", tmp_path / "open" / "ledger", code=2)
    assert "Anybody may write" in answer


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory that other users reach."""
    folder = Path(mkdtemp(prefix="ses-place-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_user(uid: int, groups: list[int], call: Callable[[], Any]) -> Any:
    """Call in a process of another user; return what it gives, or the error it raises."""
    context = get_context("fork")
    answer = context.SimpleQueue()

    def become() -> None:
        os.setgroups(groups)
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        os.umask(0o077)
        try:
            answer.put(call())
        except SesError as error:
            answer.put(error.full_message)

    process = context.Process(target=become)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    return answer.get()


@pytest.mark.root
def test_a_user_without_any_rights_is_served(everybodys: Path, asking: Callable[..., Request]) -> None:
    for name, owner in (("theirs", 0), ("own", NOBODY)):
        (everybodys / name).mkdir(mode=0o755)
        os.chown(everybodys / name, owner, owner)
    among = [str(everybodys / name) for name in ("theirs", "own")]

    def call() -> list[str]:
        placed = placing.place(asking(among, mkdir="run-XXXX"), everybodys / "own" / "ledger")
        return [placed.directory, *(row.reason for row in placed.why if row.reason)]

    directory, reason = as_user(NOBODY, [], call)
    assert directory.startswith(f"{everybodys}/own/run-")
    assert reason == "you may not write there"
    assert stat.S_IMODE((everybodys / "own" / "ledger").stat().st_mode) == 0o600


@pytest.mark.root
def test_a_group_shares_a_ledger_in_a_directory_with_the_setgid_bit(
    everybodys: Path, asking: Callable[..., Request]
) -> None:
    group, shared, ledger = 4242, everybodys / "shared", everybodys / "shared" / "ledger"
    shared.mkdir()
    os.chown(shared, 0, group)
    shared.chmod(0o2770)

    def call() -> int:
        return placing.place(asking([str(shared)]), ledger).why[0].streams

    assert as_user(NOBODY, [group], call) == 0
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o660
    assert ledger.stat().st_gid == group
    assert as_user(NEIGHBOUR, [group], call) == 1, "the first one's claim counts"

    def take() -> str:
        return placing.release("1", ledger).path

    assert "Claim 1 is another user's" in as_user(NEIGHBOUR, [group], take)
    assert as_user(NOBODY, [group], take) == str(shared)
    assert "cannot be used" in as_user(NEIGHBOUR, [], call)
