"""Real programs, unchanged: every file the kernel sees them create, the library has seen."""

import shutil
from pathlib import Path

import pytest
from creations import TRACED, Creations
from mergerfs_union import Union

C_SOURCE = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'

PYTHON = """
import os, pathlib, shutil, tempfile, zipfile
open("one", "w").write("1")
open("two", "xb").write(b"2")
os.close(os.open("three", os.O_CREAT | os.O_WRONLY, 0o600))
pathlib.Path("four").touch()
directory = os.open(".", os.O_RDONLY)
os.close(os.open("five", os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o644, dir_fd=directory))
tempfile.NamedTemporaryFile().close()
tempfile.mkstemp(dir=".")
shutil.copy("one", "six")
zipfile.ZipFile("seven", "w").write("one")
os.mknod("eight", 0o600)
open("one", "a").write("again")
"""

SQL = "create table t(x); insert into t values (1); insert into t values (2); vacuum; select count(*) from t;"

GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$PWD
git init -q . && echo text > file && git add file && git commit -q -m first && git gc -q && git status --short
"""

PROGRAMS = {
    "dd": "dd if=/dev/zero of=out bs=1000 count=3",
    "cp": "cp input copy && cp -a input copy-a && cp -r tree tree2",
    "install": "install -m 755 input installed",
    "touch": "touch a b c && truncate -s 10 d && mktemp -p . && fallocate -l 10 e",
    "mv": "mv $ELSEWHERE/foreign moved && mv moved moved-again",
    "tar-create": "tar cf archive.tar tree && tar czf archive.tar.gz tree",
    "tar-extract": "mkdir x && tar xf tree.tar -C x",
    "rsync": "rsync -a tree/ tree3",
    "gzip": "gzip -k input && gunzip -c input.gz > unzipped && xz -k input && bzip2 -k input",
    "sed": "sed -i s/e/E/ input && perl -pi -e s/x/y/ input",
    "sort": "sort -o sorted input && split -l 1 input part- && tee teed < input && csplit -s input 1",
    "bash": "echo 1 > one; echo 2 >> two; set -C; echo 3 > three; cat <<< text > four; : <> five",
    "dash": "dash -c 'echo 1 > one; echo 2 >> two; cat input > three'",
    "python3": f"python3 -c '{PYTHON}'",
    "gcc": "gcc -c source.c -o object.o && gcc object.o -o program && ar rcs library.a object.o && ./program",
    "sqlite3": f"sqlite3 data.db '{SQL}'",
    "git": GIT,
}


def prepare(directory: Path) -> None:
    directory.mkdir()
    (directory / "input").write_text("one\ntwo\nthree\n")
    (directory / "source.c").write_text(C_SOURCE)
    (directory / "tree").mkdir()
    for name in ("a", "b", "c"):
        (directory / "tree" / name).write_text(name)
    shutil.make_archive(str(directory / "tree"), "tar", directory, "tree")


def files(directory: Path) -> set[str]:
    return {str(path) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_file_a_program_creates_is_seen(union: Union, program: str, tmp_path: Path) -> None:
    plain, placed = union.path / "plain", union.path / "placed"
    prepare(plain)
    trace = tmp_path / "trace"
    union.run(
        *("strace", "-f", "-y", "-qq", "-s", "4096", "-e", f"trace={TRACED}", "-o", trace),
        *("bash", "-c", PROGRAMS[program]),
        library=False,
        cwd=plain,
        TMPDIR=str(plain),
        ELSEWHERE=foreign(tmp_path),
    )
    created = Creations(plain, existing=before_run(placed, plain)).read(trace.read_text()).created

    union.agent.choose = lambda number: number % 3
    union.run("bash", "-c", PROGRAMS[program], cwd=placed, TMPDIR=str(placed), ELSEWHERE=foreign(tmp_path))
    assert created != []
    assert len(union.agent.asks) == sum(suited for _, suited in created), created
    assert {report.outcome for report in union.agent.reports} == {1}
    assert union.agent.leftovers() == []

    # Names outlive inodes: a file that was not suited may have got the number of one that was and is gone.
    branch_of = {report.inode: (report.placement_id & 0xFFFFFFFF) % 3 for report in union.agent.reports}
    for path in map(Path, files(placed)):
        stat = path.stat()
        if stat.st_ino in branch_of and stat.st_mode & 0o600 == 0o600:
            assert union.copies(path) == [branch_of[stat.st_ino]], path


def foreign(directory: Path) -> str:
    """A directory of another file system with a file to be moved from there."""
    (directory / "foreign").write_text("foreign")
    return str(directory)


def before_run(placed: Path, plain: Path) -> set[str]:
    """What exists before the traced run; the directory for the other run is made alike."""
    prepare(placed)
    return {path.replace(str(placed), str(plain)) for path in files(placed)}
