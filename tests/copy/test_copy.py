"""ses-copy: what arrives is what was there, by the way that is reported, and nothing half done has a name."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mergerfs_union import Union
from mounts import unmount
from patience import wait_until
from ran import ran

Copy = Callable[..., dict[str, Any]]
WAYS = ("copy_file_range", "direct", "splice", "read-write")
MIB = 1 << 20


def tree(root: Path) -> None:
    """Files of every kind, with everything that belongs to them."""
    deep = root / "deep"
    deep.mkdir(parents=True)
    (root / "data").write_bytes(os.urandom(3 * MIB + 17))
    (root / "empty").touch()
    (root / "we\nird \udcff").write_text("a name")
    with (root / "sparse").open("wb") as file:
        file.seek(40 * MIB)
        file.write(b"x" * 5000)
        file.truncate(80 * MIB)
    os.link(root / "data", deep / "second name")
    (deep / "link").symlink_to("../data")
    (deep / "broken").symlink_to("/nowhere/at all")
    os.mkfifo(deep / "fifo", 0o640)
    subprocess.run(["setfacl", "-m", "u:nobody:rw,g::-", deep / "fifo"], check=True)
    (deep / "program").write_text("#!/bin/sh\n")
    (deep / "program").chmod(0o4755)
    (deep / "shut").write_text("nobody reads this")
    (deep / "shut").chmod(0)
    os.setxattr(deep / "shut", "user.note", b"\0binary")
    subprocess.run(["setfacl", "-m", "u:nobody:r", deep / "program"], check=True)
    if os.geteuid() == 0:
        os.chown(deep / "shut", 12345, 54321)
    for path in (root / "data", deep / "shut", deep, root):
        os.utime(path, ns=(10**18 + 1, 10**18 + 123456789))


def differences(source: Path, other: Path) -> str:
    """What rsync would still change, with owner, mode, times, attributes, ACLs and hard links."""
    command = [
        "rsync",
        "-aHAX",
        "--checksum",
        "--delete",
        "--dry-run",
        "--itemize-changes",
        f"{source}/",
        f"{other}/",
    ]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.decode(
        errors="replace"
    )


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A directory on another file system."""
    path = Path("/dev/shm") / f"ses-copy-{os.getpid()}-{time.monotonic_ns()}"
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def test_a_tree_arrives_with_all_that_belongs_to_it(tmp_path: Path, copy: Copy) -> None:
    tree(tmp_path / "from")
    report = copy("from", "to")
    assert differences(tmp_path / "from", tmp_path / "to") == ""
    assert (tmp_path / "to/sparse").stat().st_blocks == (tmp_path / "from/sparse").stat().st_blocks
    assert report["failures"] == report["warnings"] == []
    assert sum(way["files"] for way in report["ways"].values()) == report["files"] == 6
    assert not list((tmp_path / "to").rglob(".ses-*"))


def test_a_file_without_a_byte_took_no_way(tmp_path: Path, copy: Copy, built: Path) -> None:
    (tmp_path / "from").mkdir()
    for name in "ab":
        (tmp_path / "from" / name).touch()
    report = copy("--verbose", "from", "to")
    assert report["ways"] == {"none": {"files": 2, "bytes": 0}}
    assert {copied["way"] for copied in report["each"]} == {"none"}
    summary = ran([built / "ses-copy", tmp_path / "from", tmp_path / "again"]).stdout
    assert "without a byte: 2 files" in summary
    assert "reflink:" not in summary


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 4096, 70 * MIB + 4097], ids=["1B", "4kiB", "70MiB"])
def test_each_way_copies_every_byte(way: str, size: int, tmp_path: Path, copy: Copy) -> None:
    source = tmp_path / "from"
    source.write_bytes(os.urandom(min(size, MIB)) * (size // MIB + 1))
    os.truncate(source, size)
    report = copy("--way", way, "--verify", "--jobs", "3", "from", "to")
    assert report["ways"] == {way: {"files": 1, "bytes": size}}
    assert (tmp_path / "to").read_bytes() == source.read_bytes()


def test_a_way_that_is_impossible_is_named_and_the_next_one_taken(
    tmp_path: Path, elsewhere: Path, copy: Copy
) -> None:
    (tmp_path / "from").write_bytes(b"x" * 100_000)
    report = copy("from", elsewhere)
    assert set(report["ways"]) & {"splice", "read-write"}
    assert set(report["refused_ways"]) >= {"reflink", "copy_file_range"}
    report = copy("--way", "reflink", "from", elsewhere / "other", status=1)
    assert "cannot be copied by reflink" in report["stderr"]
    assert sorted(path.name for path in elsewhere.iterdir()) == ["from"]


def test_blocks_are_shared_where_the_file_system_can(tmp_path: Path, copy: Copy) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    image, mounted = tmp_path / "image", tmp_path / "btrfs"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(200 * MIB)
    subprocess.run(["mkfs.btrfs", "-q", image], check=True, timeout=120)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True, timeout=120)
    try:
        (mounted / "from").write_bytes(os.urandom(100_000))
        report = copy(mounted / "from", mounted / "to")
        assert report["ways"] == {"reflink": {"files": 1, "bytes": 100_000}}
        assert (mounted / "to").read_bytes() == (mounted / "from").read_bytes()
    finally:
        unmount(mounted)


@pytest.mark.parametrize("killed_by", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_copy_goes_on_where_it_was(
    built: Path, killed_by: signal.Signals, tmp_path: Path, elsewhere: Path, copy: Copy
) -> None:
    """strace holds the transfers from the 130th MiB on back until the signal has come."""
    source, target = tmp_path / "from", elsewhere / "to"
    source.write_bytes(os.urandom(MIB) * 160)
    held = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64"]
    held += ["-e", "inject=pwrite64:delay_enter=2000000:when=131+"]
    command = [built / "ses-copy", "--way", "read-write", "--jobs", "1", source, target]
    running = subprocess.Popen([*held, *command], stderr=subprocess.PIPE, text=True)
    partial = elsewhere / ".ses-partial.to"
    wait_until(lambda: partial.exists() and partial.stat().st_size >= 129 * MIB, "the copy never got so far")
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(children[0]), killed_by)
    _, said = running.communicate(timeout=60)
    assert running.returncode == (130 if killed_by == signal.SIGINT else -signal.SIGKILL)
    assert not target.exists()
    assert killed_by == signal.SIGKILL or "--resume" in said
    report = copy("--resume", "--way", "read-write", source, target)
    assert report["bytes"] == (160 - 128) * MIB
    assert target.read_bytes() == source.read_bytes()
    assert os.listxattr(target) == []
    assert not partial.exists()
    assert copy("--resume", source, target)["skipped"] == 1


def test_what_an_interrupted_copy_left_of_another_file_is_not_used(
    tmp_path: Path, elsewhere: Path, copy: Copy
) -> None:
    source = tmp_path / "from"
    source.write_bytes(b"right" * 1000)
    partial = elsewhere / ".ses-partial.to"
    partial.write_bytes(b"wrong" * 1000)
    now = source.stat()
    os.setxattr(
        partial, "user.ses.copy", f"1 {now.st_dev:x} {now.st_ino + 1} {now.st_size} 0.0 4000".encode()
    )
    copy("--resume", source, elsewhere / "to")
    assert (elsewhere / "to").read_bytes() == source.read_bytes()
    bait = elsewhere / "precious"
    bait.write_text("somebody else's")
    partial.symlink_to(bait)
    copy(source, elsewhere / "to")
    assert bait.read_text() == "somebody else's"


def test_what_cannot_be_copied_is_named_and_the_rest_is_copied(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from/good").write_text("good")
    (tmp_path / "to/from/bad").mkdir(parents=True)
    (tmp_path / "from/bad").write_text("a directory is in the way")
    report = copy("from", "missing", "to", status=1)
    assert (tmp_path / "to/from/good").read_text() == "good"
    assert report["failed"] == 2
    assert "missing: cannot be read: No such file or directory" in report["failures"]
    assert any("is a directory" in text for text in report["failures"])


def test_a_full_file_system_ends_the_copy_and_leaves_no_half_file(tmp_path: Path, copy: Copy) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=True, timeout=60)
    try:
        (tmp_path / "from").write_bytes(b"x" * 3 * MIB)
        (small / "from").write_text("what was there")
        report = copy("from", small, status=1)
        assert "No space left on device" in report["failures"][0]
        assert {path.name: path.read_text() for path in small.iterdir()} == {"from": "what was there"}
    finally:
        unmount(small)


def test_a_directory_is_not_copied_into_itself(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from/in").mkdir(parents=True)
    report = copy("from", "from/in/to", status=1)
    assert "is not copied into itself" in report["stderr"]
    assert not (tmp_path / "from/in/to").exists()
    (tmp_path / "from/file").touch()
    assert "is the same file" in copy("from/file", "from/file", status=1)["stderr"]


def test_a_target_that_is_there_is_replaced_at_once_or_kept(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").write_text("new")
    (tmp_path / "to").write_text("old")
    with (tmp_path / "to").open() as reader:
        assert copy("--no-clobber", "from", "to")["skipped"] == 1
        assert (tmp_path / "to").read_text() == "old"
        copy("from", "to")
        assert reader.read() == "old", "a reader of the old one goes on with it"
    assert (tmp_path / "to").read_text() == "new"


def test_what_is_asked_wrongly_is_said(built: Path, tmp_path: Path) -> None:
    for arguments, said in {
        (): "what is to be copied",
        ("a",): "where is it to be copied to?",
        ("--bogus", "a", "b"): "--bogus is no option",
        ("--assume-unused", "a", "b"): "--assume-unused is no option",
        ("--way", "fast", "a", "b"): "--way is reflink",
        ("--jobs", "0", "a", "b"): "--jobs needs a number",
        ("--require", "write>=fast", "a", "b"): "is not understood from 'write>=fast'",
        ("--require", "write>=5MBs", "a", "b"): 'did you mean "write>=5MB/s"?',
    }.items():
        done = ran([built / "ses-copy", *arguments], code=None, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_copies_are_placed(built: Path, union: Union, tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"file{number}").write_text(str(number))
    union.agent.choose = lambda number: number % 3
    done = union.run(
        built / "ses-copy", "--verbose", "--jobs", "1", "--require", "write>=50MB/s",
        *(tmp_path / f"file{number}" for number in range(6)), union.path, library=False,
    )  # fmt: skip
    assert [union.copies(union.path / f"file{number}") for number in range(6)] == [[1], [2], [0]] * 2
    assert done.stdout.count("on union/b") == 6
    assert "6 placed" in done.stdout
    (ask, *_) = union.agent.asks
    assert [requirement[2] for requirement in ask.requirements] == [50.0]
    assert ask.expected_bytes == 1
    assert ask.application == "ses-copy"


def test_a_small_file_costs_no_more_system_calls_than_with_cp(built: Path, tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    for number in range(100):
        (tmp_path / f"from/{number}").write_text("small")
    calls = {}
    for name, program in {"ses-copy": [built / "ses-copy"], "cp": ["cp", "-a"]}.items():
        counted = ["strace", "-f", "-c", "-U", "calls", "-e", "trace=!futex", "-o", tmp_path / "calls"]
        run = [*counted, *program, "from", f"to {name}"]
        subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=120)
        *_, total, _ = (tmp_path / "calls").read_text().split()
        calls[name] = int(total)
    assert len(list((tmp_path / "to ses-copy").iterdir())) == 100
    assert calls["ses-copy"] <= calls["cp"], calls


def test_nobody_is_let_in_by_what_the_target_directory_hands_on(tmp_path: Path, copy: Copy) -> None:
    tree(tmp_path / "from")
    (tmp_path / "to").mkdir()
    subprocess.run(["setfacl", "-d", "-m", "u:nobody:rwx", tmp_path / "to"], check=True)
    copy(tmp_path / "from", tmp_path / "to")
    assert differences(tmp_path / "from", tmp_path / "to/from") == ""


@pytest.mark.parametrize("answer", ["", "EEXIST", "ENOENT"])
def test_a_small_file_in_a_fresh_directory_has_no_name_until_it_is_whole(
    answer: str, built: Path, tmp_path: Path, elsewhere: Path
) -> None:
    """Where the name is taken meanwhile, it is replaced; where the call is not allowed, another serves."""
    (tmp_path / "from").mkdir()
    for number in range(3):
        (tmp_path / f"from/{number}").write_text(f"small {number}")
    traced = ["strace", "-f", "-o", tmp_path / "calls", "-e", "trace=linkat,openat"]
    inject = ["-e", f"inject=linkat:error={answer}:when=1"] if answer else []
    run = [*traced, *inject, built / "ses-copy", "--jobs", "1", tmp_path / "from", elsewhere / "to"]
    subprocess.run(run, check=True, capture_output=True, timeout=120)
    assert {path.name: path.read_text() for path in (elsewhere / "to").iterdir()} == {
        str(number): f"small {number}" for number in range(3)
    }
    calls = (tmp_path / "calls").read_text()
    assert calls.count("O_TMPFILE") == 2  # the first one tells that nobody places files there
    assert calls.count("(INJECTED)") == bool(answer)
