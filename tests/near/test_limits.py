"""What a program may use on the node is limited by a control group of systemd, else by other means."""

import json
import os
from collections.abc import Iterator

import pytest
from own_systemd import running
from ses.near.execution.conversation import Conversation, Ended
from ses.near.execution.executors import Limits
from ses.near.execution.run import Run

LIMITS = Limits(cpus=0.5, memory=200 << 20, io_weight=50)
CONTROLS = """
import json, pathlib
controls = {}
for entry in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
    _, names, path = entry.split(":", 2)
    for control in pathlib.Path(f"/sys/fs/cgroup/{names}{path}").glob("*"):
        if control.name in ("cpu.max", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes",
                            "io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight"):
            controls[control.name] = control.read_text().split()[0]
print(json.dumps(controls))
"""
FILL = "import sys; print(len(b'x' * (600 << 20)))"


@pytest.mark.parametrize(
    ("limits", "at_once"),
    [
        (Limits(), 4),
        (Limits(memory=700), 2),
        (Limits(memory=100), 4),
        (Limits(memory=5000), 1),
        (Limits(cpus=0.5), 8),
        (Limits(cpus=3), 1),
    ],
)
def test_as_many_run_at_once_as_processors_and_memory_allow(limits, at_once):
    assert limits.at_once(cores=4.0, memory=2000.0) == at_once


def held(run: Run) -> tuple[Ended, bytes, bytes]:
    output, errors = [], []
    ended = Conversation(run).hold(output.append, errors.append, None)
    return ended, b"".join(output), b"".join(errors)


@pytest.fixture(scope="module")
def node() -> Iterator[tuple[str, ...]]:
    yield from running(f"ses-near-{os.getpid()}")


@pytest.mark.root
def test_systemd_keeps_them_by_a_control_group(node):
    run = Run(("python3", "-c", CONTROLS), "node", "command", rsh=node, limits=LIMITS)
    ended, output, errors = held(run)
    assert ended.status == 0, errors
    kept = json.loads(output)
    assert [kept[name] for name in ("cpu.max", "cpu.cfs_quota_us") if name in kept] == ["50000"]
    assert [kept[name] for name in ("memory.max", "memory.limit_in_bytes") if name in kept] == [
        str(200 << 20)
    ]
    said = "a control group limits processors, memory"
    if any("weight" in name for name in kept):  # in what scale is a matter of the I/O scheduler
        assert ended.limits == f"{said}, I/O"
    else:
        assert ended.limits.startswith(f"{said}; no control group limits I/O")


@pytest.mark.root
def test_memory_of_a_control_group_is_a_limit(node):
    run = Run(("python3", "-c", FILL), "node", "command", rsh=node, limits=LIMITS)
    ended, output, _ = held(run)
    assert (ended.exit_status, output) == (137, b"")


def test_the_node_says_its_processors_and_memory():
    run = Run(("true",), "node", "command", rsh=("taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))))
    ended, _, _ = held(run)
    assert 0 < ended.cores <= 1
    assert 1 << 20 < ended.memory <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.root
def test_a_quota_of_the_control_group_counts(node):
    quota = ("systemd-run", "--scope", "--quiet", "-p", "CPUQuota=30%", "-p", "MemoryMax=300M", "--")
    ended, _, _ = held(Run(("true",), "node", "command", rsh=(*node, *quota)))
    assert ended.cores == pytest.approx(0.3)
    assert ended.memory <= 300 << 20


def test_without_systemd_they_are_kept_by_other_means():
    program = "import os; print(len(os.sched_getaffinity(0))); b'x' * (600 << 20)"
    hidden = ("unshare", "--mount", "--", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh")
    if os.geteuid() != 0:
        pytest.skip("only root can hide a systemd that may run here")
    limits = Limits(cpus=1, memory=LIMITS.memory, io_weight=10)
    ended, output, errors = held(Run(("python3", "-c", program), "n", "command", rsh=hidden, limits=limits))
    assert ended.limits == (
        "no control group limits processors, memory, I/O; limited in their place: "
        "whole processors, the address space of each process, the class of I/O"
    )
    assert (ended.status, output) == (1, b"1\n")
    assert b"MemoryError" in errors
