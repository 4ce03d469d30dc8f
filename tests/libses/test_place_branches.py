"""A file lies on the branch the agent named, once, and nothing is left behind when that cannot be."""

import errno
import os
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_agent import NOT_CREATED, Ask
from mergerfs_union import NOBODY, Union
from mounts import unmount
from patience import wait_until

EEXIST, ENOSPC, EACCES, EXDEV = 17, 28, 13, 18
WRITE = str(os.O_CREAT | os.O_WRONLY)


@pytest.mark.parametrize("branch", [0, 1, 2])
def test_file_lies_on_the_branch_that_was_named(union: Union, branch: int) -> None:
    union.agent.choose = lambda _: branch
    union.run("dd", "if=/dev/zero", "of=file", "bs=1000", "count=1")
    base = os.getxattr(union.path / "file", "user.mergerfs.basepath").decode()
    assert Path(base) == union.branches[branch]
    assert union.copies(union.path / "file") == [branch]
    assert (union.path / "file").stat().st_size == 1000
    assert (union.path / "file").stat().st_nlink == 1


def test_missing_directories_are_made_on_the_branch_as_they_are_elsewhere(union: Union, probes: Path) -> None:
    outer, inner = union.branches[0] / "outer", union.branches[0] / "outer/inner"
    inner.mkdir(parents=True)
    for directory, owner, mode in ((inner, 1234, 0o701), (outer, 4321, 0o755)):
        os.chown(directory, owner, owner + 1)
        directory.chmod(mode)
    union.agent.choose = lambda _: 2
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "outer/inner/file")
    assert union.copies(union.path / "outer/inner/file") == [2]
    for directory, owner, mode in (("outer", 4321, 0o755), ("outer/inner", 1234, 0o701)):
        stat = (union.branches[2] / directory).stat()
        assert (stat.st_uid, stat.st_gid, stat.st_mode & 0o7777) == (owner, owner + 1, mode)


def test_other_users_are_served_in_their_own_staging_directory(union: Union, probes: Path) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    union.agent.choose = lambda _: 1
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    done = union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert f"uid={NOBODY} gid={NOBODY}" in done.stdout
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(1, 0)]
    assert [ask.uid for ask in union.agent.asks] == [NOBODY]
    assert union.copies(directory / "file") == [1]


def test_directory_a_user_may_not_write_to_stays_closed(union: Union, probes: Path) -> None:
    directory = union.path / "closed"
    directory.mkdir()
    user = ("setpriv", "--reuid", str(NOBODY), "--clear-groups", "--")
    done = union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert f"errno={EACCES}" in done.stdout
    assert list(directory.iterdir()) == []
    assert union.agent.leftovers() == []
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EXDEV)], "no branch's"


def test_directory_that_hands_on_a_group_of_others_leads_to_the_plain_call(
    union: Union, probes: Path
) -> None:
    directory = union.path / "of a group"
    directory.mkdir()
    os.chown(directory, -1, 4321)
    directory.chmod(0o2777)
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    done = union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert f"uid={NOBODY} gid=4321" in done.stdout
    assert union.agent.leftovers() == []
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EXDEV)], "no branch's"


@pytest.mark.parametrize(("ours", "others"), [(16, 0), (8, 8)])
def test_of_racing_creators_exactly_one_wins_and_one_copy_exists(
    union: Union, probes: Path, ours: int, others: int
) -> None:
    """Ours are sent to different branches; the others know nothing of us."""
    tries = 60
    union.agent.choose = lambda number: number % 3
    directory = union.path / "races"
    directory.mkdir()

    def start(creators: int, library: bool) -> subprocess.Popen[str]:
        command = [str(part) for part in (probes / "process", "race", creators, tries, directory)]
        environment = union.environment(library=library)
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    running = [start(ours, library=True)]
    wait_until(lambda: any(report.outcome == 1 for report in union.agent.reports), "nothing was placed")
    if others:
        running.append(start(others, library=False))
    lines = []
    for process in running:
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        lines += [tuple(int(word) for word in line.split()) for line in output.splitlines()]
    creators = ours + others
    union.agent.settle()
    assert Counter(number for number, _, _ in lines) == dict.fromkeys(range(tries), creators)
    assert Counter(number for number, _, error in lines if error == 0) == dict.fromkeys(range(tries), 1)
    assert {error for _, _, error in lines} == {0, EEXIST}
    for number in range(tries):
        assert len(union.copies(directory / f"race-{number}")) == 1
        assert (directory / f"race-{number}").stat().st_nlink == 1
    assert union.agent.leftovers() == []


def test_creators_without_exclusion_share_one_file(union: Union) -> None:
    union.agent.choose = lambda number: number % 3
    script = "for i in 0 1 2 3 4 5 6 7 8 9; do echo $0 >> line-$i; done"
    running = [
        subprocess.Popen(["bash", "-c", script, str(n)], env=union.environment(), cwd=union.path)
        for n in range(6)
    ]
    assert [process.wait(120) for process in running] == [0] * 6
    union.agent.settle()
    for i in range(10):
        file = union.path / f"line-{i}"
        assert sorted(file.read_text().split()) == ["0", "1", "2", "3", "4", "5"]
        assert len(union.copies(file)) == 1
    assert union.agent.leftovers() == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB and few inodes, for a branch that is full."""
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=8", "none", path], check=True, timeout=60
    )
    yield path
    subprocess.run(["umount", "-l", path], check=True, timeout=60)


def test_full_branch_leads_to_the_plain_call(
    make_union: Callable[..., Union], tmp_path: Path, small_disk: Path, probes: Path
) -> None:
    union = make_union(branches=[tmp_path / "roomy", small_disk])
    union.agent.choose = lambda _: 1
    union.agent.stages(1, 0)
    names = (small_disk / str(number) for number in range(100))
    with pytest.raises(OSError, match="No space left"):
        deque((name.touch() for name in names), maxlen=0)
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file")
    assert union.copies(union.path / "file") == [0]
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, ENOSPC)]


def test_branch_where_only_a_file_of_no_size_fits_leads_to_the_plain_call(
    make_union: Callable[..., Union], tmp_path: Path, small_disk: Path
) -> None:
    """The branch became full after it was chosen."""
    union = make_union(branches=[tmp_path / "roomy", small_disk])
    union.agent.choose = lambda _: 1
    union.agent.stages(1, 0)
    subprocess.run(["fallocate", "-l", "60k", small_disk / "of-others"], check=True, timeout=60)
    union.run("dd", "if=/dev/zero", "of=file", "bs=64k", "count=2")
    assert (union.path / "file").stat().st_size == 128 << 10
    assert union.copies(union.path / "file") == [0]
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, ENOSPC)]
    assert union.agent.leftovers() == []


def test_stage_one_may_not_enter_leads_to_the_plain_call(union: Union, probes: Path) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    top = union.agent.stages(0, NOBODY)[0].parent
    top.chmod(0o700)
    user = ("setpriv", "--reuid", str(NOBODY), "--clear-groups", "--")
    union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert (directory / "file").exists()
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EACCES)]


def test_staged_name_that_is_taken_is_not_touched(union: Union, probes: Path) -> None:
    stage = union.agent.stages(0, 0)[0]
    (stage / f"{77:016x}").write_text("somebody's")
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, placement_id=77)
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file")
    assert (union.path / "file").exists()
    assert (stage / f"{77:016x}").read_text() == "somebody's"
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EEXIST)]


@pytest.mark.parametrize("option", ["rw", "ro"])
def test_bind_mount_of_a_union_leads_to_the_plain_call(
    union: Union, probes: Path, tmp_path: Path, option: str
) -> None:
    bound = tmp_path / "bound"
    bound.mkdir()
    (union.path / "part").mkdir()
    subprocess.run(["mount", "--bind", union.path / "part", bound], check=True, timeout=60)
    subprocess.run(["mount", "-o", f"remount,bind,{option}", bound], check=True, timeout=60)
    try:
        union.run(probes / "create", "open", WRITE, "0644", "022", bound / "file")
    finally:
        unmount(bound)
    assert (union.path / "part/file").exists() == (option == "rw")
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EXDEV)]
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
@pytest.mark.parametrize("exdev", ["passthrough", "rel-symlink", "abs-base-symlink", "abs-pool-symlink"])
def test_union_that_keeps_links_beside_their_directories_leads_to_the_plain_call(
    make_union: Callable[..., Union], probes: Path, exclusive: int, exdev: str
) -> None:
    union = make_union(options=f"category.create=epmfs,link-exdev={exdev}")
    (union.branches[0] / "only-here").mkdir()
    union.agent.choose = lambda _: 1
    file = union.path / "only-here/file"
    done = union.run(probes / "create", "open", str(int(WRITE) | exclusive), "0644", "022", file)
    assert "fd=3 " in done.stdout
    assert union.copies(file) == [0]
    assert file.is_file()
    assert not file.is_symlink()
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, EXDEV)]
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("inodes", ["passthrough", "path-hash", "devino-hash", "hybrid-hash", "path-hash32"])
@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
def test_every_way_of_numbering_inodes_will_do(
    make_union: Callable[..., Union], probes: Path, inodes: str, exclusive: int
) -> None:
    union = make_union(options=f"category.create=mfs,inodecalc={inodes}")
    union.agent.choose = lambda _: 1
    done = union.run(
        probes / "create", "open", str(int(WRITE) | exclusive), "0644", "022", union.path / "file"
    )
    assert "fd=3 " in done.stdout
    assert "links=1 " in done.stdout
    assert union.copies(union.path / "file") == [1]
    assert [report.outcome for report in union.agent.reports] == [1]


@pytest.mark.parametrize(
    "options",
    [
        "cache.attr=10,cache.entry=10,cache.negative_entry=10",
        "cache.attr=0,cache.entry=0",
        "cache.files=full",
    ],
)
def test_every_way_of_caching_will_do(make_union: Callable[..., Union], probes: Path, options: str) -> None:
    union = make_union(options=f"category.create=mfs,{options}")
    union.agent.choose = lambda number: number % 3
    union.run(probes / "process", "many", "30", union.path)
    assert [report.outcome for report in union.agent.reports] == [1] * 30
    for number in range(30):
        file = union.path / f"many-{number}"
        assert len(union.copies(file)) == 1
        assert file.stat().st_nlink == 1
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("options", ["umask=022", "umask=002", "uid=1234", "gid=1234", "uid=1234,gid=1234"])
@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
def test_union_that_shows_all_files_with_one_owner_or_mode_leads_to_the_plain_call(
    make_union: Callable[..., Union], probes: Path, options: str, exclusive: int
) -> None:
    """What was made there is not known again: an exclusive create must not meet its own file."""
    union = make_union(options=f"category.create=ff,{options}")
    union.agent.choose = lambda _: 1
    plain, placed = (
        union.run(
            probes / "create", "open", str(int(WRITE) | exclusive), "0644", "022", union.path / name,
            library=library,
        ).stdout
        for name, library in (("plain", False), ("placed", True))
    )  # fmt: skip
    assert placed == plain
    assert "fd=3 " in placed
    assert union.copies(union.path / "placed") == [0 if exclusive else 1]
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, errno.EOPNOTSUPP)]
    union.run("mktemp", "-p", union.path)
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("flags", [os.O_CREAT | os.O_RDWR, os.O_CREAT | os.O_EXCL | os.O_RDWR])
@pytest.mark.parametrize("links", [1, 2])
def test_file_that_somebody_put_in_the_place_of_the_staged_one_is_never_opened(
    union: Union, probes: Path, flags: int, links: int
) -> None:
    """Who can rename the staging directory puts their own where the union looks for it."""
    private = union.path / "private"
    private.mkdir(mode=0o700)
    os.chown(private, NOBODY, NOBODY)
    theirs = union.branches[0] / "theirs/.ses" / str(NOBODY)
    theirs.mkdir(parents=True)

    def swapped(ask: Ask, number: int) -> bytes:
        trap = theirs / f"{(os.getpid() << 32) + number:016x}"
        trap.write_text("")
        trap.chmod(0o666)
        if links == 2:
            os.link(trap, trap.with_suffix(".kept"))
        in_union = union.path / theirs.relative_to(union.branches[0])
        return union.agent.place(ask, number, stage_in_union=str(in_union))

    union.agent.reply = swapped
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    done = union.run(*user, probes / "create", "open", str(flags), "0600", "077", private / "file")
    assert "fd=3 " in done.stdout
    status = (private / "file").stat()
    assert (status.st_uid, status.st_mode & 0o7777) == (NOBODY, 0o600)
    (trap,) = theirs.glob("*[0-9a-f]")
    assert trap.stat().st_nlink == links, "nothing of theirs has the name"
    assert union.agent.leftovers() == []
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(NOT_CREATED, errno.ESTALE)]


# A child changes the file as soon as it has its name, over and over; how many of 150 creates failed.
CHANGED = """
import os, signal, sys
child, failed = os.fork(), 0
while child == 0:
    try: {change}
    except OSError: pass
for _ in range(150):
    try: os.close(os.open("name", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError: failed += 1
    os.unlink("name")
os.kill(child, signal.SIGKILL)
print(failed)
"""


@pytest.mark.parametrize(
    ("change", "user"),
    [
        ("os.chmod('name', 0)", NOBODY),
        ("os.utime('name', (1, 1))", NOBODY),
        ("os.chown('name', 65534, 65534)", 0),
    ],
)
def test_file_that_others_change_at_once_is_the_one_that_was_created(
    union: Union, change: str, user: int
) -> None:
    """As chmod -R does, or who watches the directory: the create is done by then, and was exclusive."""
    union.path.chmod(0o777)
    as_user = ("setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--")
    done = union.run(*as_user, "/usr/bin/python3", "-I", "-c", CHANGED.format(change=change))
    assert done.stdout == "0\n"
    assert union.agent.leftovers() == []
