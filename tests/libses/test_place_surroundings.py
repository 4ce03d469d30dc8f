"""What stands around a create is as without the library: watchers, limits, leases, sticky directories."""

from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union

PYTHON = "/usr/bin/python3"  # that of the tests may lie where others cannot go

# Prints the events of a directory in which files are opened into being (mknod() would tell: limitations.md).
WATCHED = """
import ctypes, os, struct, tempfile
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(watch, b".", 0xfff) == 1
os.close(os.open("opened", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
with open("written", "w") as file: file.write("x")
with open("exclusive", "x") as file: pass
os.close(os.open("opened", os.O_CREAT | os.O_TRUNC | os.O_WRONLY))
raw = os.read(watch, 65536)
while raw:
    _, mask, _, length = struct.unpack_from("iIII", raw)
    print(hex(mask), raw[16:16 + length].rstrip(b"\\0").decode())
    raw = raw[16 + length:]
"""

# A limit of file sizes stops the write, not the create; leases and locks are given on a fresh file.
LIMITED = """
import fcntl, os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))
fd = os.open("limited", os.O_CREAT | os.O_RDWR, 0o644)
print(os.write(fd, b"12345678"))
try: print(os.write(fd, b"9"))
except OSError as error: print(error.errno)
for lease in (fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK):
    other = os.open(f"leased-{lease}", os.O_CREAT | os.O_RDONLY, 0o644)
    try: print(fcntl.fcntl(other, fcntl.F_SETLEASE, lease), fcntl.fcntl(other, fcntl.F_GETLEASE))
    except OSError as error: print(error.errno)
fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
print(os.fstat(fd).st_nlink, os.stat("limited").st_size)
"""

# In a sticky directory of everybody's: own files can be removed, those of others cannot, nor opened anew.
STICKY = """
import os
os.close(os.open("own", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
for name in ("own", "foreign"):
    for call in (lambda: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o666)),
                 lambda: os.link(name, name + "-link"), lambda: os.unlink(name)):
        try: print(name, call())
        except OSError as error: print(name, error.errno)
"""


@pytest.mark.parametrize(
    ("script", "user", "placed"), [(WATCHED, 0, 3), (LIMITED, 0, 4), (STICKY, NOBODY, 1)],
    ids=["watched", "limited", "sticky"],
)  # fmt: skip
def test_surroundings_are_those_of_the_plain_call(union: Union, script: str, user: int, placed: int) -> None:
    as_user = ("setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups")
    printed = []
    for library in (False, True):
        directory = union.path / ("placed" if library else "plain")
        directory.mkdir()
        directory.chmod(0o1777)
        (directory / "foreign").touch(mode=0o666)
        command = (*as_user, PYTHON, "-I", "-c", script)
        printed.append(union.run(*command, library=library, cwd=directory).stdout.splitlines())
    assert printed[1] == printed[0]
    assert len(printed[0]) >= 6
    assert sum(report.outcome == 1 for report in union.agent.reports) == placed
    assert union.agent.leftovers() == []


def test_copied_packed_and_moved_trees_are_the_same(union: Union, tmp_path: Path) -> None:
    """cp, tar and mv of a small tree: names, contents, modes and times that can be set."""
    source = tmp_path / "source"
    for number in range(12):
        file = source / f"d{number % 3}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x" * number)
        file.chmod(0o600 + number % 8)
    union.agent.choose = lambda number: number % 3
    listed = []
    for library in (False, True):
        directory = union.path / ("placed" if library else "plain")
        directory.mkdir()
        script = "cp -a $0 copied; tar -cf a.tar -C copied .; mkdir t; tar -xpf a.tar -C t; mv t/d1 moved; "
        script += "find copied t moved -type f -printf '%p %m %s %n %T@ %U:%G\\n' | sort; "
        script += "cat $(find t -type f | sort)"
        listed.append(union.run("sh", "-e", "-c", script, source, library=library, cwd=directory).stdout)
    assert listed[1] == listed[0]
    assert len(listed[0].splitlines()) > 24
