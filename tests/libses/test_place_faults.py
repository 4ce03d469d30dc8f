"""Whichever step fails, the program gets the result of the original call, and nothing is left behind."""

import errno
import os
import re
import subprocess
from pathlib import Path

import pytest
from fake_agent import CREATED, NOT_CREATED
from mergerfs_union import NOBODY, Union

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
    "statx": 7,
    "statfs": 1,
    "fstatfs": 1,
    "getxattr": 1,
    "linkat": 1,
    "unlinkat": 1,
}
FAULTS = [(call, count) for call, times in STEPS.items() for count in range(1, times + 1)]


def traced(union: Union, probes: Path, flags: int, *arguments: str | Path, library: bool = True) -> str:
    create = (probes / "create", "open", str(flags), "0644", "022", union.path / "placed")
    strace = ("strace", "-qq", "-o", union.path.parent / "trace")
    return union.run(*strace, *arguments, *create, library=library).stdout


def plain(union: Union, probes: Path, flags: int) -> str:
    return union.run(
        probes / "create", "open", str(flags), "0644", "022", union.path / "plain", library=False
    ).stdout


def staged_file(union: Union) -> Path:
    """The staged file of the first placement of the fake agent."""
    return union.agent.stages(0, 0)[0] / f"{(os.getpid() << 32) + 1:016x}"


def killed(union: Union, probes: Path, call: str, *only: str | Path) -> None:
    """Create a file and be killed when entering the call."""
    inject = f"inject={call}:signal=KILL:when=1"
    command = ["strace", "-qq", "-o", union.path.parent / "trace", *only, "-e", f"trace={call}", "-e", inject]
    create = [probes / "create", "open", str(os.O_CREAT | os.O_WRONLY), "0644", "022", union.path / "placed"]
    done = subprocess.run(
        [str(part) for part in command + create],
        env=union.environment(),
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert done.stdout == b"", "it was killed before it could look at the file"
    union.agent.settle()


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
    ("call", "error"), [("openat", "EMFILE"), ("openat", "EINTR"), ("sendmsg", "ETOOMANYREFS")]
)
def test_report_is_sent_without_a_handle_when_there_is_none(
    union: Union, probes: Path, call: str, error: str
) -> None:
    file = union.path / "placed"
    inject = f"inject={call}:error={error}:when=1"
    only = ("-P", "/proc/thread-self/fd/3") if call == "openat" else ()
    done = traced(union, probes, os.O_CREAT | os.O_WRONLY, *only, "-e", f"trace={call}", "-e", inject)
    assert "(INJECTED)" in (union.path.parent / "trace").read_text()
    (report,) = union.agent.reports
    assert (report.inode, report.outcome, report.handle) == (file.stat().st_ino, 1, None)
    assert done == plain(union, probes, os.O_CREAT | os.O_WRONLY)


@pytest.mark.parametrize("exclusive", [0, os.O_EXCL])
@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "EACCES", "ENOSPC", "EDQUOT", "EIO"])
def test_file_that_cannot_be_staged_is_left_to_the_plain_call(
    union: Union, probes: Path, error: str, exclusive: int
) -> None:
    flags = os.O_CREAT | os.O_WRONLY | exclusive
    inject = f"inject=openat:error={error}"
    done = traced(union, probes, flags, "-P", staged_file(union), "-e", "trace=openat", "-e", inject)
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 1
    assert done == plain(union, probes, flags)
    assert len(union.copies(union.path / "placed")) == 1
    assert union.agent.leftovers() == []
    assert [(report.outcome, report.error) for report in union.agent.reports] == [
        (NOT_CREATED, getattr(errno, error))
    ]


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "EACCES", "ENOSPC", "EDQUOT", "EIO"])
def test_what_fails_for_the_plain_call_too_leaves_no_file(union: Union, probes: Path, error: str) -> None:
    flags = os.O_CREAT | os.O_WRONLY
    only = ("-P", staged_file(union), "-P", union.path / "placed")
    inject = ("-e", "trace=openat", "-e", f"inject=openat:error={error}")
    done = traced(union, probes, flags, *only, *inject)
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 2
    assert done == traced(union, probes, flags, *only, *inject, library=False)
    assert f"fd=-1 errno={getattr(errno, error)} " in done
    assert union.copies(union.path / "placed") == []
    assert union.agent.leftovers() == []


def test_staged_file_of_somebody_else_is_not_touched(union: Union, probes: Path) -> None:
    staged = staged_file(union)
    staged.write_text("theirs")
    done = traced(union, probes, os.O_CREAT | os.O_WRONLY)
    assert done == plain(union, probes, os.O_CREAT | os.O_WRONLY)
    assert len(union.copies(union.path / "placed")) == 1
    assert staged.read_text() == "theirs"
    assert staged.stat().st_nlink == 1


@pytest.mark.parametrize(
    ("refused", "error"), [("1", errno.EXDEV), ("1+", errno.EPERM)], ids=["directory", "branch"]
)
def test_name_that_is_not_permitted_is_a_matter_of_the_directory_or_of_the_branch(
    union: Union, probes: Path, refused: str, error: int
) -> None:
    """Of an immutable directory, or of a branch without hard links, which takes no link anywhere."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    done = traced(
        union, probes, flags, "-e", "trace=linkat", "-e", f"inject=linkat:error=EPERM:when={refused}"
    )
    assert done == plain(union, probes, flags)
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(NOT_CREATED, error)]
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("error", ["EPERM", "EDQUOT", "EIO"])
def test_staged_file_that_cannot_get_its_group_is_removed(union: Union, probes: Path, error: str) -> None:
    """The directory hands its group on, which the staged file has to be given."""
    os.chown(union.path, -1, NOBODY)
    union.path.chmod(0o2777)
    flags = os.O_CREAT | os.O_WRONLY
    done = traced(union, probes, flags, "-e", "trace=fchown", "-e", f"inject=fchown:error={error}")
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 1
    assert f" gid={NOBODY} " in done
    assert done == plain(union, probes, flags)
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("error", ["EIO", "EINTR", "ENOSPC", "EDQUOT"])
def test_staged_file_whose_close_fails_is_placed(union: Union, probes: Path, error: str) -> None:
    """Nothing was written through that descriptor.  strace keeps the kernel from closing it, which
    otherwise does so whatever it answers: here the file gets the next number."""
    only = ("-P", staged_file(union), "-e", "trace=close", "-e", f"inject=close:error={error}:when=1")
    done = traced(union, probes, os.O_CREAT | os.O_WRONLY, *only)
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 1
    kept, given = re.findall(r"(\d+),", done)[-2:]
    expected = plain(union, probes, os.O_CREAT | os.O_WRONLY)
    assert done == expected.replace(f"fd={kept}", f"fd={given}").replace(f"{kept},\n", f"{kept},{given},\n")
    assert union.copies(union.path / "placed") == [0]
    assert union.agent.leftovers() == []
    assert [report.outcome for report in union.agent.reports] == [CREATED]


@pytest.mark.parametrize("call", ["sendto", "recvfrom", "linkat", "unlinkat", "sendmsg"])
def test_program_killed_at_a_step_leaves_a_whole_file_or_none(union: Union, probes: Path, call: str) -> None:
    killed(union, probes, call)
    copies = union.copies(union.path / "placed")
    assert len(copies) <= 1
    assert len(union.agent.leftovers()) <= 1
    if copies:
        assert (union.path / "placed").stat().st_mode == 0o100644
        assert (union.path / "placed").read_bytes() == b""


@pytest.mark.parametrize("call", ["openat", "statx", "linkat"])
def test_program_killed_before_the_link_leaves_at_most_a_staged_file(
    union: Union, probes: Path, call: str
) -> None:
    """It has the name by which the agent knows the placement, which nobody has reported."""
    staged = staged_file(union)
    killed(union, probes, call, *(() if call == "linkat" else ("-P", staged)))
    assert union.copies(union.path / "placed") == []
    assert union.agent.leftovers() in ([[], [staged]] if call == "openat" else [[staged]])
    assert (union.agent.reports, union.agent.unused) == ([], 1)
    done = traced(union, probes, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    assert done == plain(union, probes, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
