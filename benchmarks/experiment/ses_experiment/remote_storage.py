"""A storage node and a client with a link between them, on one machine: both limited by the kernel.

The storage node is a network namespace with a real sshd, and disks (ext4 on loop devices of limited
speed).  The client is another namespace; it reads the disks through sshfs, straight from sftp-server, so that
nothing is encrypted on that way.  Links have the rate ``tc tbf`` gives them, each way.

Both share the machine's processors, so what only a client would compute is kept small: ssh exchanges keys by
curve25519 alone, which takes half the processor time of Debian 12's usual way.  A login there starts nothing
of this user's own (``.bashrc``): that would be counted as work of the storage node.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.demo.branches import Branch, BranchPlan, device_number, loop_branch, slow_down
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.mounts import mount_type, unmount
from ses.demo.processes import started
from ses.demo.throttle import Throttle, find_throttle
from ses.demo.tools import tool
from ses.demo.work import SHARED_MEMORY, need_memory

from ses_experiment import network

ADDRESS, CLIENT = "10.91.0.1", "10.91.0.2"
_SFTP_PORT, _SSH_PORT = 2022, 22
_SFTP_SERVER = "/usr/lib/openssh/sftp-server"
_READY_SECONDS = 60.0
_FORGET_SECONDS = 30.0
_PAYLOAD = 0.949  # of a link's rate: 1448 of 1526 bytes of an Ethernet frame are TCP's data
# Gives each connection to an sftp-server of its own.  As with ssh and NFS, the end of an answer is not held
# back until what was sent before is acknowledged: a client with one request on the way would wait for that.
LISTEN = """
import os, socket, socketserver
class Serve(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        os.dup2(self.request.fileno(), 0)
        os.dup2(self.request.fileno(), 1)
        os.execv("{server}", ["{server}"])
class Server(socketserver.ForkingTCPServer):
    allow_reuse_address = True
Server(("{address}", {port}), Serve).serve_forever()
"""


@dataclass(frozen=True, slots=True)
class RemoteStorage:
    """What stands.  ``disks``: what the storage node sees, ``mount``: the same as the client sees it.

    ``rsh``: the ssh command that reaches the storage node over the link.
    """

    disks: Path
    mount: Path
    rsh: tuple[str, ...]
    client: str
    storage: str
    branches: dict[str, Branch]
    throttle: Throttle
    undo: ExitStack

    def twin(self, plan: BranchPlan, of: str) -> None:
        """Make a disk that holds what another holds by now, and is read at a rate of its own.

        Both show one image, so that neither may be written any more.
        """
        directory = self.disks / plan.name
        directory.mkdir()
        tool("sync", "--file-system", str(self.disks / of))
        image = str(_image(self.disks.parent, of))
        device = Path(tool("losetup", "--read-only", "--find", "--show", image))
        self.undo.callback(tool, "losetup", "--detach", str(device))
        self.undo.callback(unmount, directory)
        tool("mount", "-t", "ext4", "-o", "ro,noatime", str(device), str(directory))
        self.branches[plan.name] = Branch(plan, directory, device)
        slow_down(self.branches[plan.name], self.throttle, self.undo)

    def limit(self, disk: str, bytes_per_second: float) -> None:
        """Give a disk another rate."""
        device = self.branches[disk].device
        assert device is not None
        self.throttle.limit(device_number(device), int(bytes_per_second), int(bytes_per_second))

    def shape(self, bits_per_second: float) -> float:
        """Give the link a rate; returns the bytes per second that TCP carries over it."""
        for space in (self.client, self.storage):
            network.limit(space, "wire", bits_per_second, "256kb")
        return bits_per_second / 8 * _PAYLOAD

    def sent(self) -> int:
        """Return the bytes the storage node has sent so far, as the kernel counts them."""
        counted = "/sys/class/net/wire/statistics/tx_bytes"
        return int(tool("ip", "netns", "exec", self.storage, "cat", counted))

    def forget(self, *files: str) -> None:
        """Take files out of the page cache on both sides; raises DemoError if the kernel keeps one."""
        for path in (folder / file for file in files for folder in (self.mount, self.disks)):
            until = time.monotonic() + _FORGET_SECONDS
            while _cached_after_forgetting(path):
                if time.monotonic() > until:
                    raise DemoError(f"{path} stays in the page cache: reading it would measure nothing.")
                time.sleep(0.1)  # a page that is in use for a moment is kept


def _cached_after_forgetting(path: Path) -> bool:
    with path.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return int(tool("fincore", "--bytes", "--noheadings", "--output", "res", str(path))) > 0


def set_up(
    work: Path, disks: Sequence[BranchPlan], undo: ExitStack, interrupts: Interrupts,
    progress: Callable[[str], None],
) -> RemoteStorage:  # fmt: skip
    """Build it below ``work``, a directory for each disk; what it takes to undo that goes onto ``undo``.

    Raises DemoError.
    """
    for program in ("/usr/sbin/sshd", _SFTP_SERVER):
        if not Path(program).exists():
            raise DemoError(f"{program} is missing: install openssh-server.")
    need_memory(sum(plan.capacity for plan in disks))
    progress("making the disks")
    (work / "disks").mkdir()
    throttle = find_throttle(work.name)
    undo.callback(throttle.close)
    branches: dict[str, Branch] = {}
    for plan in disks:
        branches[plan.name] = loop_branch(plan, work / "disks" / plan.name, _image(work, plan.name), undo)
        slow_down(branches[plan.name], throttle, undo)
    storage, client = f"{work.name}-s", f"{work.name}-c"
    progress(f"making the network of {storage} and {client}")
    for name in (storage, client):
        network.namespace(name, undo)
    network.link((storage, ADDRESS), (client, CLIENT), "wire")
    rsh = _start_sshd(work, storage, client, undo)
    listen = LISTEN.format(server=_SFTP_SERVER, address=ADDRESS, port=_SFTP_PORT)
    _start(["python3", "-c", listen], storage, undo)
    mount = work / "mount"
    mount.mkdir()
    undo.callback(unmount, mount)
    stand = RemoteStorage(work / "disks", mount, rsh, client, storage, branches, throttle, undo)

    def mounted() -> bool:
        # nsenter keeps the mount in this namespace of mounts, unlike ip netns exec
        subprocess.run(
            [*network.inside(client), "sshfs", f"{ADDRESS}:{stand.disks}", str(mount),
             "-o", f"directport={_SFTP_PORT},ro,allow_other"],
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        return mount_type(mount) is not None

    def reached() -> bool:
        argv = [*rsh, "-o", "BatchMode=yes", ADDRESS, "true"]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode == 0

    progress("starting sshd and sshfs")
    interrupts.until(mounted, _READY_SECONDS, "sshfs cannot mount the disks")
    interrupts.until(reached, _READY_SECONDS, "sshd does not answer")
    return stand


def _image(work: Path, name: str) -> Path:
    return SHARED_MEMORY / f"{work.name}-{name}.img"


def _start_sshd(work: Path, storage: str, client: str, undo: ExitStack) -> tuple[str, ...]:
    folder = work / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "key"):
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "sshd_config").write_text(
        f"Port {_SSH_PORT}\nListenAddress {ADDRESS}\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/key.pub\nStrictModes no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 100\n"  # clients come at the same moment
        f"KexAlgorithms curve25519-sha256\nSetEnv HOME={folder}\n"
    )
    (folder / "config").write_text(
        f"Host *\n  IdentityFile {folder}/key\n  IdentitiesOnly yes\n  StrictHostKeyChecking accept-new\n"
        f"  UserKnownHostsFile {folder}/known\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd separates privileges
    _start(["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")], storage, undo)
    return (*network.inside(client), "ssh", "-F", str(folder / "config"))


def _start(argv: list[str], space: str, undo: ExitStack) -> None:
    started([*network.inside(space), *argv], undo, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
