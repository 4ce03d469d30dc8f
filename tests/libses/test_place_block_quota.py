"""Who may store nothing more on a branch gets no file there: it would be made, and its first write refused.

Quotas of ext4 take an inode for a file that is made, and bytes only when it is written.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from built import built
from mergerfs_union import NOBODY, Union
from quota_program import quota
from virtual_machine import PROGRAMS, Machine

EFBIG, EDQUOT = 27, 122
MIB = 1 << 20
USER, GROUP = 0, 1
CREATE = str(os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def create(union: Union, probes: Path, *before: str | Path) -> None:
    as_user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    done = union.run(*before, *as_user, probes / "create", "open", CREATE, "0644", "022", "file")
    assert "fd=3 " in done.stdout


@pytest.mark.parametrize("kind", [USER, GROUP], ids=["user", "group"])
@pytest.mark.parametrize(
    ("limits", "expected_mib", "error"),
    [
        ((0, 0, 90 * MIB), 80, 0),
        ((100 * MIB, 0, 39 * MIB), 80, 0),
        ((100 * MIB, 0, 41 * MIB), 80, EFBIG),
        ((100 * MIB, 0, 41 * MIB), 50, 0),
        ((100 * MIB, 0, 99 * MIB), 0, 0),
        ((100 * MIB, 0, 99 * MIB + 1), 0, EDQUOT),
        ((100 * MIB, 0, 101 * MIB), 0, EDQUOT),
        ((100 * MIB, 10 * MIB, 9 * MIB), 50, 0),
        ((100 * MIB, 10 * MIB, 11 * MIB), 0, EDQUOT),
        ((0, 100 * MIB, 50 * MIB), 55, EFBIG),
        ((0, 100 * MIB, 101 * MIB), 0, EDQUOT),
    ],
)
def test_a_file_goes_where_its_owner_and_group_may_store_it(
    union: Union, probes: Path, kind: int, limits: tuple[int, int, int], expected_mib: int, error: int
) -> None:
    """The kernel says what strace has it say."""
    union.path.chmod(0o777)
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, least_free_mib=expected_mib)
    says = f"quotactl_fd:retval=0:poke_exit=@arg4={quota(*limits).hex()}:when={kind + 1}"
    trace = union.path.parent / "trace"
    create(union, probes, "strace", "-qq", "-o", trace, "-e", "trace=quotactl_fd", "-e", f"inject={says}")
    assert trace.read_text().count("INJECTED") == 1
    assert [report.error for report in union.agent.reports] == [error]
    assert union.agent.leftovers() == []


@pytest.mark.long
def test_used_up_where_the_files_were_to_go_they_go_elsewhere_and_are_written(
    tmp_path: Path,
) -> None:
    """By a kernel that has quotas, in a machine of its own."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a machine of its own takes root and {', '.join(PROGRAMS)}")
    modules = ["fuse", "loop", "crc32c_generic", "ext4", "quota_v2"]
    machine = Machine(tmp_path, modules, "linux-image-amd64", after="chmod 1777 tmp")
    program = Path(__file__).with_name("quota_program.py")
    for kind in (USER, GROUP):
        printed = machine.run(
            f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} {program} {built('libses-wrapper.so')} {kind}"
        )
        assert json.loads(printed) == [[0, [1]], [EDQUOT, [0]], [EDQUOT, [0]]]
