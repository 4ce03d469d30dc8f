"""A real systemd as the first process of namespaces of its own.

It cannot write this machine's files, and sees no control groups but its own.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from patience import wait_until

SYSTEMD = Path("/lib/systemd/systemd")
USUAL = ("rw", "relatime", "nosuid", "nodev", "noexec")
NAMESPACES = ("--pid", "--mount", "--cgroup", "--uts", "--ipc")
# Control groups are mounted again, so that this group is their root.  Nothing of the machine is started.
START = """set -e
umount --lazy /sys/fs/cgroup
mount -t tmpfs none /sys/fs/cgroup
while read -r kind options path; do mkdir -p "$path"; mount -t "$kind" -o "$options" none "$path"; done <<END
{mounts}
END
mount -o remount,ro,bind /
test ! -e /dev/console || mount --bind /dev/null /dev/console
mount -t tmpfs none /run
mkdir -p /run/systemd/system
printf '[Unit]\\nDefaultDependencies=no\\n' >/run/systemd/system/alone.target
container=lxc exec {systemd} --system --unit=alone.target --log-target=null --show-status=no
"""


def running(name: str) -> Iterator[tuple[str, ...]]:
    """Start it below control groups of a name; yields the command that runs what follows it there.

    Skips where that cannot be done.
    """
    if os.geteuid() != 0 or not SYSTEMD.exists():
        pytest.skip("systemd is not installed, or this is not root")
    with ExitStack() as undo:
        mounts = hierarchies()
        for kind, _, path in mounts:
            group = Path(path) / name
            group.mkdir()
            undo.callback(remove, group)
            for needed in (
                "cpuset.cpus",
                "cpuset.mems",
            ):  # of cgroup v1: nobody can join before they are said
                if kind == "cgroup" and (group / needed).exists():
                    (group / needed).write_text((Path(path) / needed).read_text())
        joined = "".join(f"echo $$ >{path}/{name}/cgroup.procs\n" for _, _, path in mounts)
        text = START.format(mounts="\n".join(" ".join(mount) for mount in mounts), systemd=SYSTEMD)
        unshare = ["unshare", "--fork", "--kill-child", *NAMESPACES]
        started = subprocess.Popen(
            ["sh", "-c", f'set -e\n{joined}exec "$@"', "sh", *unshare, "--mount-proc", "sh", "-c", text],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        undo.enter_context(started)
        undo.callback(started.kill)
        yield entered(started)


def hierarchies() -> list[tuple[str, str, str]]:
    """Return kind, options and path of what is mounted below /sys/fs/cgroup."""
    units = []
    for entry in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, options, *_ = entry.split()
        if kind in ("cgroup", "cgroup2") and path.startswith("/sys/fs/cgroup"):
            own = [
                part
                for part in options.split(",")
                if part not in ("rw", "relatime", "nosuid", "nodev", "noexec")
            ]
            named = ["none"] if any(option.startswith("name=") for option in own) else []
            units.append((kind, ",".join([*named, *own] if kind == "cgroup" else ["rw"]), path))
    return units


def entered(started: subprocess.Popen[bytes]) -> tuple[str, ...]:
    """Return the command that enters it, once it answers."""
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")

    def answers() -> tuple[str, ...]:
        with contextlib.suppress(OSError):
            for first in children.read_text().split():
                enter = ("nsenter", f"--target={first}", *NAMESPACES, "--")
                asked = [*enter, "systemd-run", "--scope", "--quiet", "true"]
                if subprocess.run(asked, capture_output=True).returncode == 0:
                    return enter
        return ()

    wait_until(lambda: started.poll() is not None or answers(), "systemd answers", every=0.1)
    if enter := answers():
        return enter
    assert started.stdout is not None
    pytest.skip(f"systemd cannot run here: {started.stdout.read().decode()[-300:]}")


def remove(group: Path) -> None:
    """Remove a group with all below it, once what was killed there is gone."""

    def is_gone() -> bool:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
        for process in (group / "cgroup.procs").read_text().split() if group.exists() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        return not group.exists()

    wait_until(is_gone, f"{group} is gone", every=0.02)
