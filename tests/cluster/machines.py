"""Machines made of namespaces: own mounts, processes, network and name, and this machine's programs.

The root of each is an overlay of this machine's root, under what all of them have (``image``) and under
what each writes.  They are on one bridge, which is in the network of the first.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ran import ran

SECONDS = 300.0  # only a hang uses this up
NETWORK = "10.213.0"
# $1: where the root is put together; $2: the image; then what is seen at its own path.
_ROOT = """
set -eu
root=$1 image=$2
shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 own "$root"
mkdir "$root/upper" "$root/work" "$root/root"
mount -t overlay overlay -o "lowerdir=$image:/,upperdir=$root/upper,workdir=$root/work" "$root/root"
cd "$root/root"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
for folder in run tmp dev/shm var/lib; do mount -t tmpfs -o mode=1777 own "$folder"; done
mkdir -p run/sshd etc/qstorman
for folder; do mkdir -p ".$folder"; mount --rbind "$folder" ".$folder"; done
ip link set lo up
exec chroot . "$PYTHON" -c '
import os, time
print(flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.2)
'
"""


class Machine:
    """One machine, with the address ``NETWORK.number``; ``seen``: folders that are this machine's."""

    def __init__(self, name: str, number: int, work: Path, image: Path, seen: Sequence[Path]) -> None:
        self.name, self.address = name, f"{NETWORK}.{number}"
        root = work / name
        root.mkdir()
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "sh", "-c", f'hostname {name}\n{_ROOT}', "sh", str(root), str(image), *map(str, seen)],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHON": "/usr/bin/python3"},
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout
        assert self._process.stdout.readline() == b"\n", f"{name} does not start"
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        self.pid = int(children)

    def command(self, *command: str) -> list[str]:
        """Return the command that runs one on this machine."""
        inside = ["nsenter", f"--target={self.pid}", "--all", "--root", "--wd"]
        environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "LANG=C.UTF-8", "HOME=/root"]  # fmt: skip
        return [*inside, "--", *environment, *command]

    def run(self, *command: str, timeout: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run a command; the outcome is the caller's to judge."""
        return ran(self.command(*command), code=None, timeout=timeout)

    def output(self, *command: str, timeout: float = SECONDS) -> str:
        """Return what a command prints that must do well."""
        done = self.run(*command, timeout=timeout)
        assert done.returncode == 0, (self.name, command, done.stdout[-6000:], done.stderr[-6000:])
        return done.stdout

    def connect(self, others: Sequence[Machine]) -> None:
        """Lay a cable to each of the others, on a bridge of this machine."""
        _outside(self, "ip", "link", "add", "bridge", "type", "bridge")
        _address(self, "bridge")
        for other in others:
            port = f"to-{other.name}"
            _outside(self, "ip", "link", "add", port, "type", "veth", "peer", "eth0", "netns", str(other.pid))
            _outside(self, "ip", "link", "set", port, "master", "bridge", "up")
            _address(other, "eth0")

    def end(self) -> None:
        """End all that runs on it."""
        self._process.kill()
        self._process.wait(SECONDS)


def _outside(machine: Machine, *command: str) -> None:
    """Run a command in the network of a machine, which sees the processes of this one."""
    subprocess.run(["nsenter", f"--target={machine.pid}", "--net", *command], check=True, timeout=SECONDS)


def _address(machine: Machine, interface: str) -> None:
    _outside(machine, "ip", "address", "add", f"{machine.address}/24", "dev", interface)
    _outside(machine, "ip", "link", "set", interface, "up")


def folders_of_programs(repository: Path) -> list[Path]:
    """Return what has to be seen besides this machine's root: the repository, and the Python it uses."""
    root = Path("/").stat().st_dev
    return [path for path in (repository, Path(sys.base_prefix)) if path.stat().st_dev != root]
