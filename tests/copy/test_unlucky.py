"""ses-copy where somebody is careless or means harm: what is said, what is kept, what is never touched."""

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from held_program import Held
from mergerfs_union import Union
from mounts import small_disk, unmount
from patience import wait_until
from ran import ran

Copy = Callable[..., dict[str, Any]]
MIB = 1 << 20
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@contextmanager
def mounted(kind: str, options: str, path: Path) -> Iterator[Path]:
    path.mkdir()
    subprocess.run(["mount", "-t", kind, "-o", options, "none", path], check=True, timeout=60)
    try:
        yield path
    finally:
        unmount(path)


def test_a_device_or_fifo_is_not_replaced_by_a_file(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").write_text("bytes")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for target in ("fifo", "link", "/dev/null"):
        report = copy("from", target, status=1)
        assert "is a device, FIFO or socket, which a file does not replace" in report["stderr"]
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_link_inside_the_target_leads_nowhere(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from/in").mkdir(parents=True)
    (tmp_path / "from/in/file").write_text("bytes")
    (tmp_path / "from/in").chmod(0o700)
    (tmp_path / "precious").mkdir(mode=0o755)
    (tmp_path / "to").mkdir()
    (tmp_path / "to/in").symlink_to("../precious")
    report = copy("from/.", "to", status=1)
    assert "to/in: is a symbolic link, which is not followed out of the target" in report["failures"]
    assert list((tmp_path / "precious").iterdir()) == []
    assert stat.S_IMODE((tmp_path / "precious").stat().st_mode) == 0o755
    (tmp_path / "asked for").symlink_to("precious")
    copy("from/.", "asked for")
    assert (tmp_path / "precious/in/file").read_text() == "bytes"


def directories_of(length: int, top: str) -> str:
    """The path of a directory below ``top``, of so many bytes, with the directories on its way."""
    path = top
    while (left := length - len(path)) > 0:
        path += "/" + "d" * (min(left, 252) - 1 - (left in (253, 254)))
    here = os.open(".", os.O_RDONLY)
    for name in path.split("/"):  # by descriptors: it may be longer than a path can be
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    return path


LONGEST = 4095


@pytest.mark.parametrize("options", [(), ("--resume",)], ids=["whole", "resumed"])
def test_a_file_with_the_longest_path_is_copied(
    tmp_path: Path, copy: Copy, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """That which it has until it is whole would be too long."""
    monkeypatch.chdir(tmp_path)
    directory = directories_of(LONGEST - 5, "from")
    Path(directory, "file").write_text("bytes")
    report = copy(*options, "from", "copy")
    assert report["files"] == 1
    copied = Path(directory.replace("from", "copy", 1))
    assert [path.name for path in copied.iterdir()] == ["file"]
    assert (copied / "file").read_text() == "bytes"


def test_what_lies_deeper_than_a_path_can_be_is_reported_with_the_next_step(
    tmp_path: Path, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the rest is copied."""
    monkeypatch.chdir(tmp_path)
    directories_of(LONGEST + 300, "from")
    (tmp_path / "from/file").write_text("bytes")
    report = copy("from", "to", status=1)
    (failure,) = report["failures"]
    assert "its path is longer than the 4095 bytes that the kernel takes; go into a directory" in failure
    assert (tmp_path / "to/file").read_text() == "bytes"


def test_a_file_that_says_it_is_empty_and_is_not_is_copied(tmp_path: Path, copy: Copy) -> None:
    assert Path("/proc/version").stat().st_size == 0
    report = copy("/proc/version", "to")
    assert (tmp_path / "to").read_bytes() == Path("/proc/version").read_bytes()
    assert report["bytes"] == (tmp_path / "to").stat().st_size


def test_where_few_threads_may_be_started_those_copy_all(built: Path, tmp_path: Path) -> None:
    """As with stacks of 1 GB, which threads have too, and a limit of memory."""
    (tmp_path / "from").mkdir()
    for number in range(50):
        (tmp_path / f"from/{number}").write_text(f"{number}")
    limits = ["prlimit", "--as=4000000000", "--stack=1000000000"]
    command = [*limits, built / "ses-copy", "--jobs", "8", tmp_path / "from", tmp_path / "to"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("50 files")


@pytest.mark.parametrize(("change", "said"), [(MIB, "changed while"), (-MIB, "became shorter")])
def test_a_source_that_changes_meanwhile_gives_no_copy(
    change: int, said: str, built: Path, tmp_path: Path
) -> None:
    """It is held behind its first bytes until the source has another size."""
    source, partial = tmp_path / "from", tmp_path / ".ses-partial.to"
    source.write_bytes(os.urandom(3 * MIB))
    command = (built / "ses-copy", "--way", "read-write", "--jobs", "1", source, tmp_path / "to")
    running = Held("pwrite64", *command)
    wait_until(lambda: partial.exists() and partial.stat().st_size == MIB, "nothing is copied")
    os.truncate(source, 3 * MIB + change)
    status, output = running.go_on()
    assert status == 1
    assert said in output
    assert [path.name for path in tmp_path.iterdir()] == ["from"]


@needs_root
def test_without_its_access_list_a_file_lets_nobody_more_in(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").write_text("for one user, not for the group")
    (tmp_path / "from").chmod(0o640)
    subprocess.run(["setfacl", "-m", "u:nobody:rw,g::-,m::rw", tmp_path / "from"], check=True)
    assert stat.S_IMODE((tmp_path / "from").stat().st_mode) == 0o660
    with mounted("ramfs", "mode=755", tmp_path / "without lists") as target:
        report = copy("from", target)
        assert "not kept: attribute system.posix_acl_access: Operation not supported" in report["stderr"]
        assert stat.S_IMODE((target / "from").stat().st_mode) == 0o600


@needs_root
@pytest.mark.parametrize(
    ("listed", "mode"),
    [
        ("u:nobody:-,g::r,m::rwx", 0o640),
        ("g:nogroup:-,g::r,m::rwx", 0o640),
        ("u:nobody:rw,g::r,m::-", 0o600),
        ("u:nobody:rwx,g::r", 0o644),
    ],
)
def test_who_was_kept_out_by_a_list_is_kept_out_without_it(
    tmp_path: Path, copy: Copy, listed: str, mode: int
) -> None:
    """With all others: a mode names nobody."""
    (tmp_path / "from").write_text("for all but one")
    (tmp_path / "from").chmod(0o644)
    subprocess.run(["setfacl", "-m", listed, tmp_path / "from"], check=True)
    with mounted("ramfs", "mode=755", tmp_path / "without lists") as target:
        copy("from", target)
        assert stat.S_IMODE((target / "from").stat().st_mode) == mode


@needs_root
def test_files_that_their_owner_may_not_write_keep_their_attributes(built: Path, tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    for number in range(8):
        (tmp_path / f"from/{number}").write_text("bytes")
        os.setxattr(tmp_path / f"from/{number}", "user.note", b"kept")
        (tmp_path / f"from/{number}").chmod(0o444)
    weak = ["setpriv", "--bounding-set=-dac_override,-fowner", built / "ses-copy", "from", "to"]
    done = ran(weak, cwd=tmp_path)
    assert done.stderr == ""
    copies = list((tmp_path / "to").iterdir())
    assert {(os.getxattr(path, "user.note"), stat.S_IMODE(path.stat().st_mode)) for path in copies} == {
        (b"kept", 0o444)
    }
    assert len(copies) == 8


def test_an_attribute_that_cannot_be_kept_costs_no_other(built: Path, tmp_path: Path) -> None:
    (tmp_path / "from").write_text("bytes")
    for name in ("user.one", "user.two"):
        os.setxattr(tmp_path / "from", name, b"kept")
    refused = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsetxattr"]
    refused += ["-e", "inject=fsetxattr:error=ENOSPC:when=1"]
    command = [*refused, built / "ses-copy", tmp_path / "from", tmp_path / "to"]
    done = ran(command)
    assert "not kept: attribute user." in done.stderr
    assert len(os.listxattr(tmp_path / "to")) == 1


def test_holes_stay_where_the_file_system_does_not_tell_them(
    built: Path, union: Union, tmp_path: Path
) -> None:
    source = union.path / "sparse"
    with source.open("wb") as file:
        file.seek(33 * MIB + 5)
        file.write(b"x" * 5000)
        file.truncate(128 * MIB + 1)
    done = union.run(built / "ses-copy", "--verify", source, tmp_path / "to", library=False)
    assert "1 file" in done.stdout
    assert (tmp_path / "to").stat().st_size == 128 * MIB + 1
    assert (tmp_path / "to").stat().st_blocks * 512 < MIB


@needs_root
def test_a_copy_goes_on_once_there_is_room(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").mkdir(mode=0o750)
    for number in range(3):
        (tmp_path / f"from/{number}").write_bytes(os.urandom(MIB))
    os.link(tmp_path / "from/0", tmp_path / "from/again")
    with mounted("tmpfs", "size=2500k", tmp_path / "small") as small:
        report = copy("--jobs", "1", "from", small, status=1)
        assert "No space left on device" in report["failures"][0]
        assert "once there is room, the same command with --resume goes on" in report["stderr"]
        assert all(path.stat().st_size == MIB for path in (small / "from").iterdir())
        subprocess.run(["mount", "-o", "remount,size=8m", small], check=True, timeout=60)
        assert copy("--resume", "from", small)["skipped"] == 2
        assert {path.name for path in (small / "from").iterdir()} == {"0", "1", "2", "again"}
        assert (small / "from/0").stat().st_ino == (small / "from/again").stat().st_ino
        assert stat.S_IMODE((small / "from").stat().st_mode) == 0o750


@needs_root
@pytest.mark.parametrize("more", [(), ("--sync",)], ids=["", "on the device"])
def test_a_full_disk_behind_a_union_that_keeps_bytes_back_gives_no_copy(
    tmp_path: Path, copy: Copy, make_union: Callable[..., Union], more: tuple[str, ...]
) -> None:
    """The union says at the end that there was no room."""
    (tmp_path / "from").write_bytes(os.urandom(4 * MIB))
    with small_disk(tmp_path / "disk", 2) as disk:
        union = make_union(options="cache.writeback=true,cache.files=auto-full", branches=[disk])
        (union.path / "from").write_text("what was there")
        report = copy(*more, "from", union.path, status=1)
        assert "No space left on device" in report["failures"][0]
        assert {path.name: path.read_text() for path in disk.iterdir()} == {"from": "what was there"}


def test_a_further_name_leads_to_no_file_that_was_not_copied(built: Path, tmp_path: Path) -> None:
    for name in ("from", "to/from"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "from/a").write_text("bytes")
    os.link(tmp_path / "from/a", tmp_path / "from/b")
    for name in ("a", "b"):
        (tmp_path / "to/from" / name).write_text("what was there")
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat"]
    command += ["-e", "inject=renameat:error=EIO:when=1", built / "ses-copy", "from", "to"]
    done = ran(command, code=1, cwd=tmp_path)
    assert "cannot be given its name: Input/output error" in done.stderr
    assert "which was not copied" in done.stderr
    assert [(path.read_text(), path.stat().st_nlink) for path in (tmp_path / "to/from").iterdir()] == [
        ("what was there", 1)
    ] * 2
    subprocess.run(command[-3:], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert [(path.read_text(), path.stat().st_nlink) for path in (tmp_path / "to/from").iterdir()] == [
        ("bytes", 2)
    ] * 2


def test_what_an_interrupted_copy_left_is_taken_for_no_file(tmp_path: Path, copy: Copy) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "to/from").mkdir(parents=True)
    for number in range(8):
        (tmp_path / f"from/{number}").write_bytes(b"whole" * 500_000)
        (tmp_path / f"from/.ses-partial.{number}").write_bytes(b"half" * 500_000)
    report = copy("--jobs", "4", "from", "to")
    assert report["skipped"] == 8
    assert {path.name: path.read_bytes()[:5] for path in (tmp_path / "to/from").iterdir()} == {
        str(number): b"whole" for number in range(8)
    }
    copy("from/.ses-partial.1", "to/1")
    assert (tmp_path / "to/1").read_bytes()[:4] == b"half", "whoever names it has it"


@pytest.mark.parametrize("options", [(), ("--resume",)], ids=["whole", "resumed"])
def test_of_two_copies_to_one_target_the_second_is_refused(
    built: Path, tmp_path: Path, copy: Copy, options: tuple[str, ...]
) -> None:
    """The first one is stopped when it has written 1 MiB of two, until the second has ended."""
    (tmp_path / "first").write_bytes(b"1" * 2 * MIB)
    (tmp_path / "second").write_bytes(b"2" * 2 * MIB)
    command = (built / "ses-copy", "--way", "read-write", "--jobs", "1", "first", "to")
    running = Held("pwrite64", *command, cwd=tmp_path)
    partial = tmp_path / ".ses-partial.to"
    wait_until(lambda: partial.exists() and partial.stat().st_size == MIB, "nothing is copied")
    try:
        report = copy(*options, "second", "to", status=1)
        assert "to: is the target of another copy that is running" in report["failures"]
        assert not (tmp_path / "to").exists()
    finally:
        ended = running.go_on()
    assert ended == (0, "")
    assert (tmp_path / "to").read_bytes() == b"1" * 2 * MIB
    assert copy(*options, "second", "to")["files"] == 1
    assert (tmp_path / "to").read_bytes() == b"2" * 2 * MIB


def test_of_two_sources_of_one_name_the_first_is_copied(tmp_path: Path, copy: Copy) -> None:
    for name in ("run1", "run2", "to"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "output").write_text(name)
    report = copy("run1/output", "run2/output/", "to", status=1)
    assert report["failures"] == ["run2/output/: is not copied, as run1/output gets the same name in to"]
    assert (tmp_path / "to/output").read_text() == "run1"


@pytest.mark.parametrize("kind", ["symlinkat", "linkat", "mknodat"])
def test_what_is_there_stays_where_a_link_cannot_be_made(kind: str, built: Path, tmp_path: Path) -> None:
    for name in ("from", "to/from"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    made = tmp_path / "from/made"
    if kind == "symlinkat":
        made.symlink_to("file")
    elif kind == "linkat":
        os.link(tmp_path / "from/file", made)
    else:
        os.mkfifo(made)
    there = tmp_path / "to/from" / ("made" if kind != "linkat" else "file")
    there.write_text("what was there")
    (tmp_path / "to/from/made").write_text("what was there")
    refused = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={kind}"]
    command = [*refused, "-e", f"inject={kind}:error=ENOSPC", built / "ses-copy", "from", "to"]
    done = ran(command, code=1, cwd=tmp_path)
    assert "No space left on device" in done.stderr
    assert "what was there" in {path.read_text() for path in (tmp_path / "to/from").iterdir()}
    done = subprocess.run(command[len(refused) + 2 :], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "to/from").iterdir()) == ["file", "made"]
    assert stat.S_IFMT((tmp_path / "to/from/made").lstat().st_mode) == stat.S_IFMT(made.lstat().st_mode)


def test_directories_are_entered_deeper_than_files_may_be_open(built: Path, tmp_path: Path) -> None:
    deep = tmp_path / "from" / "/".join(["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "file").write_text("bytes")
    command = ["prlimit", "--nofile=40", built / "ses-copy", "from", "to"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert (tmp_path / "to" / deep.relative_to(tmp_path / "from") / "file").read_text() == "bytes"


@needs_root
def test_a_directory_that_cannot_be_read_is_named(built: Path, tmp_path: Path) -> None:
    (tmp_path / "from/shut").mkdir(parents=True)
    (tmp_path / "from/file").write_text("bytes")
    (tmp_path / "from/shut").chmod(0)
    weak = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", built / "ses-copy", "from", "to"]
    done = ran(weak, code=1, cwd=tmp_path)
    assert (tmp_path / "to/file").read_text() == "bytes"
    assert "ses-copy: from/shut: cannot be read: Permission denied" in done.stderr
    assert "to/shut: not kept: from/shut: cannot be opened: Permission denied" in done.stderr


def test_a_copy_under_nohup_goes_on_when_its_terminal_is_gone(built: Path, tmp_path: Path) -> None:
    (tmp_path / "from").write_text("bytes")
    hung_up = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64"]
    hung_up += ["-e", "inject=pwrite64:signal=SIGHUP"]
    command = ["nohup", *hung_up, built / "ses-copy", "--way", "read-write", "from", "to"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert (tmp_path / "to").read_text() == "bytes"


def test_what_is_said_to_a_closed_stream_is_in_no_file(built: Path, tmp_path: Path) -> None:
    """strace lets an attribute get lost, which is said while the copy is open."""
    (tmp_path / "from").write_text("bytes")
    os.setxattr(tmp_path / "from", "user.note", b"lost")
    refused = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsetxattr"]
    refused += ["-e", "inject=fsetxattr:error=ENOSPC"]
    command = [*refused, "sh", "-c", 'exec "$0" from to >&- 2>&-', built / "ses-copy"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "to").read_text() == "bytes"
