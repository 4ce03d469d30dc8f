"""A placed file cannot be told from one the original call made, except by where its bytes live."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_agent import NOT_MANAGED, UNAVAILABLE, answer
from mergerfs_union import NOBODY, Union
from ran import ran

PLACED_FLAGS = {
    "write": os.O_WRONLY,
    "read": os.O_RDONLY,
    "read-write": os.O_RDWR,
    "exclusive": os.O_WRONLY | os.O_EXCL,
    "truncate": os.O_WRONLY | os.O_TRUNC,
    "read-truncate": os.O_RDONLY | os.O_TRUNC,
    "append": os.O_WRONLY | os.O_APPEND,
    "close-on-exec": os.O_WRONLY | os.O_CLOEXEC,
    "no-follow": os.O_WRONLY | os.O_NOFOLLOW,
    "synchronous": os.O_WRONLY | os.O_SYNC,
    "data-synchronous": os.O_WRONLY | os.O_DSYNC,
    "direct": os.O_WRONLY | os.O_DIRECT,
    "non-blocking": os.O_WRONLY | os.O_NONBLOCK,
    "no-terminal": os.O_WRONLY | os.O_NOCTTY,
    "no-access-time": os.O_RDWR | os.O_NOATIME,
    "everything": os.O_RDWR | os.O_EXCL | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_SYNC | os.O_NOFOLLOW,
}


def both(union: Union, program: Path, *arguments: str, target: str, **options: object) -> tuple[str, str]:
    """What the program prints without and with the library, in two directories made alike."""
    printed = []
    for library in (False, True):
        directory = union.path / ("with" if library else "without")
        directory.mkdir(exist_ok=True)
        done = union.run(program, *arguments, directory / target, library=library, **options)  # type: ignore[arg-type]
        printed.append(done.stdout.replace(str(directory), "DIRECTORY"))
    assert printed[0] != ""
    return printed[0], printed[1]


@pytest.mark.parametrize("name", PLACED_FLAGS)
@pytest.mark.parametrize("call", ["open", "openat"])
def test_descriptor_has_the_properties_of_the_plain_call(
    union: Union, probes: Path, call: str, name: str
) -> None:
    flags = os.O_CREAT | PLACED_FLAGS[name]
    union.agent.choose = lambda _: 1
    plain, placed = both(union, probes / "create", call, str(flags), "0644", "022", target="file")
    assert placed == plain
    assert "errno=4321" in placed
    assert union.copies(union.path / "with/file") == [1]
    assert len(union.agent.reports) == 1


@pytest.mark.parametrize("mode", ["0600", "0640", "0644", "0666", "0755", "0777", "0100644", "0170600"])
@pytest.mark.parametrize("mask", ["0", "022", "027", "077"])
def test_mode_is_that_of_the_plain_call(union: Union, probes: Path, mode: str, mask: str) -> None:
    plain, placed = both(union, probes / "create", "creat", "0", mode, mask, target="file")
    assert placed == plain
    assert len(union.agent.reports) == 1


@pytest.mark.parametrize(
    ("flags", "mode", "mask"),
    [
        (os.O_WRONLY, "0444", "0"),
        (os.O_RDWR, "0444", "0"),
        (os.O_RDWR, "0200", "0"),
        (os.O_WRONLY, "0", "0"),
        (os.O_WRONLY, "0666", "0777"),
        (os.O_WRONLY, "0666", "0200"),
        (os.O_WRONLY, "04755", "0"),
        (os.O_WRONLY, "02755", "0"),
        (os.O_WRONLY, "01644", "0"),
        (os.O_WRONLY, "0177644", "0"),
        (os.O_WRONLY | os.O_RDWR, "0644", "0"),
        (os.O_WRONLY | os.O_DIRECTORY, "0644", "0"),
        (os.O_PATH, "0644", "0"),
    ],
)
@pytest.mark.parametrize("user", [0, NOBODY])
def test_what_a_second_open_could_not_reproduce_is_left_to_the_plain_call(
    union: Union, probes: Path, flags: int, mode: str, mask: str, user: int
) -> None:
    printed = []
    for library in (False, True):
        directory = union.path / str(library)
        directory.mkdir()
        directory.chmod(0o777)
        done = union.run(
            *("setpriv", "--reuid", str(user), "--clear-groups"),
            *(probes / "create", "open", str(os.O_CREAT | flags), mode, mask, directory / "file"),
            library=library,
        )
        printed.append(done.stdout)
        created = os.path.lexists(directory / "file")
        printed[-1] += f"created={created}"
    assert printed[1] == printed[0]
    assert [report for report in union.agent.reports if report.outcome == 1] == []
    assert union.agent.leftovers() == []


def test_unnamed_temporary_file_keeps_its_mode(tmp_path: Path, union: Union, probes: Path) -> None:
    printed = [
        union.run(
            probes / "create", "open", str(os.O_TMPFILE | os.O_WRONLY), "0640", "0", tmp_path, library=library
        ).stdout
        for library in (False, True)
    ]
    assert printed[1] == printed[0]
    assert "mode=100640" in printed[1]


@pytest.mark.parametrize(
    "mode",
    [
        "w",
        "w+",
        "a",
        "a+",
        "wx",
        "wxe",
        "wb+",
        "we",
        "w+x",
        "ab",
        "wb+xe",
        "wabcdefx",
        "wbbbbbe",
        "wbbbbbbe",
        "w ,ccs=UTF-8",
        "wm",
        "wc",
        "r",
        "r+",
        "z",
        "",
    ],
)
@pytest.mark.parametrize("call", ["fopen", "freopen"])
def test_stream_is_that_of_the_plain_call(union: Union, probes: Path, call: str, mode: str) -> None:
    plain, placed = both(union, probes / "create", call, mode, "022", target="file")
    assert placed == plain
    exists = (union.path / "with/file").exists()
    assert exists == (union.path / "without/file").exists()
    left_alone = any(letter in mode for letter in "cm") or not exists or (call == "freopen" and "x" in mode)
    left_alone = left_alone or len(mode) > 7  # C libraries differ in how many letters they read
    assert len(union.agent.reports) == (0 if left_alone else 1)


@pytest.mark.parametrize(
    ("pattern", "suffix"),
    [
        ("aXXXXXX", "0"), ("XXXXXX", "0"), ("aXXXXXX.tar", "4"), ("aXXXXX", "0"), ("XXXXX", "0"),
        ("aXXXXXXb", "0"), ("aXXXXXX.tar", "3"), ("aXXXXXX", "-1"), ("XXXXXX", "200"), ("aXXXXXXXXXX", "0"),
        ("aXXXXXX.c", "2147483647"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [0, os.O_APPEND | os.O_CLOEXEC, os.O_WRONLY])
def test_temporary_file_is_that_of_the_plain_call(
    union: Union, probes: Path, pattern: str, suffix: str, flags: int
) -> None:
    plain, placed = both(union, probes / "create", "mkostemps", str(flags), suffix, "022", target=pattern)
    assert placed == plain
    assert len(union.agent.reports) == len(list((union.path / "without").iterdir()))


@pytest.mark.parametrize("reply", ["unavailable", "not-managed", "stage-missing"])
def test_temporary_file_that_is_not_placed_is_made_by_the_plain_call(
    union: Union, probes: Path, reply: str
) -> None:
    union.agent.reply = {
        "unavailable": lambda _, number: answer(placement_id=number, status=UNAVAILABLE),
        "not-managed": lambda *_: answer(placement_id=0, status=NOT_MANAGED),
        "stage-missing": lambda ask, number: union.agent.place(ask, number, stage="/nowhere/.ses/0"),
    }[reply]
    plain, placed = both(union, probes / "create", "mkostemps", "0", "4", "022", target="aXXXXXX.tar")
    assert placed == plain
    assert "named=1 fd=3" in placed
    assert len(union.agent.asks) == (2 if reply == "stage-missing" else 1)


@pytest.mark.parametrize(
    "mode", ["0100644", "0600", "0100000", "0100444", "010644", "0104755", "0140644", "040755"]
)
def test_node_is_that_of_the_plain_call(union: Union, probes: Path, mode: str) -> None:
    plain, placed = both(union, probes / "create", "mknod", mode, "022", target="file")
    assert placed == plain
    assert len(union.agent.reports) == (1 if mode in ("0100644", "0600") else 0)


@pytest.mark.parametrize("call", ["open", "openat", "creat", "mknod"])
def test_bad_address_gives_an_error_and_not_a_signal(union: Union, probes: Path, call: str) -> None:
    printed = [
        union.run(probes / "create", "badpointer", call, library=library).stdout for library in (False, True)
    ]
    assert printed[1] == printed[0]
    assert "errno=14 " in printed[1]


@pytest.mark.parametrize(
    "target",
    [
        "missing/file", "file/", "", "existing", "existing/below", "dangling", "loop/file", "link/file",
        "x" * 256, "./file", ".", "..", "directory/../file", "directory//file",
        "directory/" + "./" * 700 + "file",
    ],
)  # fmt: skip
@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
def test_names_of_all_kinds_give_the_result_of_the_plain_call(
    union: Union, probes: Path, target: str, exclusive: int
) -> None:
    flags = os.O_CREAT | os.O_WRONLY | exclusive
    printed, listed = [], []
    for library in (False, True):
        top = union.path / str(library)
        (top / "directory").mkdir(parents=True)
        (top / "existing").write_text("kept")
        (top / "dangling").symlink_to("beyond")
        (top / "loop").symlink_to("loop")
        (top / "link").symlink_to("directory")
        command = [probes / "create", "open", str(flags), "0644", "022", target]
        printed.append(union.run(*command, library=library, cwd=top).stdout)
        listed.append(sorted(str(path.relative_to(top)) for path in top.rglob("*")))
        assert (top / "existing").read_text() == "kept"
    assert printed[1] == printed[0]
    assert listed[1] == listed[0]
    assert union.agent.leftovers() == []


def test_existing_file_is_opened_truncated_and_appended_as_ever(union: Union, probes: Path) -> None:
    file = union.path / "file"
    for flags, expected in ((os.O_APPEND, "old+new"), (0, "+newnew"), (os.O_TRUNC, "+new")):
        file.write_text("old" if flags else "old+new")
        inode = file.stat().st_ino
        union.run(probes / "create", "write", str(os.O_CREAT | os.O_WRONLY | flags), "0644", "+new", file)
        assert file.read_text() == expected
        assert file.stat().st_ino == inode
    assert union.agent.asks == []


def test_descriptor_is_the_lowest_free_one(union: Union, probes: Path) -> None:
    assert union.run(probes / "process", "closed", union.path).stdout == "0\n"
    assert len(union.agent.reports) == 1


def test_handle_of_the_report_takes_none_of_the_standard_descriptors(union: Union, probes: Path) -> None:
    union.run(
        *("strace", "-qq", "-e", "trace=openat,fcntl,sendmsg,close", "-o", union.path.parent / "trace"),
        *(probes / "process", "closed", union.path),
    )
    trace = (union.path.parent / "trace").read_text()
    assert re.search(r"O_PATH\S*\) = 1\nfcntl\(1, F_DUPFD_CLOEXEC, 3\)", trace), trace
    assert re.search(r"SCM_RIGHTS, cmsg_data=\[[3-9]\]", trace), trace


@pytest.mark.parametrize(("free", "handles"), [(2, [False]), (3, [True])])
def test_two_free_descriptors_are_enough_to_be_placed(union: Union, free: int, handles: list[bool]) -> None:
    script = (
        "import os, resource, sys\n"
        "lowest = os.dup(0)\n"
        "os.close(lowest)\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + {free},) * 2)\n"
        "assert os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY) == lowest\n"
    )
    union.run(sys.executable, "-c", script, union.path / "file")
    assert [report.handle is not None for report in union.agent.reports] == handles


def test_last_free_descriptor_is_enough(union: Union, probes: Path) -> None:
    union.run(probes / "process", "descriptors", union.path)
    assert (union.path / "descriptors-0").exists()


def test_file_in_a_directory_that_hands_on_its_group_gets_that_group(union: Union, probes: Path) -> None:
    printed = []
    for library in (False, True):
        directory = union.path / str(library)
        directory.mkdir()
        os.chown(directory, -1, 1234)
        directory.chmod(0o2775)
        command = [probes / "create", "open", str(os.O_CREAT | os.O_RDWR), "0664", "002", directory / "file"]
        printed.append(union.run(*command, library=library).stdout)
    assert printed[1] == printed[0]
    assert "gid=1234" in printed[1]
    assert len(union.agent.reports) == 1


def test_group_a_user_may_not_give_away_is_left_to_the_plain_call(union: Union, probes: Path) -> None:
    directory = union.path / "directory"
    directory.mkdir()
    os.chown(directory, -1, 1234)
    directory.chmod(0o2777)
    command = [probes / "create", "open", str(os.O_CREAT | os.O_RDWR), "0664", "002", directory / "file"]
    done = union.run("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command)
    assert "gid=1234" in done.stdout
    assert [report.outcome for report in union.agent.reports] == [2]
    assert union.agent.leftovers() == []


def test_file_in_a_directory_with_a_default_acl_gets_that_acl(union: Union, probes: Path) -> None:
    printed = []
    for library in (False, True):
        directory = union.path / str(library)
        directory.mkdir()
        for path in [directory, *(branch / str(library) for branch in union.branches)]:
            if path.exists():
                subprocess.run(["setfacl", "-d", "-m", "u:1234:rw,m::rw", path], check=False, timeout=60)
        command = [probes / "create", "open", str(os.O_CREAT | os.O_RDWR), "0666", "077", directory / "file"]
        printed.append(union.run(*command, library=library).stdout)
        copy = next(
            branch / str(library) / "file"
            for branch in union.branches
            if (branch / str(library) / "file").exists()
        )
        entries = ran(["getfacl", "-c", copy])
        printed[-1] += entries.stdout
    assert printed[1] == printed[0]
    assert "user:1234:rw" in printed[1]
    assert [report for report in union.agent.reports if report.outcome == 1] == []
