"""What a program may use on the node it runs on: limits kept for it, and what there is.

Needs Python 3.8, and nothing else: its text is sent with the runner's (:mod:`ses.near.execution.runner`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from pathlib import Path

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LIST_CONTROLS = """while IFS=: read -r _ names path; do
  case $path in */run-*.scope) ls "/sys/fs/cgroup/$names$path" ;; esac
done </proc/self/cgroup"""
CONTROLS = {
    "processors": {"cpu.max", "cpu.cfs_quota_us"},
    "memory": {"memory.max", "memory.limit_in_bytes"},
    "I/O": {"io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight"},
}


def limited(argv: list[str], limits: dict[str, Any], executor: str) -> tuple[list[str], Any, str]:
    """Return the command under its limits, what the child does before it, and how they are kept in words."""
    cpus, memory, weight = limits["cpus"], limits["memory"], limits["io_weight"]
    asked = [name for name, value in (("processors", cpus), ("memory", memory), ("I/O", weight)) if value]
    if not asked:
        return argv, None, ""
    if executor == "slurm":
        return argv, None, "limits kept by Slurm" + ("; I/O is not limited" if weight else "")
    scope, kept = scope_of(cpus, memory, weight)
    left = [limit for limit in asked if limit not in kept]
    by_other_means = {"processors": "whole processors", "memory": "the address space of each process"}
    if "I/O" in left and runnable("ionice", None):
        by_other_means["I/O"] = "the class of I/O"
        argv = ["ionice", "-c", "2", "-n", "7" if weight < 50 else "4" if weight <= 100 else "0", *argv]

    def child() -> None:
        if "memory" in left:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if "processors" in left:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: max(1, -int(-cpus // 1))])

    by_group = (
        f"a control group limits {', '.join(limit for limit in asked if limit in kept)}" if kept else ""
    )
    by_hand = ", ".join(by_other_means[limit] for limit in left if limit in by_other_means) or "nothing"
    by_hand = f"no control group limits {', '.join(left)}; limited in their place: {by_hand}" if left else ""
    return [*scope, *argv], child if left else None, "; ".join(text for text in (by_group, by_hand) if text)


def runnable(program: str, path: str | None) -> bool:
    """Return whether a program is there; ``path``: the folders to look in."""
    if "/" in program:
        return os.access(program, os.X_OK)
    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(":")
    return any(os.access(f"{folder or '.'}/{program}", os.X_OK) for folder in folders)


def scope_of(cpus: Any, memory: Any, weight: Any) -> tuple[list[str], set[str]]:
    """Return what runs a command in a control group of its own by systemd, and what that limits there.

    A user's systemd accepts limits of which the administrator has delegated no controller, so they are looked
    for.
    """
    if not Path("/run/systemd/system").is_dir() or not runnable("systemd-run", None):
        return [], set()
    scope = ["systemd-run", "--scope", "--quiet", *([] if os.getuid() == 0 else ["--user"])]
    scope += ["-p", f"CPUQuota={round(cpus * 100)}%"] if cpus else []
    scope += ["-p", f"MemoryMax={memory}"] if memory else []
    scope += ["-p", f"IOWeight={weight}"] if weight else []
    looking = [*scope, "--", "sh", "-c", LIST_CONTROLS]
    done = subprocess.run(looking, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if "cgroup.procs" not in done.stdout:
        return [], set()
    there = set(done.stdout.split())
    return [*scope, "--"], {name for name, controls in CONTROLS.items() if there & controls}


def own_controls(controller: str, control: str, *older: str) -> Iterator[str]:
    """Yield the values of a control in this process's control groups; ``older``: the same in cgroup v1."""
    for entry in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = entry.split(":", 2)
        with contextlib.suppress(OSError):
            if not names:
                yield Path(f"/sys/fs/cgroup{path}/{control}").read_text()
            elif controller in names.split(","):
                yield " ".join(Path(f"/sys/fs/cgroup/{names}{path}/{name}").read_text() for name in older)


def cores() -> float:
    """Return the processors the program may use: affinity, or the quota of its control group if less."""
    count = float(len(os.sched_getaffinity(0)))
    for values in own_controls("cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        with contextlib.suppress(ValueError):
            quota, period = map(float, values.split())
            count = min(count, quota / period if quota > 0 else count)
    return count


def memory() -> float:
    """Return the bytes of memory that programs may use: what is available, or the control group's if less."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(float(text.split()[1]) * 1024 for text in lines if text.startswith("MemAvailable:"))
    for most in own_controls("memory", "memory.max", "memory.limit_in_bytes"):
        with contextlib.suppress(ValueError):
            available = min(available, float(most))
    return available
