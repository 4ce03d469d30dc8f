"""Whichever step fails, the program gets the result of the plain call, and nothing is left behind."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from mergerfs_union import Union

# Every system call of ours that can fail, and how often one placed create makes it.
STEPS = {
    "get_robust_list": 1,
    "prctl": 1,
    "socket": 1,
    "connect": 1,
    "getsockopt": 1,
    "sendto": 1,
    "sendmsg": 1,
    "ppoll": 1,
    "recvfrom": 1,
    "statx": 6,
    "statfs": 1,
    "getxattr": 1,
    "linkat": 1,
    "unlinkat": 1,
}
FAULTS = [(call, count) for call, times in STEPS.items() for count in range(1, times + 1)]


def traced(union: Union, probes: Path, flags: int, *arguments: str | Path) -> str:
    create = (probes / "create", "open", str(flags), "0644", "022", union.path / "placed")
    return union.run("strace", "-qq", "-o", union.path.parent / "trace", *arguments, *create).stdout


def plain(union: Union, probes: Path, flags: int) -> str:
    return union.run(
        probes / "create", "open", str(flags), "0644", "022", union.path / "plain", library=False
    ).stdout


def test_the_listed_steps_are_the_steps(union: Union, probes: Path) -> None:
    calls = ",".join(STEPS)
    traced(union, probes, os.O_CREAT | os.O_WRONLY, "-e", f"trace={calls}")
    seen = re.findall(r"^(\w+)\(", (union.path.parent / "trace").read_text(), re.MULTILINE)
    assert {call: seen.count(call) for call in STEPS} == STEPS


@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
@pytest.mark.parametrize("error", ["EIO", "EINTR", "ENOSYS"])
@pytest.mark.parametrize(("call", "count"), FAULTS)
def test_failing_step_leads_to_the_plain_call(
    union: Union, probes: Path, call: str, count: int, error: str, exclusive: int
) -> None:
    flags = os.O_CREAT | os.O_WRONLY | exclusive
    inject = f"inject={call}:error={error}:when={count}"
    done = traced(union, probes, flags, "-e", f"trace={call}", "-e", inject)
    assert "(INJECTED)" in (union.path.parent / "trace").read_text()
    assert len(union.copies(union.path / "placed")) == 1
    if call == "unlinkat":  # the second name can not be removed: the agent sweeps it
        assert len(union.agent.leftovers()) == 1
        return
    assert done == plain(union, probes, flags)
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
@pytest.mark.parametrize("error", ["EMFILE", "EACCES", "ENOENT", "EINTR"])
def test_failing_second_open_leads_to_the_plain_call(
    union: Union, probes: Path, error: str, exclusive: int
) -> None:
    flags = os.O_CREAT | os.O_WRONLY | exclusive
    file = union.path / "placed"
    inject = f"inject=openat:error={error}:when=1"
    done = traced(union, probes, flags, "-P", file, "-e", "trace=openat", "-e", inject)
    assert "(INJECTED)" in (union.path.parent / "trace").read_text()
    assert done == plain(union, probes, flags)
    assert len(union.copies(file)) == 1
    assert union.agent.leftovers() == []


@pytest.mark.parametrize(
    ("call", "count", "error"),
    [("openat", 2, "EMFILE"), ("openat", 2, "EINTR"), ("sendmsg", 1, "ETOOMANYREFS")],
)
def test_report_is_sent_without_a_handle_when_there_is_none(
    union: Union, probes: Path, call: str, count: int, error: str
) -> None:
    file = union.path / "placed"
    inject = f"inject={call}:error={error}:when={count}"
    only = ("-P", file) if call == "openat" else ()
    done = traced(union, probes, os.O_CREAT | os.O_WRONLY, *only, "-e", f"trace={call}", "-e", inject)
    assert "(INJECTED)" in (union.path.parent / "trace").read_text()
    (report,) = union.agent.reports
    assert (report.inode, report.outcome, report.handle) == (file.stat().st_ino, 1, None)
    assert done == plain(union, probes, os.O_CREAT | os.O_WRONLY)


@pytest.mark.parametrize("call", ["sendto", "recvfrom", "linkat", "unlinkat", "sendmsg"])
def test_program_killed_at_a_step_leaves_a_whole_file_or_none(union: Union, probes: Path, call: str) -> None:
    inject = f"inject={call}:signal=KILL:when=1"
    command = ["strace", "-qq", "-o", union.path.parent / "trace", "-e", f"trace={call}", "-e", inject]
    create = [probes / "create", "open", str(os.O_CREAT | os.O_WRONLY), "0644", "022", union.path / "placed"]
    subprocess.run(
        [str(part) for part in command + create],
        env=union.environment(),
        timeout=60,
        check=False,
        capture_output=True,
    )
    union.agent.settle()
    copies = union.copies(union.path / "placed")
    assert len(copies) <= 1
    assert len(union.agent.leftovers()) <= 1
    if copies:
        assert (union.path / "placed").stat().st_mode == 0o100644
        assert (union.path / "placed").read_bytes() == b""
