"""Somebody exchanges what ses-copy walks, before each system call that looks up a path.

What depends on names can differ only there: the program is stopped there (swapper.c), not raced.
"""

import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mergerfs_union import Union
from ran import ran

MALLORY = 4242
USER = 4243
NOT_SO_MANY = 100  # of swapper.c
SYS_MKDIRAT = 258  # of x86_64
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or platform.machine() != "x86_64",
    reason="files of several users need root, swapper.c the registers of x86_64",
)


@pytest.fixture(scope="module")
def swapper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("swapper") / "swapper"
    source = Path(__file__).with_name("swapper.c")
    subprocess.run(
        ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source],
        check=True,
        timeout=300,
    )
    return program


def found_in(top: Path) -> dict[str, tuple[object, ...]]:
    """What nobody may change, of everything below."""
    states = {}
    for path in [top, *sorted(top.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        states[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content)
    return states


def scene(top: Path, owner: int) -> None:
    """A source and a home of Mallory's, beside what belongs to ``owner`` and to nobody else."""
    for directory in ("src/data/sub", "home", "victim/sub", "secret/sub", "plant"):
        (top / directory).mkdir(parents=True)
    for name in ("src/data/a", "src/data/b", "src/data/sub/c"):
        (top / name).write_text("mine")
        (top / name).chmod(0o644)
    (top / "src/data/link").symlink_to("a")
    os.mkfifo(top / "src/data/pipe")
    os.link(top / "src/data/b", top / "src/data/sub/b2")
    for name in ("victim/a", "victim/sub/c", "victim/link", "secret/a", "secret/c", "secret/sub/c"):
        (top / name).write_text("secret")
        (top / name).chmod(0o600)
    for plant, to in (("victim", "victim"), ("secret", "secret"), ("victim a", "victim/a")):
        (top / "plant" / plant).symlink_to(top / to)
    (top / "plant/secret a").symlink_to(top / "secret/a")
    os.link(top / "victim/link", top / "plant/hard link")
    os.mkfifo(top / "plant/pipe")
    (top / "plant/directory").mkdir()
    for path in (top, *top.rglob("*")):
        under = path.relative_to(top).parts[:1]
        os.chown(
            path,
            *([owner] * 2 if under in (("victim",), ("secret",)) else [MALLORY] * 2),
            follow_symlinks=False,
        )
    os.chown(top / "plant/hard link", owner, owner)
    for writable in ("home", "src/data", "src/data/sub"):
        (top / writable).chmod(0o777)


PARTIAL = "home/data/.ses-partial.a"
SWAPS = {
    "the target's directory, by a link": "home/data>away,plant/victim>home/data",
    "a directory inside, by a link": "home/data/sub>away,plant/victim>home/data/sub",
    "the target's directory, by another": "home/data>away,plant/directory>home/data",
    "the source's directory, by a link": "src/data>away,plant/secret>src/data",
    "a directory of the source, by a link": "src/data/sub>away,plant/secret>src/data/sub",
    "a file of the source, by a link": "src/data/a>away,plant/secret a>src/data/a",
    "a file of the source, by a FIFO": "src/data/a>away,plant/pipe>src/data/a",
    "a link of the target, by a name of a file": "home/data/link>away,plant/hard link>home/data/link",
    "a FIFO of the target, by a link": "home/data/pipe>away,plant/victim a>home/data/pipe",
    "a file of the target, by a link": "home/data/a>away,plant/victim a>home/data/a",
    "the file that is not whole, by a link": f"{PARTIAL}>away,plant/victim a>{PARTIAL}",
    "the home, by a link": "home>away,plant/victim>home",
}
EVERY = {
    "the target's directory, by a link",
    "a directory of the source, by a link",
    "a link of the target, by a name of a file",
}


def marks(what: str) -> list[pytest.MarkDecorator]:
    return [] if what in EVERY else [pytest.mark.long]


def outcomes(swapper: Path, built: Path, work: Path, swap: str, uid: int) -> Iterator[tuple[int, str]]:
    # Where the named paths lead when the program begins is what was asked for.
    after = "0" if swap.startswith("src/data>") else str(SYS_MKDIRAT)
    owner = 0 if uid == 0 else uid
    for number in range(1, 1000):
        top = work / str(number)
        scene(top, owner)
        kept = found_in(top / "victim"), found_in(top / "secret")
        done = ran(
            [swapper, str(number), after, str(uid), swap, built / "ses-copy", "--jobs", "1", "src/data",
             "home"], code=None, cwd=top, env={"SES_AGENT_SOCKET": "/nowhere"},
        )  # fmt: skip
        assert (found_in(top / "victim"), found_in(top / "secret")) == kept, number
        for directory in ("home", "away"):
            if (top / directory).is_symlink():
                continue  # the exchange itself
            for path in (top / directory).rglob("*"):
                if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_nlink == 1:
                    assert path.read_text() != "secret", (number, path)
        shutil.rmtree(top)
        if done.returncode == NOT_SO_MANY:
            return
        yield done.returncode, done.stderr
    raise AssertionError("it makes calls without an end")


@pytest.mark.parametrize("uid", [0, pytest.param(USER, marks=pytest.mark.long)], ids=["root", "user"])
@pytest.mark.parametrize(
    "swap",
    [
        pytest.param(swap, id=what, marks=[] if what in EVERY else [pytest.mark.long])
        for what, swap in SWAPS.items()
    ],
)
def test_what_is_exchanged_at_any_moment_leads_nowhere(
    swapper: Path, built: Path, tmp_path: Path, swap: str, uid: int
) -> None:
    tmp_path.chmod(0o755)
    ends = list(outcomes(swapper, built, tmp_path, swap, uid))
    assert len(ends) > 20
    for status, said in ends:
        assert status in (0, 1), said
        assert status == 0 or "ses-copy: " in said
    if swap.startswith(("home/data>", "home/data/sub>")):
        assert any("is another directory now" in said or "symbolic link" in said for _, said in ends)


@pytest.mark.long
@pytest.mark.parametrize("uid", [0, USER], ids=["root", "user"])
@pytest.mark.parametrize(
    "swap",
    ["home>away,plant/link>home", "home/data>away/data,plant/file>home/data"],
    ids=["the directory, by a link", "the file, by a link"],
)
def test_what_is_exchanged_during_a_migration_leads_nowhere(
    swapper: Path, built: Path, union: Union, swap: str, uid: int
) -> None:
    """Between branches of a union; both files keep bytes, owner, mode and times, wherever the name leads."""
    union.agent.choose = lambda _: 1
    union.path.chmod(0o777)
    ends = []
    for number in range(1, 1000):
        top = union.path / f"{number}"
        for directory in ("home", "victim", "plant", *(["away"] if swap.startswith("home/") else [])):
            (top / directory).mkdir(parents=True)
        for name, text in (("home/data", "mine"), ("victim/data", "secret")):
            (top / name).write_text(text)
        (top / "plant/link").symlink_to(top / "victim")
        (top / "plant/file").symlink_to(top / "victim/data")
        for owned in ("home", "home/data", "victim/data"):
            os.chown(top / owned, uid, uid)
        (top / "victim/data").chmod(0o600)
        (top / "home").chmod(0o777)
        kept = found_in(top / "victim/data")
        command = [swapper, str(number), "0", str(uid), swap, built / "ses-migrate", "home/data"]
        done = ran(command, code=None, cwd=top, env=union.environment(library=False))
        assert found_in(top / "victim/data") == kept, (number, done.stderr)
        regular = [path for path in top.rglob("data") if path.is_file() and not path.is_symlink()]
        assert sorted(path.read_text() for path in regular if "victim" not in path.parts) == ["mine"], number
        shutil.rmtree(top)
        if done.returncode == NOT_SO_MANY:
            break
        ends.append((done.returncode, done.stderr))
    assert len(ends) > 20
    for status, said in ends:
        assert status in (0, 1), said
        assert status == 0 or "ses-migrate: " in said
