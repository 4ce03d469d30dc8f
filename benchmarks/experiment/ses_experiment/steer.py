"""What steering a union reaches of what the library does, for programs that no library reaches.

Eight users write files with pauses on equal branches, some of which others keep busy.  Arms: the
union alone (``plain``), under the library (``library``), and without it on a union that ``ses apply --watch``
steers (``steered``).  Who writes: programs of this node (``daemon``), the same in containers with Podman's
default filter (``container``), and clients of a real NFS server that exports the union (``nfs``).  The
library reaches only the first; the others are compared with what it gains there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import started
from ses.demo.tools import tool

from ses_experiment import background
from ses_experiment.arms import PRODUCT, Arm
from ses_experiment.machine import load, machine, settings
from ses_experiment.papers.qstorman.table1_run import LEAD_SECONDS
from ses_experiment.site import FIRST_USER, RATES, Shape, Stand, stand_up
from ses_experiment.writers import Programs

PLAIN, LIBRARY, STEERED = "plain", "library", "steered"
CLIENTS = ("daemon", "container", "nfs")
POLICY = "pfrd"
_NEEDED = {  # programs of each kind of client, with their packages
    "daemon": {},
    "container": {"podman": "podman", "runc": "runc", "busybox": "busybox-static"},
    "nfs": {"ganesha.nfsd": "nfs-ganesha-vfs", "rpcbind": "rpcbind", "nfs-cp": "libnfs-utils"},
}
_MIB = 1 << 20
_USERS = 8
_LATER = 120.0  # seconds for the last files to end
_START_SECONDS = 6  # in which all users' containers start
_PAUSE = 4.0  # seconds at most before each file of a user
_PODMAN = ("podman", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
           "--runtime", "runc")  # fmt: skip
_EXPORTABLE = "noforget,inodecalc=path-hash"  # so that an NFS server finds files again
_GANESHA = """
NFS_CORE_PARAM {{ Protocols = 3; Enable_NLM = false; Enable_RQUOTA = false; }}
EXPORT {{ Export_Id = 1; Path = {union}; Pseudo = /union; Access_Type = RW; Squash = No_Root_Squash;
  SecType = sys; FSAL {{ Name = VFS; }} }}
"""
_SERVE = """
ip link set lo up; mount -t tmpfs none /run; rpcbind -w -f &
sleep 1; exec ganesha.nfsd -F -f {work}/ganesha.conf -L {work}/log -p {work}/pid
"""  # where it has a network, a portmapper and a /run of its own


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: rounds of each arm for ``seconds``, files of ``megabytes`` MiB."""

    clients: tuple[str, ...] = CLIENTS
    background: str = "skewed"
    rounds: int = 5
    seconds: int = 30
    megabytes: int = 24
    least_branches: int = 2
    threads: int = 16
    seed: int = 1
    build: Path | None = None

    def shape(self) -> Shape:
        """Return the branches."""
        return Shape(capacity=_USERS * self.megabytes + 400, threads=self.threads, options=_EXPORTABLE)

    def arms(self) -> list[tuple[str, str]]:
        """Return who writes, and how their files are placed; the library's gain is that of the node."""
        compared = {(client, arm): None for client in self.clients for arm in (PLAIN, STEERED)}
        return list({("daemon", LIBRARY): None, ("daemon", PLAIN): None} | compared)


@dataclass(frozen=True, slots=True)
class Round:
    """What the files of one round took on average."""

    number: int
    client: str
    arm: str
    files: int
    seconds: float
    load: float


@dataclass(frozen=True, slots=True)
class Reached:
    """Seconds for a file; ``share``: the part steering saved, of the part the library saves on this node.

    It is ``None`` where the library saves nothing.
    """

    client: str
    plain: float
    steered: float
    library: float
    share: float | None


def reached(rounds: Sequence[Round], client: str) -> Reached:
    """Return what steering reached for a kind of client."""

    def mean(of: str, arm: str) -> float:
        return fmean(entry.seconds for entry in rounds if (entry.client, entry.arm) == (of, arm))

    plain, steered = mean(client, PLAIN), mean(client, STEERED)
    here, library = mean("daemon", PLAIN), mean("daemon", LIBRARY)
    saved, gain = 1 - steered / plain, 1 - library / here
    return Reached(client, plain, steered, library, saved / gain if gain > 0 else None)


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Round], dict[str, Any]]:
    """Run all rounds and undo everything that was made, however it ends; raises DemoError, StoppedError."""
    for client in plan.clients:
        if missing := [program for program in _NEEDED[client] if shutil.which(program) is None]:
            packages = " ".join(_NEEDED[client].values())
            raise DemoError(f"{', '.join(missing)} not there: apt-get install {packages}.")
    on, arm, chance = machine(), Arm(PRODUCT, agent=()), Random(plan.seed)
    known = settings(plan, policy=POLICY)
    played = []
    with interrupts.undoing(progress) as undo:
        stand = stand_up(plan.shape(), [arm], plan.build, undo, interrupts, progress)
        background.prepare(stand.storage.directories, 64)
        (stand.work / "source").write_bytes(bytes(plan.megabytes * _MIB))
        state = undo.enter_context(TemporaryDirectory(prefix="ses-podman-", dir="/run"))  # a short name
        through = {"container": state}
        if "nfs" in plan.clients:
            through["nfs"] = undo.enter_context(_nfs_server(stand))
        for number in range(1, plan.rounds + 1):
            for client, how in chance.sample(plan.arms(), len(plan.arms())):
                progress(f"round {number} of {plan.rounds}: {client}, {how}")
                library, via = stand.environment(arm), through.get(client, "")
                played.append(_play(plan, stand, number, client, how, library, via))
    return played, {"settings": known, "machine": on}


def _play(
    plan: Plan, stand: Stand, number: int, client: str, how: str, library: dict[str, str], via: str
) -> Round:
    stand.wait_idle()
    stand.place_by(POLICY)
    busy = load()
    with ExitStack() as undo:
        if how == STEERED:
            undo.enter_context(_steered(stand, plan.least_branches))
        horizon = LEAD_SECONDS + _START_SECONDS + plan.seconds + _LATER
        chance, loads = Random(f"{plan.seed} {number}"), background.LOADS[plan.background]
        streams = background.schedule(loads, RATES, 16e6, horizon, chance)
        others = background.playing(streams, stand.storage.directories, stand.work, time.monotonic())
        undo.enter_context(others)
        stand.interrupts.pause(LEAD_SECONDS)
        if client == "container":  # those that are still running do not end with podman run
            undo.callback(_end_containers, stand, via)
        programs = undo.enter_context(Programs(stand.work, stand.interrupts))
        begin = int(time.clock_gettime(time.CLOCK_BOOTTIME)) + _START_SECONDS
        for user in range(_USERS):
            home = stand.home("steer", user)
            names = f"{home}/{number}-{client}-{how}"  # a name that was there, an NFS server may remember
            argv = _writer(plan, stand, client, names, begin, via, 1000 * (8 * number + user))
            of = user if client == "daemon" else -FIRST_USER  # Podman and the NFS client begin as root
            programs.start(argv, of, library if how == LIBRARY else {}, stand.work)
        programs.wait(_START_SECONDS + plan.seconds + _LATER)
        lines = [line for program in programs.running for line in program.errors.read_text().splitlines()]
    took = [float(line.split()[2]) - float(line.split()[1]) for line in lines if line.startswith("written")]
    return Round(number, client, how, len(took), mean_seconds(took), busy)


def mean_seconds(took: Sequence[float]) -> float:
    """Return what files took on average; raises DemoError where there are none."""
    if not took:
        raise DemoError("No user wrote a file in the time; take more --seconds.")
    return fmean(took)


def _writer(plan: Plan, stand: Stand, client: str, names: str, begin: int, via: str, seed: int) -> list[str]:
    """Return a shell that writes files from ``begin`` on, and says so of each on standard error.

    ``via``: what the command of an NFS client begins with, or where Podman keeps its state.
    """
    place = f"{'/union' if client == 'container' else stand.storage.union}/{names}-$n"
    write = f"dd if=/dev/zero of={place} bs=1M count={plan.megabytes} conv=fsync 2>/dev/null"
    remove = f"rm {place}"
    if client == "nfs":  # the server keeps what it has open, and its room, though it is removed past it
        write = f"{via} {stand.work}/source nfs://127.0.0.1{place} >/dev/null"
        remove = f": >{place}; touch -d @1 {place}; rm {place}"
    pause = f"sleep $(awk 'BEGIN {{ srand('$(({seed} + n))'); print {_PAUSE} * rand() }}')"
    loop = (
        "at() { cut -d' ' -f1 /proc/uptime; }; before() { [ $(cut -d. -f1 /proc/uptime) -lt $1 ]; }; n=1; "
        f"while before {begin}; do sleep 0.1; done; while {pause}; before {begin + plan.seconds}; do "
        f"a=$(at); {write} || exit 1; echo written $a $(at) >&2; {remove}; n=$((n+1)); done"
    )
    if client != "container":
        return ["sh", "-c", loop]
    root = stand.work / "root"
    for part in ("bin", "union", "proc", "sys", "dev", "etc", "tmp"):
        (root / part).mkdir(parents=True, exist_ok=True)
    if not (root / "bin/busybox").exists():
        shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
        for name in ("sh", "dd", "rm", "cut", "awk", "sleep"):
            (root / "bin" / name).symlink_to("busybox")
    return [
        *_podman(stand, via), "run", "--rm", "--network", "none",
        "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
        "-v", f"{stand.storage.union}:/union", "--rootfs", str(root), "/bin/sh", "-c", loop,
    ]  # fmt: skip


def _podman(stand: Stand, state: str) -> list[str]:
    return [*_PODMAN, "--root", f"{stand.work}/podman", "--runroot", state]


def _end_containers(stand: Stand, state: str) -> None:
    """Remove all containers, and end what looked after those that were just being started."""
    tool(*_podman(stand, state), "rm", "--all", "--force", "--time", "0")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text() == "conmon\n" and state in (process / "cmdline").read_text():
                os.kill(int(process.name), signal.SIGKILL)


@contextmanager
def _steered(stand: Stand, least: int) -> Iterator[None]:
    command = [sys.executable, "-c", "import ses.cli; ses.cli.main()", "apply", str(stand.storage.union),
               "--watch", "--least-branches", str(least), "--least-free", "0GB"]  # fmt: skip
    environment = {
        **os.environ,
        "SES_SERVICE_URL": stand.services.service_url,
        "SES_TOKEN_FILE": str(stand.services.tokens.admin),
    }
    with ExitStack() as undo, (stand.work / "steering.log").open("ab") as log:
        running = started(command, undo, 60.0, env=environment, stdout=log, stderr=log)
        yield
        if running.poll() is not None:
            raise DemoError(f"ses apply has ended: {(stand.work / 'steering.log').read_text()[-300:]}")


@contextmanager
def _nfs_server(stand: Stand) -> Iterator[str]:
    """Export the union by a server of its own; yields what a client's command begins with."""
    work = stand.work / "nfs"
    work.mkdir()
    (work / "ganesha.conf").write_text(_GANESHA.format(union=stand.storage.union), "utf-8")
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
    with ExitStack() as undo:
        running = started(
            [*apart, "sh", "-c", _SERVE.format(work=work)], undo, 0.0, stderr=subprocess.DEVNULL
        )
        stand.interrupts.until(
            lambda: (work / "log").exists() and "SERVER INITIALIZED" in (work / "log").read_text(),
            60,
            "The NFS server does not start",
        )
        yield f"nsenter -t {running.pid} -n nfs-cp"
