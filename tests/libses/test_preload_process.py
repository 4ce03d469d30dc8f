"""Creates in unusual circumstances: other threads, children, handlers, filters, before any constructor."""

import errno
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from fake_agent import Ask
from fake_table import table_of
from mergerfs_union import Union
from patience import wait_until
from stack_use import StackUse

VARIANTS = ["", "-fortified"]


def names(union: Union) -> set[str]:
    return {path.name for path in union.path.iterdir() if path.name != ".ses"}


@pytest.mark.parametrize("suffix", VARIANTS)
def test_threads_with_the_smallest_stack_are_served(union: Union, probes: Path, suffix: str) -> None:
    union.agent.choose = lambda number: number % 3
    union.run(probes / f"process{suffix}", "threads", "40", union.path)
    assert names(union) == {f"thread-{i}" for i in range(40)}
    assert [report.outcome for report in union.agent.reports] == [1] * 40


def test_child_of_fork_is_served(union: Union, probes: Path) -> None:
    union.run(probes / "process", "fork", union.path)
    assert names(union) == {"fork-0"}
    assert [report.outcome for report in union.agent.reports] == [1]


def test_child_of_vfork_never_asks_and_its_parent_does(union: Union, probes: Path) -> None:
    """The child runs on its parent's memory and holds it up."""
    union.run(probes / "process", "vfork", union.path)
    assert names(union) == {"vfork-child-0", "vfork-parent-0"}
    parent = (union.path / "vfork-parent-0").stat().st_ino
    assert [(report.inode, report.outcome) for report in union.agent.reports] == [(parent, 1)]
    assert union.agent.connections == 1


def test_child_of_vfork_is_told_from_a_parent_that_asked_before(union: Union, probes: Path) -> None:
    """What the parent has found out about itself lies in memory that the child runs on."""
    union.run(probes / "process", "forks", union.path)
    served = ["first-0", "vfork-parent-0", "fork-0", "last-0"]
    assert names(union) == {*served, "vfork-child-0"}
    inodes = [(union.path / name).stat().st_ino for name in served]
    assert [report.inode for report in union.agent.reports] == inodes


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGTERM], ids=["held-off", "let-through"])
def test_handlers_that_create_files_do_not_disturb(union: Union, probes: Path, number: int) -> None:
    handled = int(union.run(probes / "process", "signal", str(int(number)), union.path).stdout)
    assert handled >= 20
    assert {f"handler-{i}" for i in range(handled)} <= names(union)
    assert union.agent.leftovers() == []
    assert {report.outcome for report in union.agent.reports} == {1}


def test_handler_that_interrupts_a_question_asks_none(union: Union, probes: Path) -> None:
    def interrupt(ask: Ask, number: int) -> bytes:
        os.kill(ask.pid, signal.SIGTERM)
        wait_until(lambda: (union.path / "handler-0").exists(), "the handler created nothing")
        return union.agent.place(ask, number)

    union.agent.reply = interrupt
    union.run(probes / "process", "interrupted", union.path)
    assert names(union) == {"interrupted-0", "handler-0"}
    assert union.agent.connections == 1
    inode = (union.path / "interrupted-0").stat().st_ino
    assert [(report.inode, report.outcome) for report in union.agent.reports] == [(inode, 1)]


def test_the_create_after_one_left_by_longjmp_blocks_no_signals_any_more(union: Union, probes: Path) -> None:
    union.agent.reply = lambda ask, number: None if number == 1 else union.agent.place(ask, number)
    left = union.run(probes / "process", "longjmp", union.path)
    assert left.stdout == "1 0 1\n"


def test_handlers_that_jump_out_of_a_create_leave_nothing_behind(union: Union, probes: Path) -> None:
    assert union.run(probes / "process", "jump", "100", union.path).stdout == "0\n"
    assert union.agent.leftovers() == []
    assert union.agent.reports != []


def test_program_under_a_filter_meets_no_socket_and_no_shared_memory(
    union: Union, probes: Path, tmp_path: Path
) -> None:
    """A sandbox kills for calls it did not foresee: beside the open itself there are only these."""
    table = table_of(union)
    try:
        tracer = ("strace", "-qq", "-E", f"LD_PRELOAD={union.wrapper}", "-o", tmp_path / "trace")
        union.run(*tracer, probes / "process", "seccomp", union.path, library=False)
    finally:
        table.close()
    assert names(union) == {"seccomp-0"}
    assert union.agent.connections == 0
    after = (tmp_path / "trace").read_text().split("PR_SET_SECCOMP")[1]
    calls = re.findall(r"^(\w+)\(", after.split('seccomp-0"')[0], re.MULTILINE)
    allowed = {"rt_sigprocmask", "statx", "statfs", "gettid", "get_robust_list", "prctl", "openat"}
    assert calls[-1] == "openat"
    assert set(calls) <= allowed


def test_call_before_the_constructors_works(union: Union, probes: Path) -> None:
    union.run(probes / "process", "early", union.path, EARLY_FILE=str(union.path / "early"))
    assert names(union) == {"early"}


@pytest.mark.skipif(not shutil.which("gcc"), reason="asks gcc who calls whom")
def test_library_adds_little_stack(build: Path, tmp_path: Path) -> None:
    """What can lie on one stack at a time, whatever function of ours a program calls: 2 KiB."""
    targets = ("ses_place", "ses_wrapper", "ses_layout", "ses_core")
    whole = StackUse(build, targets, tmp_path)
    assert whole.frames.keys() >= {"openat", "mkstemp", "fopen", "mknodat", "ses_place_open"}
    assert whole.deepest_of_all()[0] <= 2048, whole.deepest_of_all()
    assert {"place.c:place_and_log", "layout.c:resize", "mergerfs.c:create"} <= whole.frames.keys()
    assert any("ses_core_choose" in called for called in whole.calls.values()), "the core is seen"


@pytest.mark.parametrize("library", [False, True])
def test_stream_without_memory_leaves_no_file(union: Union, probes: Path, library: bool) -> None:
    done = union.run(probes / "process", "memory", union.path, library=library)
    assert done.stdout == f"0 {errno.ENOMEM}\n"
    assert [path.name for path in union.path.iterdir() if path.name != ".ses"] == []
    assert union.agent.leftovers() == []
    assert len(union.agent.asks) == library
