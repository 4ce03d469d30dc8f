"""A directory where the quota of who asks is used up is not given, however much is free there."""

import os
import shutil
import struct
import sys
from pathlib import Path

import pytest
from ran import ran
from ses.place import directories, quotas
from virtual_machine import PROGRAMS, Machine

PYTHON = "/usr/bin/python3"  # that of the tests may lie where others cannot go
NOBODY = 65534
KIB = 1 << 10
ASK = """
import os
where = os.open("/tmp", os.O_PATH)
print(quota_left(where, os.stat("/")))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="programs of another user")
@pytest.mark.parametrize("kind", [1, 2], ids=["user", "group"])
@pytest.mark.parametrize(
    ("hard", "soft", "used", "left"),
    [
        (0, 0, 7 * KIB, None),
        (10, 0, 7 * KIB, 3 * KIB),
        (10, 0, 12 * KIB, 0),
        (10, 5, 4 * KIB, 6 * KIB),
        (10, 5, 7 * KIB, 0),
        (0, 5, 4 * KIB, KIB),
    ],
)
def test_what_is_left_of_a_quota(
    tmp_path: Path, kind: int, hard: int, soft: int, used: int, left: int | None
) -> None:
    """The kernel says what strace has it say."""
    limits = struct.pack("8Q2I", hard, soft, used, 0, 0, 0, 0, 0, 0b101, 0)
    says = f"quotactl_fd:retval=0:poke_exit=@arg4={limits.hex()}:when={kind}"
    command = ["strace", "-qq", "-o", tmp_path / "trace", "-e", "trace=quotactl_fd", "-e", f"inject={says}"]
    as_user = [
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--regid",
        str(NOBODY),
        "--clear-groups",
        PYTHON,
        "-I",
        "-c",
    ]
    done = ran([*command, *as_user, Path(quotas.__file__).read_text() + ASK])
    assert done.stdout == f"{left}\n"
    assert (tmp_path / "trace").read_text().count("INJECTED") == 1


@pytest.mark.parametrize(("left", "reason"), [(None, ""), (5 * KIB, ""), (0, "your quota there is used up")])
def test_free_is_what_may_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int | None, reason: str
) -> None:
    monkeypatch.setattr(directories, "are_counted", lambda _: True)
    monkeypatch.setattr(directories, "quota_left", lambda *_: left)
    (seen,) = directories.look_at([str(tmp_path)])
    assert seen.reason.startswith(reason)
    assert bool(seen.reason) is bool(reason)
    assert seen.free == left if left is not None else seen.free > 5 * KIB


def test_it_is_asked_for_quotas_only_where_a_file_system_is_mounted_with_them() -> None:
    """As the kernel shows ext4 and XFS; without, ctypes is not loaded."""
    assert quotas.are_counted("rw,quota,usrquota,grpquota")
    assert quotas.are_counted("rw,attr2,inode64,logbufs=8,usrquota,prjquota")
    assert quotas.are_counted("rw,jqfmt=vfsv1,usrjquota=aquota.user")
    assert not quotas.are_counted("rw,attr2,inode64,logbufs=8,noquota")
    assert not quotas.are_counted("rw,errors=remount-ro")


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="serving files to a machine takes root")
def test_a_directory_with_quota_left_is_given(tmp_path: Path) -> None:
    """By a kernel that has quotas, in a machine of its own."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"a machine of its own takes {', '.join(missing)}")
    modules = ["loop", "crc32c_generic", "ext4", "quota_v2"]
    machine = Machine(tmp_path, modules, "linux-image-amd64", after="chmod 1777 tmp")
    program = f"""
import sys
sys.path.insert(0, "{Path(__file__).parents[1]}/libses")
from pathlib import Path
from quota_program import MIB, disk, set_quota
for name in ("b1", "b2"):
    disk(Path("/tmp") / name).chmod(0o1777)
set_quota(Path("/tmp/b1"), 0, 2 * MIB)
"""
    place = f"{Path(sys.prefix)}/bin/ses place --among /tmp/b1 /tmp/b2 --need 'free>=10MB'"
    as_user = f"HOME=/tmp setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
    printed = machine.run(
        f"export PYTHONDONTWRITEBYTECODE=1; {sys.executable} -c '{program}'; {as_user} {place}"
    )
    assert printed == "/tmp/b2\n"
