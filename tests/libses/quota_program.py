"""In a machine whose kernel has quotas of ext4: three files of who may store 2 MiB where they are to go.

Prints of each what became of the placement, and on which branches it lies.
"""

import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1]))

from fake_agent import FakeAgent
from mergerfs_union import NOBODY, Union

QUOTACTL_FD, SET = 443, 0x800008
KIB, MIB = 1 << 10, 1 << 20


def quota(hard: int, soft: int, used: int) -> bytes:
    """A struct if_dqblk; all in bytes."""
    return struct.pack("8Q2I", hard // KIB, soft // KIB, used, 0, 0, 0, 0, 0, 0b101, 0)


def set_quota(branch: Path, kind: int, hard: int) -> None:
    fd = os.open(branch, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(QUOTACTL_FD, fd, ctypes.c_uint(SET << 8 | kind), NOBODY, quota(hard, 0, 0))
    assert failed == 0, os.strerror(ctypes.get_errno())
    os.close(fd)


def disk(path: Path) -> Path:
    image = path.with_suffix(".img")
    image.touch()
    os.truncate(image, 32 * MIB)
    path.mkdir()
    kinds = ("-O", "quota", "-E", "quotatype=usrquota:grpquota")
    subprocess.run(["mkfs.ext4", "-q", *kinds, image], check=True)
    subprocess.run(["mount", "-o", "loop,usrquota,grpquota", image, path], check=True)
    return path


def main(wrapper: str, kind: str) -> None:
    base = Path("/tmp/quota")
    base.mkdir()
    branches = [disk(base / "b1"), disk(base / "b2")]
    (path := base / "union").mkdir()
    options = "allow_other,use_ino,minfreespace=0,category.create=ff"
    subprocess.run(["mergerfs", "-o", options, ":".join(map(str, branches)), path], check=True)
    for directory in (path, *branches):
        directory.chmod(0o777)
    set_quota(branches[1], int(kind), 2 * MIB)
    agent = FakeAgent(base / "agent.sock", path, branches)
    agent.choose = lambda _: 1
    library = Path(shutil.copy(wrapper, base))
    union = Union(path, branches, agent, library, base / "agent.sock")
    as_user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    for name in ("a", "b", "c"):
        write = ("dd", "if=/dev/zero", f"of={name}", "bs=64K", "count=20", "conv=fsync", "status=none")
        union.run(*as_user, *write)
        assert (path / name).stat().st_size == 20 * 64 * KIB
    assert agent.leftovers() == []
    outcomes = [report.error for report in agent.reports]
    print(
        json.dumps([[error, union.copies(path / name)] for error, name in zip(outcomes, "abc", strict=True)])
    )
    agent.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
