"""ses-migrate: files change their element under the names they have, and none that is in use."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from held_program import Held
from mergerfs_union import NOBODY, Union
from patience import wait_until

Migrate = Callable[..., dict[str, Any]]


@pytest.fixture
def lying(union: Union) -> Path:
    """A file on the first branch of the union."""
    path = union.path / "data"
    union.run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", "count=3", "status=none")
    os.setxattr(path, "user.note", b"kept")
    os.utime(path, ns=(10**18, 10**18 + 5))
    path.chmod(0o640)
    assert union.copies(path) == [0]
    return path


def test_a_file_goes_where_it_is_served_best(union: Union, lying: Path, migrate: Migrate) -> None:
    before, data = lying.stat(), lying.read_bytes()
    union.agent.choose = lambda _: 1
    report = migrate("--verify", lying)
    assert union.copies(lying) == [1]
    assert lying.read_bytes() == data
    after = lying.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert os.getxattr(lying, "user.note") == b"kept"
    (each,) = report["each"]
    assert each["element"] == "union/b2"
    assert sorted(path.name for path in union.path.iterdir() if path.name != ".ses") == ["data"]


def test_a_file_stays_that_lies_there_or_is_chosen_no_place(
    union: Union, lying: Path, migrate: Migrate
) -> None:
    (why,) = migrate(lying)["why_skipped"]
    assert why == "it is where it is served best (union/b1)"
    union.agent.reply = lambda *_: b""
    (why,) = migrate(lying)["why_skipped"]
    assert why.startswith("no place was chosen for it")
    assert union.copies(lying) == [0]


def test_a_file_in_use_stays(union: Union, lying: Path, migrate: Migrate) -> None:
    union.agent.choose = lambda _: 1
    with lying.open("rb"):
        report = migrate(lying, status=1)
    assert "is in use" in report["failures"][0]
    inode = lying.stat().st_ino
    os.link(lying, lying.with_name("second"))
    report = migrate(lying, status=1)
    assert "has 2 names" in report["failures"][0]
    assert lying.stat().st_ino == inode
    assert not list(union.path.glob(".ses-*"))


def test_a_file_that_is_opened_or_changed_meanwhile_stays(built: Path, union: Union, lying: Path) -> None:
    """It is held before the rename, first while somebody writes, then while somebody only opens."""
    union.agent.choose = lambda _: 1
    partial = lying.with_name(".ses-partial.data")

    def is_copied() -> bool:
        return partial.exists() and partial.stat().st_mtime_ns == lying.stat().st_mtime_ns

    for mode, said in (("ab", "changed while it was copied"), ("rb", "is in use")):
        running = Held("fsync", built / "ses-migrate", lying, env=union.environment(library=False))
        wait_until(is_copied, "nothing is copied")
        with lying.open(mode) as file:
            if mode == "ab":
                file.write(b"more")
                file.close()
            status, output = running.go_on()
        assert status == 1
        assert said in output
        assert union.copies(lying) == [0]
        assert lying.read_bytes()[3 << 20 :] == b"more"
        assert not list(union.path.glob(".ses-[pr]*"))


def test_a_program_that_opens_a_file_during_the_swap_keeps_it(built: Path, union: Union, lying: Path) -> None:
    """It is held before the rename, with its lease; the program that opens waits until that is given back."""
    union.agent.choose = lambda _: 1
    before, inode = lying.read_bytes(), lying.stat().st_ino
    environment = union.environment(library=False)
    running = Held("linkat", built / "ses-migrate", lying, env=environment, when=2)  # the first one places
    wait_until(lambda: list(union.path.glob(".ses-replaced.*")), "nothing is replaced")

    def write() -> None:
        with lying.open("r+b") as file:
            file.write(b"mine")

    def is_waited_for() -> bool:
        locks = Path("/proc/locks").read_text().splitlines()
        return any("LEASE  BREAKING" in line and f":{inode} " in line for line in locks)

    program = threading.Thread(target=write)
    program.start()
    wait_until(is_waited_for, "the program that opens does not wait")
    status, output = running.go_on()
    program.join()
    assert status == 1
    assert "is in use: it was opened just now" in output
    assert lying.read_bytes() == b"mine" + before[4:]
    assert union.copies(lying) == [0]
    assert not list(union.path.glob(".ses-[pr]*"))


def test_directories_are_named_with_what_to_do(union: Union, migrate: Migrate) -> None:
    (union.path / "directory").mkdir()
    report = migrate(union.path / "directory", status=1)
    assert "find DIRECTORY -type f -exec ses-migrate {} +" in report["failures"][0]


def test_a_file_whose_owner_or_group_would_change_stays(built: Path, union: Union, lying: Path) -> None:
    union.agent.choose = lambda _: 1
    union.path.chmod(0o777)
    lying.chmod(0o664)
    for owner, said in ((0, "belongs to another user"), (NOBODY, "owner and group cannot be kept")):
        os.chown(lying, owner, 0)
        person = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        command = [*person, built / "ses-migrate", "--assume-unused", lying]
        done = union.run(*command, library=False, check=False)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert (lying.stat().st_uid, lying.stat().st_gid) == (owner, 0)
        assert stat.S_IMODE(lying.stat().st_mode) == 0o664
        assert union.copies(lying) == [0]
        assert not list(union.path.glob(".ses-[pr]*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="files of several users need root")
@pytest.mark.parametrize("kind", ["file", "name of a file", "link", "directory", "FIFO"])
def test_what_another_user_put_in_the_partial_files_place_leads_nowhere(
    union: Union, lying: Path, tmp_path: Path, migrate: Migrate, kind: str
) -> None:
    """It is removed, or named where it stays; nothing is written through it."""
    union.agent.choose = lambda _: 1
    before = lying.read_bytes()
    victim, partial = union.path / "victim", lying.with_name(".ses-partial.data")
    outside = tmp_path / "outside"
    for path in (victim, outside):
        path.write_text("untouched")
        path.chmod(0o600)
    {
        "file": lambda: partial.write_text("planted"),
        "name of a file": lambda: os.link(victim, partial),
        "link": lambda: partial.symlink_to(outside),
        "directory": lambda: (partial / "kept").mkdir(parents=True),
        "FIFO": lambda: os.mkfifo(partial),
    }[kind]()
    if kind != "name of a file":
        os.chown(partial, NOBODY, NOBODY, follow_symlinks=False)
    report = migrate(lying, status=1 if kind == "directory" else 0)
    assert [path.read_text() for path in (victim, outside)] == ["untouched"] * 2
    assert [path.stat().st_mode & 0o7777 for path in (victim, outside)] == [0o600] * 2
    assert lying.read_bytes() == before
    assert lying.stat().st_uid == os.geteuid()
    if kind == "directory":
        (said,) = report["failures"]
        assert ".ses-partial.data beside it is in the way and cannot be removed" in said
        assert (partial / "kept").is_dir()
        assert union.copies(lying) == [0]
    else:
        assert not os.path.lexists(partial)
        assert union.copies(lying) == [1]
