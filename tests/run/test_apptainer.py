"""What programs in containers of the real Apptainer create on a union is placed, in both ways of the page."""

import os
import subprocess
from pathlib import Path

import pytest
from apptainer import apptainer
from fake_agent import CREATED
from mergerfs_union import Union
from supervisors import wait_for_end
from test_containers import empty_root, image

__all__ = ["image"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting in namespaces needs root"),
]
FEWER = "--no-privs"  # where root has not all rights


def run(union: Union, *command: object) -> subprocess.CompletedProcess[str]:
    union.agent.choose = lambda _: 2
    return union.run(*map(str, command), library=False)


def test_a_container_is_supervised_from_outside(
    union: Union, ses_run: Path, image: Path, tmp_path: Path
) -> None:
    (union.path / "inside").mkdir()
    apptainer(tmp_path / "apptainer", [image, union.path, *union.branches])
    script = "cd /data; echo text > f; cat f; cp f g"
    where = ("exec", FEWER, "-B", f"{union.path}/inside:/data", image, "sh", "-ec", script)
    done = run(union, ses_run, "--supervise", tmp_path / "apptainer", *where)
    wait_for_end(union)
    assert done.stdout == "text\n", done.stderr
    assert [union.copies(union.path / "inside" / name) for name in "fg"] == [[2], [2]]
    assert [report.outcome for report in union.agent.reports] == [CREATED, CREATED]


def test_the_library_works_in_a_container(union: Union, ses_run: Path, tmp_path: Path) -> None:
    root = empty_root(tmp_path / "root")
    seen = [union.path, *union.branches, union.socket, ses_run.parents[1]]
    apptainer(tmp_path / "apptainer", [root, *seen])
    binds = [word for path in seen for word in ("-B", str(path))]
    agent = ("--env", f"SES_AGENT_SOCKET={union.socket}", "--env", "SES_SYNC_MS=20000")
    where = ("exec", FEWER, "-B", "/host:/usr:ro", *binds, *agent, "--pwd", union.path, root)
    script = "echo text > f; cat f; cp f g; grep -c NoNewPrivs..1 /proc/self/status"
    done = run(union, tmp_path / "apptainer", *where, ses_run, "sh", "-ec", script)
    assert done.stdout.split()[0] == "text", done.stderr
    union.agent.settle()
    assert [union.copies(union.path / name) for name in "fg"] == [[2], [2]]
    assert [report.outcome for report in union.agent.reports] == [CREATED, CREATED]
