"""A file goes where the agent says, and is otherwise that of the original call."""

import os
import re
import subprocess
from collections import Counter
from itertools import combinations
from pathlib import Path

import lov_blobs as lov
import pytest
from lustre_mount import LOV, layout_of, osts_of
from mounts import unmount
from placed_programs import LIST, OFFSET, POOL, Site, as_shown
from write_corpus import DOM, PFL

WRITE = os.O_CREAT | os.O_WRONLY


def plain_layout(path: Path) -> lov.Plain:
    layout = layout_of(path)
    assert layout is not None
    return lov.read_plain(layout)


def test_one_chosen_target_holds_the_bytes(site: Site) -> None:
    assert "written=4" in site.create("file")
    assert osts_of(site.lustre.path / "file") == (4,)
    assert site.lustre.objects(4) == [b"text"]
    report = site.report()
    status = (site.lustre.path / "file").stat()
    assert (report.outcome, report.error, report.device, report.inode) == (1, 0, status.st_dev, status.st_ino)
    assert report.handle
    assert report.handle.path == str(site.lustre.path / "file")


def test_list_is_taken_in_its_order(site: Site) -> None:
    site.put(LIST, [5, 0, 3], stripe_size=65536)
    site.create("file")
    layout = plain_layout(site.lustre.path / "file")
    assert (layout.osts, layout.size) == ((5, 0, 3), 65536)


def test_pool_is_written_and_the_file_system_chooses_in_it(site: Site) -> None:
    site.put(POOL, pool="slow", stripe_count=2)
    site.create("file")
    layout = plain_layout(site.lustre.path / "file")
    assert (layout.pool, set(layout.osts)) == ("slow", {3, 4})
    assert site.report().outcome == 1


def test_offset_is_a_hint_and_what_came_of_it_is_reported(site: Site) -> None:
    site.put(OFFSET, [2])
    site.create("one")
    assert osts_of(site.lustre.path / "one") == (2,)
    site.lustre.trouble(2, "full")
    site.create("two")
    assert osts_of(site.lustre.path / "two") == (3,)
    assert [report.outcome for report in site.agent.reports] == [1, 2]


@pytest.mark.parametrize(("default", "parts"), [(PFL, [(4,), (), ()]), (DOM, [(2**32 - 1,), (4,)])])
def test_default_with_components_keeps_them(site: Site, default: bytes, parts: list[tuple[int, ...]]) -> None:
    os.setxattr(site.lustre.path, LOV, default)
    site.create("file", text="x" * 70000)
    layout = layout_of(site.lustre.path / "file")
    assert layout is not None
    now, was = lov.read_parts(layout), lov.read_parts(default)
    assert [(part.start, part.end) for part in now] == [(part.start, part.end) for part in was]
    assert [lov.read_plain(part.blob).osts for part in now] == parts
    assert site.report().outcome == 1
    assert (site.lustre.path / "file").read_text() == "x" * 70000


def test_default_of_the_directory_itself_counts_before_that_of_the_root(site: Site) -> None:
    directory = site.lustre.path / "directory"
    directory.mkdir()
    os.setxattr(site.lustre.path, LOV, lov.plain(count=3, size=65536))
    os.setxattr(directory, LOV, lov.plain(count=2, size=131072))
    site.put(POOL, pool="fast")
    site.create("directory/file")
    assert (plain_layout(directory / "file").count, plain_layout(directory / "file").size) == (2, 131072)


STATED = {"count": (0, 2, 3), "size": (0, 65536, 131072), "offset": (lov.ANY, 1, 2)}
POOLS = (None, "fast", "rest")  # not stated, the directory's, the root's


def partial_defaults(whose: int) -> list[bytes]:
    """Every combination of what a plain default can state, in values of the directory (1) or the root (2)."""
    return [
        lov.plain(**{name: STATED[name][whose * (name in names)] for name in STATED}, pool=pool)
        for pool in (POOLS[0], POOLS[whose])
        for length in range(len(STATED) + 1)
        for names in combinations(STATED, length)
    ]


@pytest.mark.parametrize("of_root", partial_defaults(2), ids=range(16))
def test_what_a_default_leaves_open_comes_from_the_root_as_for_the_plain_call(
    site: Site, of_root: bytes
) -> None:
    site.lustre.pool("rest", 1, 2, 3)
    os.setxattr(site.lustre.path, LOV, of_root)
    defaults = partial_defaults(1)
    for number, own in enumerate(defaults):
        directory = site.lustre.path / f"{number}/below"
        directory.mkdir(parents=True)
        os.setxattr(directory, LOV, own)
    site.put(POOL, pool="fast")
    loop = f"for i in $(seq 0 {len(defaults) - 1}); do : > $i/below/$0; done"
    site.run("bash", "-c", loop, "placed")
    site.run("bash", "-c", loop, "plain", library=False)
    for number in range(len(defaults)):
        placed, plain = (
            plain_layout(site.lustre.path / f"{number}/below" / name) for name in ("placed", "plain")
        )
        assert (placed.size, placed.count) == (plain.size, plain.count), defaults[number]
        assert placed.pool == "fast"
    assert {report.outcome for report in site.agent.reports} == {1}


def test_partial_default_whose_root_cannot_be_reached_is_left_to_the_plain_call(
    site: Site, tmp_path: Path
) -> None:
    """A part of the file system is mounted elsewhere, as into a container."""
    os.setxattr(site.lustre.root, LOV, lov.plain(count=3, size=2 << 20))
    directory = site.lustre.path / "part"
    directory.mkdir()
    os.setxattr(directory, LOV, lov.plain(count=2))
    bound = tmp_path / "bound"
    bound.mkdir()
    subprocess.run(["mount", "--bind", directory, bound], check=True, timeout=30)
    try:
        site.create(bound / "file")
    finally:
        unmount(bound)
    assert (plain_layout(directory / "file").size, plain_layout(directory / "file").count) == (2 << 20, 2)
    assert site.report().outcome == 2


def test_default_too_large_to_keep_is_left_to_the_plain_call(site: Site) -> None:
    parts = [lov.Part(lov.plain(pool="slow", count=1), n << 20, (n + 1) << 20) for n in range(13)]
    os.setxattr(site.lustre.path, LOV, lov.composite(parts))
    assert "written=4" in site.create("file")
    assert set(osts_of(site.lustre.path / "file")) <= {3, 4}
    assert site.report().outcome == 2


def calls(site: Site, tmp_path: Path, about: str, *command: str | Path) -> Counter[str]:
    """How often a program made each call whose line in the trace contains `about`."""
    trace = tmp_path / "trace"
    site.run("strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=file,desc", *command)
    lines = [line for line in trace.read_text().splitlines() if re.search(about, line)]
    names = (re.match(r"\d+ +(\w+)\(", line) for line in lines)
    return Counter(call[1] for call in names if call and call[1] not in ("chdir", "execve", "close"))


def test_exclusive_create_makes_no_call_more_than_by_hand(site: Site, tmp_path: Path) -> None:
    """The first asks for the directory's default; by hand that, one open and one setxattr have to be made."""
    once = (site.probe, "open", str(WRITE | os.O_EXCL), "0644", "022", site.lustre.path / "file")
    within = f'(?<!AT_FDCWD<){site.lustre.path}[/>"]'
    made = calls(site, tmp_path, within, *once)
    looking = {"fstat", "newfstatat", "fcntl", "lseek", "read"}  # the probe's own
    # statx of the directory, again before its default is read, and of the file; openat for the handle of
    # the report, too
    assert {name: count for name, count in made.items() if name not in looking} == {
        "statx": 3, "statfs": 1, "getxattr": 1, "openat": 2, "fsetxattr": 1, "fgetxattr": 1,
    }  # fmt: skip
    text = (tmp_path / "trace").read_text()
    assert all("AT_STATX_DONT_SYNC" in line for line in text.splitlines() if " statx(" in line)


def test_defaults_are_asked_for_once_in_a_storm(site: Site, tmp_path: Path) -> None:
    script = "for i in $(seq 20); do : > file$i; done"
    made = calls(site, tmp_path, LOV, "bash", "-c", f"cd {site.lustre.path}; {script}")
    assert len(site.agent.reports) == 20
    assert (made["getxattr"], made["fsetxattr"]) == (1, 20)


def test_files_elsewhere_and_files_that_exist_cost_no_attribute(site: Site, tmp_path: Path) -> None:
    existing = site.lustre.path / "existing"
    existing.write_text("content")
    before = layout_of(existing)
    made = calls(site, tmp_path, LOV, site.probe, "open", str(WRITE | os.O_TRUNC), "0644", "022", existing)
    assert not made
    assert layout_of(existing) == before
    assert site.agent.asks == []
    site.create(tmp_path / "elsewhere")
    assert site.agent.asks == []


@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
@pytest.mark.parametrize("access", [os.O_WRONLY, os.O_RDWR])
@pytest.mark.parametrize("more", [0, os.O_TRUNC, os.O_CLOEXEC, os.O_NONBLOCK | os.O_SYNC, os.O_NOFOLLOW])
def test_what_the_program_sees_is_that_of_the_plain_call(
    site: Site, exclusive: int, access: int, more: int
) -> None:
    flags = str(os.O_CREAT | access | exclusive | more)
    placed = site.run(site.probe, "open", flags, "0664", "027", "placed")
    plain = site.run(site.probe, "open", flags, "0664", "027", "plain", library=False)
    assert as_shown(placed, site.lustre.path / "placed") == as_shown(plain, site.lustre.path / "plain")
    assert osts_of(site.lustre.path / "placed") == (4,)


def test_create_with_o_async_is_left_to_the_plain_call(site: Site) -> None:
    """Lustre takes the bit away from an open with the delay flag, and nothing gives it back."""
    flags = str(WRITE | 0o20000)
    placed = site.run(site.probe, "open", flags, "0664", "027", "placed")
    plain = site.run(site.probe, "open", flags, "0664", "027", "plain", library=False)
    assert as_shown(placed, site.lustre.path / "placed") == as_shown(plain, site.lustre.path / "plain")
    assert f"flags={0o120001:o}" in plain


@pytest.mark.parametrize("call", ["open", "openat", "creat"])
def test_every_way_of_creating_is_served(site: Site, call: str) -> None:
    site.run(site.probe, call, str(WRITE), "0644", "022", site.lustre.path / "file")
    assert osts_of(site.lustre.path / "file") == (4,)


def test_streams_and_temporary_files_are_served(site: Site) -> None:
    site.run(site.probe, "fopen", "w", "022", "stream")
    site.run(site.probe, "mkostemps", "0", "0", "022", str(site.lustre.path / "aXXXXXX"))
    for file in site.lustre.path.iterdir():
        assert osts_of(file) == (4,)
    assert len(site.agent.reports) == 2


def test_symbolic_links_bind_mounts_and_moved_directories_are_followed(site: Site, tmp_path: Path) -> None:
    directory = site.lustre.path / "a/b"
    directory.mkdir(parents=True)
    (tmp_path / "link").symlink_to(directory)
    bound = tmp_path / "bound"
    bound.mkdir()
    subprocess.run(["mount", "--bind", site.lustre.path / "a", bound], check=True, timeout=60)
    try:
        site.create(tmp_path / "link/one")
        site.create(bound / "b/two")
        site.run("bash", "-c", "cd a/b && mv ../b ../c && : > three && : > ../four")
    finally:
        unmount(bound)
    moved = site.lustre.path / "a/c"
    for file in (moved / "one", moved / "two", moved / "three", site.lustre.path / "a/four"):
        assert osts_of(file) == (4,), file


def test_removed_directory_fails_as_the_plain_call(site: Site) -> None:
    script = "mkdir gone && cd gone && rmdir ../gone && $0 open 65 0644 022 file"
    placed = site.run("bash", "-c", script, site.probe)
    assert placed == site.run("bash", "-c", script, site.probe, library=False)
    assert "fd=-1 errno=2" in placed


def test_dangling_link_is_left_to_the_plain_call(site: Site, tmp_path: Path) -> None:
    (site.lustre.path / "link").symlink_to(tmp_path / "target")
    seen = site.create("link")
    assert f"flags={0o100001:o}" in seen  # neither bit of the delay flag reached another file system
    assert (tmp_path / "target").read_text() == "text"


def test_parallel_creates_all_get_their_layout(site: Site) -> None:
    script = "for i in $(seq 15); do echo x > $0-$i; done"
    running = [site.start("bash", "-c", script, str(number)) for number in range(6)]
    assert [process.wait(120) for process in running] == [0] * 6
    site.agent.settle()
    files = list(site.lustre.path.iterdir())
    assert len(files) == 90
    assert {osts_of(file) for file in files} == {(4,)}
