"""Run a command in a network of its own, which reaches outward and changes nothing of this machine's.

A Docker engine sets ip_forward, adds chains to the firewall and turns its FORWARD policy to DROP; in a
namespace of its own that all goes with the namespace.  slirp4netns carries connections outward from user
space, so that not even an address translation is left here.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 30.0
_NAME_SERVER = "10.0.2.3"  # slirp4netns': it asks those of this machine
# A file system of its own names: /sys is that of the network, with the machine's cgroups in it, and
# /etc/resolv.conf names the server above.
_INSIDE = """
read -r _ <&"$0" || exit 1
ip link set lo up && mount --bind "$1" /etc/resolv.conf || exit 1
mount --rbind /sys/fs/cgroup "$2" || exit 1
mount -t sysfs sysfs /sys && mount --move "$2" /sys/fs/cgroup || exit 1
shift 2
exec "$@"
"""


def run_in_own_network(command: Sequence[str | Path]) -> int:
    """Run ``command`` (root only) and return its exit status; raises RuntimeError without a network."""
    with contextlib.ExitStack() as stack:
        names = stack.enter_context(tempfile.NamedTemporaryFile("w", prefix="resolv-"))
        names.write(f"nameserver {_NAME_SERVER}\n")
        names.flush()
        Path(names.name).chmod(0o644)
        cgroups = stack.enter_context(tempfile.TemporaryDirectory(prefix="cgroups-"))
        begin, may_begin = os.pipe()
        is_up, tells_up = os.pipe()
        for end in (begin, may_begin, is_up, tells_up):
            stack.callback(_close, end)
        inside = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", _INSIDE, str(begin), names.name, cgroups, *command],
            pass_fds=[begin],
        )
        stack.callback(_end, inside)
        _wait_until_apart(inside)
        carrier = subprocess.Popen(
            ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback",
             f"--ready-fd={tells_up}", str(inside.pid), "tap0"],
            pass_fds=[tells_up], stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        stack.callback(_end, carrier)
        _close(tells_up)
        if os.read(is_up, 1) != b"1":
            raise RuntimeError("slirp4netns gave no network")
        os.write(may_begin, b"\n")
        return inside.wait()


def _wait_until_apart(inside: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while _network(inside.pid) == _network(os.getpid()):
        if inside.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("no network namespace to be had; it needs root and `unshare`")
        time.sleep(0.01)


def _network(process: int) -> str:
    return str(Path(f"/proc/{process}/ns/net").readlink())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)
