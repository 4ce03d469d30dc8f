"""What steering a union reaches of what the library does, for programs that no library reaches.

Eight users write files one after another on equal branches, some of which others keep busy.  Arms: the
union alone (``plain``), under the library (``library``), and without it on a union that ``ses apply --watch``
steers (``steered``).  Who writes: programs of this node (``daemon``), the same in containers with Podman's
default filter (``container``), and clients of a real NFS server that exports the union (``nfs``).  The
library reaches only the first; the others are compared with what it gains there.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts
from ses.demo.processes import free_port

from ses_experiment import background
from ses_experiment.arms import PRODUCT, Arm
from ses_experiment.machine import load, machine, product
from ses_experiment.site import FIRST_USER, READ_RATE, WRITE_RATE, Shape, Stand, stand_up
from ses_experiment.table1_run import LEAD_SECONDS
from ses_experiment.writers import Programs

PLAIN, LIBRARY, STEERED = "plain", "library", "steered"
CLIENTS = ("daemon", "container", "nfs")
POLICY = "pfrd"
_MIB = 1 << 20
_USERS = 8
_LATER = 120.0  # seconds for the last files to end
_PODMAN = ("podman", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
           "--runtime", "runc")  # fmt: skip
_EXPORTABLE = "noforget,inodecalc=path-hash"  # so that an NFS server finds files again
_GANESHA = """
NFS_CORE_PARAM {{ NFS_Port = {port}; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false;
  Bind_addr = 127.0.0.1; }}
NFSV4 {{ Graceless = true; RecoveryRoot = {work}/recovery; Only_Numeric_Owners = true; }}
EXPORT {{ Export_Id = 1; Path = {union}; Pseudo = /union; Access_Type = RW; Squash = No_Root_Squash;
  SecType = sys; FSAL {{ Name = VFS; }} }}
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: rounds of each arm for ``seconds``, files of ``megabytes`` MiB."""

    clients: tuple[str, ...] = CLIENTS
    background: str = "skewed"
    rounds: int = 5
    seconds: int = 30
    megabytes: int = 24
    threads: int = 16
    seed: int = 1
    build: Path | None = None

    def shape(self) -> Shape:
        """Return the branches."""
        return Shape(capacity=_USERS * self.megabytes + 400, threads=self.threads, options=_EXPORTABLE)

    def arms(self) -> list[tuple[str, str]]:
        """Return who writes, and how their files are placed."""
        arms = [("daemon", LIBRARY)]
        return arms + [(client, arm) for client in self.clients for arm in (PLAIN, STEERED)]


@dataclass(frozen=True, slots=True)
class Round:
    """What the users of one round wrote in all, MB/s."""

    number: int
    client: str
    arm: str
    rate: float
    load: float


@dataclass(frozen=True, slots=True)
class Reached:
    """Means over rounds, MB/s; ``share``: what steering gained, of what the library gains on this node."""

    client: str
    plain: float
    steered: float
    library: float
    share: float


def reached(rounds: Sequence[Round], client: str) -> Reached:
    """Return what steering reached for a kind of client."""

    def mean(of: str, arm: str) -> float:
        return fmean(one.rate for one in rounds if (one.client, one.arm) == (of, arm))

    plain, steered = mean(client, PLAIN), mean(client, STEERED)
    here, library = mean("daemon", PLAIN), mean("daemon", LIBRARY)
    return Reached(client, plain, steered, library, (steered / plain - 1) / (library / here - 1))


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Round], dict[str, Any]]:
    """Run all rounds and undo everything that was made, however it ends; raises DemoError, StoppedError."""
    on, arm, chance = machine(), Arm(PRODUCT, agent=()), Random(plan.seed)
    settings = {**asdict(plan), "build": None, "policy": POLICY, "product": product(find_parts(plan.build))}
    played = []
    with ExitStack() as undo:
        try:
            stand = stand_up(plan.shape(), [arm], plan.build, undo, interrupts, progress)
            background.prepare([branch.directory for branch in stand.storage.branches], 64)
            (stand.work / "source").write_bytes(bytes(plan.megabytes * _MIB))
            server = undo.enter_context(_nfs_server(stand)) if "nfs" in plan.clients else ""
            for number in range(1, plan.rounds + 1):
                for client, how in chance.sample(plan.arms(), len(plan.arms())):
                    progress(f"round {number} of {plan.rounds}: {client}, {how}")
                    played.append(_play(plan, stand, number, client, how, stand.environment(arm), server))
        finally:
            interrupts.hold()
            progress("stopping and removing everything")
    return played, {"settings": settings, "machine": on}


def _play(
    plan: Plan, stand: Stand, number: int, client: str, how: str, library: dict[str, str], server: str
) -> Round:
    stand.wait_idle()
    stand.place_by(POLICY)
    busy = load()
    with ExitStack() as undo:
        if how == STEERED:
            undo.enter_context(_steered(stand))
        undo.enter_context(_others(plan, stand, number))
        stand.interrupts.pause(LEAD_SECONDS)
        programs = undo.enter_context(Programs(stand.work, stand.interrupts))
        until = int(time.clock_gettime(time.CLOCK_BOOTTIME)) + plan.seconds
        for user in range(_USERS):
            home = stand.home("steer", user)
            argv = _writer(plan, stand, client, home, until, server)
            of = user if client == "daemon" else -FIRST_USER  # Podman and the NFS client begin as root
            programs.start(argv, of, library if how == LIBRARY else {}, stand.work)
        programs.wait(plan.seconds + _LATER)
        files = sum(program.errors.read_text("utf-8").count("written") for program in programs.running)
    return Round(number, client, how, files * plan.megabytes * _MIB / 1e6 / plan.seconds, busy)


def _writer(plan: Plan, stand: Stand, client: str, home: str, until: int, server: str) -> list[str]:
    """Return a shell that writes files until then, and says so of each on standard error."""
    place = f"{'/union' if client == 'container' else stand.storage.union}/{home}/$n"
    write = f"dd if=/dev/zero of={place} bs=1M count={plan.megabytes} conv=fsync 2>/dev/null"
    if client == "nfs":
        write = f'nfs-cp {stand.work}/source "nfs://127.0.0.1/union/{home}/$n{server}" >/dev/null'
    loop = (
        f"n=0; while [ $(cut -d. -f1 /proc/uptime) -lt {until} ]; do n=$((n+1)); {write} || exit 1; "
        f"rm {place}; echo written >&2; done"
    )
    if client != "container":
        return ["sh", "-c", loop]
    root = stand.work / "root"
    for part in ("bin", "union", "proc", "sys", "dev", "etc", "tmp"):
        (root / part).mkdir(parents=True, exist_ok=True)
    busybox = shutil.which("busybox")
    if busybox is None:
        raise DemoError("busybox is not installed: apt-get install busybox-static.")
    if not (root / "bin/busybox").exists():
        shutil.copy(busybox, root / "bin/busybox")
        for name in ("sh", "dd", "rm", "cut", "echo"):
            (root / "bin" / name).symlink_to("busybox")
    return [
        *_PODMAN, "--root", f"{stand.work}/podman", "--runroot", f"{stand.work}/podman-run", "run", "--rm",
        "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
        "-v", f"{stand.storage.union}:/union", "--rootfs", str(root), "/bin/sh", "-c", loop,
    ]  # fmt: skip


@contextmanager
def _steered(stand: Stand) -> Iterator[None]:
    command = [sys.executable, "-c", "import ses.cli; ses.cli.main()", "apply", str(stand.storage.union),
               "--watch", "--every", "1", "--least-free", "0GB"]  # fmt: skip
    environment = {
        **os.environ,
        "SES_SERVICE_URL": stand.services.service_url,
        "SES_TOKEN_FILE": str(stand.services.tokens.admin),
    }
    with (stand.work / "steering.log").open("ab") as log:
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield
        if running.poll() is not None:
            raise DemoError(f"ses apply has ended: {(stand.work / 'steering.log').read_text()[-300:]}")
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


@contextmanager
def _others(plan: Plan, stand: Stand, number: int) -> Iterator[None]:
    loads = background.LOADS[plan.background]
    horizon = LEAD_SECONDS + plan.seconds + _LATER
    chance = Random(f"{plan.seed} {number}")
    streams = background.schedule(loads, (READ_RATE * 1e6, WRITE_RATE * 1e6), 16e6, horizon, chance)
    file = stand.work / "others.json"
    background.write_schedule(streams, [branch.directory for branch in stand.storage.branches], file)
    command = [sys.executable, "-m", "ses_experiment.background", str(file), str(time.monotonic())]
    running = subprocess.Popen(command)
    try:
        yield
    finally:
        running.kill()
        running.wait()
        for branch in stand.storage.branches:
            for left in (branch.directory / background.FOLDER).glob("[0-9]*.bin"):
                left.unlink()


@contextmanager
def _nfs_server(stand: Stand) -> Iterator[str]:
    """Export the union by a server of its own; yields what its addresses end with."""
    port, work = free_port(), stand.work / "nfs"
    (work / "recovery").mkdir(parents=True)
    (work / "ganesha.conf").write_text(
        _GANESHA.format(port=port, work=work, union=stand.storage.union), "utf-8"
    )
    command = f"ganesha.nfsd -F -f {work}/ganesha.conf -L {work}/log -p {work}/pid"
    try:
        running = subprocess.Popen(shlex.split(command))
    except OSError:
        raise DemoError(
            "ganesha.nfsd is not installed: apt-get install nfs-ganesha-vfs libnfs-utils."
        ) from None
    try:
        stand.interrupts.until(
            lambda: (work / "log").exists() and "SERVER INITIALIZED" in (work / "log").read_text(),
            60,
            "The NFS server does not start",
        )
        yield f"?version=4&nfsport={port}"
    finally:
        running.terminate()
        running.wait(60)
