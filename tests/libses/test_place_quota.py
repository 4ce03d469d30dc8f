"""Where a quota is used up the program hears of it as without the library, and nothing is left behind.

Quotas of subvolumes of btrfs: the kernel's errors are those of other kinds of quota.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union

EDQUOT = 122
FLAGS = [os.O_CREAT | os.O_WRONLY, os.O_CREAT | os.O_EXCL | os.O_RDWR]
BRANCHES = 3


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[list[Path]]:
    """Subvolumes of one file system, in each of which 1 MiB may lie."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    image, top = tmp_path / "image", tmp_path / "volumes"
    image.touch()
    os.truncate(image, 128 << 20)
    top.mkdir()
    subprocess.run(["mkfs.btrfs", "-q", image], check=True, timeout=60, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", image, top], check=False, timeout=60).returncode:
        pytest.skip("no btrfs on a loop device here")
    try:
        made = [top / f"b{number + 1}" for number in range(BRANCHES)]
        for command in (["quota", "enable", top], *(["subvolume", "create", volume] for volume in made)):
            subprocess.run(["btrfs", *command], check=True, timeout=60, capture_output=True)
        for volume in made:
            subprocess.run(["btrfs", "qgroup", "limit", "1M", volume], check=True, timeout=60)
        yield made
    finally:
        subprocess.run(["umount", "-l", top], check=True, timeout=60)


def use_up(volume: Path) -> None:
    """Write until the quota forbids a file of no size."""
    command = ["dd", "if=/dev/zero", f"of={volume}/.fill", "bs=4096", "count=1000", "conv=fsync"]
    done = subprocess.run(command, check=False, timeout=60, capture_output=True, env={"LC_ALL": "C"})
    assert b"quota" in done.stderr
    assert (volume / ".fill").stat().st_size < 1 << 20
    # What was written in vain is given back later: below what is used nothing fits, now or then.
    subprocess.run(["btrfs", "qgroup", "limit", "64K", volume], check=True, timeout=60)
    with pytest.raises(OSError, match="quota"):
        (volume / ".more").touch()


@pytest.fixture
def union(make_union: Callable[..., Union], volumes: list[Path]) -> Union:
    union = make_union(
        branches=volumes, options="category.create=ff"
    )  # "mfs": as the free space happens to be
    union.path.chmod(0o777)
    for index in range(BRANCHES):
        volumes[index].chmod(0o777)
        for user in (0, NOBODY):
            union.agent.stages(index, user)
    return union


def create(union: Union, probes: Path, flags: int, path: Path, user: int, *, library: bool) -> str:
    as_user = ("setpriv", "--reuid", str(user), "--clear-groups", "--")
    command = (probes / "create", "open", str(flags), "0644", "022", path)
    return union.run(*as_user, *command, library=library).stdout


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("user", [0, NOBODY])
def test_used_up_everywhere_is_the_same_error(union: Union, probes: Path, flags: int, user: int) -> None:
    for branch in union.branches:
        use_up(branch)
    outcomes = [create(union, probes, flags, union.path / "file", user, library=on) for on in (False, True)]
    assert f"errno={EDQUOT}" in outcomes[0]
    assert outcomes[1] == outcomes[0]
    assert [report.error for report in union.agent.reports] == [EDQUOT]
    assert union.copies(union.path / "file") == []
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("flags", FLAGS)
def test_used_up_where_the_file_was_to_go_is_the_plain_call(union: Union, probes: Path, flags: int) -> None:
    union.agent.choose = lambda _: 1
    use_up(union.branches[1])
    outcomes = [
        create(union, probes, flags, union.path / name, NOBODY, library=on)
        for name, on in (("a", False), ("b", True))
    ]
    assert outcomes[1] == outcomes[0]
    assert [report.error for report in union.agent.reports] == [EDQUOT]
    assert union.copies(union.path / "b") == union.copies(union.path / "a") != []
    assert union.agent.leftovers() == []


def test_used_up_elsewhere_changes_nothing(union: Union, probes: Path) -> None:
    union.agent.choose = lambda _: 2
    for branch in union.branches[:2]:
        use_up(branch)
    create(union, probes, FLAGS[1], union.path / "file", NOBODY, library=True)
    assert union.copies(union.path / "file") == [2]
    assert [report.error for report in union.agent.reports] == [0]


def test_used_up_outside_a_union_is_the_same_error(union: Union, probes: Path) -> None:
    use_up(union.branches[0])
    file = union.branches[0] / "file"
    outcomes = [create(union, probes, FLAGS[1], file, NOBODY, library=on) for on in (False, True)]
    assert f"errno={EDQUOT}" in outcomes[0]
    assert outcomes[1] == outcomes[0]
    assert not file.exists()


def test_used_up_while_writing_is_the_same_error(union: Union) -> None:
    """Nothing is moved, by the library or because of it."""
    union.agent.choose = lambda _: 1
    outputs = []
    for name, library in (("plain", False), ("placed", True)):
        script = f"dd if=/dev/zero of={name} bs=4096 count=1000 conv=fsync 2>&1 | grep -c quota"
        outputs.append(union.run("sh", "-c", script, library=library).stdout)
        assert (union.path / name).stat().st_size > 0
        (union.path / name).unlink()
    assert outputs[0] == outputs[1]
    assert outputs[0] == "1\n"
    assert union.agent.leftovers() == []
