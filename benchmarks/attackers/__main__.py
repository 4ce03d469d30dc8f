"""What honest users lose while others attack: 8 writers beside one attacker of each kind, all other users.

Builds a union of four branches in memory, service, monitor, portal and agent (root is needed).  Honest
programs create files under the preload library, alone, then beside the attackers (attack.py), then alone
again; further programs make the same calls of the file system without it.  Reported: how long a create took,
how soon the service knew of a file and how long it took to say so, files it never knew of, and parts
that are not the processes they were.  Attackers keep the union and the caches busy as well: how much slower
creates without the library become says how much, and what is left of the slowdown of placed ones is what
the parts cost for attackers.
Service, monitor and portal, and who attacks them, have one processor, as they have a machine of their own;
union, agent and programs have another.  Attackers run with SCHED_IDLE: how a busy machine divides its
processors is the scheduler's affair, and only what the parts do for attackers counts.
Users have accounts in a mount namespace of the benchmark's own: the service refuses users without one.
Does NOT attack what needs other machines: MUNGE, the sampler, shared values.

Usage: benchmarks/attackers [--seconds 600] [--alone 60] [--only NAME ...]
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

# isort: split
from attack import ATTACKS, ON_SERVERS
from figures import KNOWN_WITHIN, WRITERS, Created, answers, figures, slowdown
from programs import WRITER
from ses.demo.processes import free_port
from ses.demo.tools import tool
from ses_benchmarks.arguments import arguments, as_root, program
from ses_benchmarks.probe import compile_program
from ses_benchmarks.whole_site import (
    BIN,
    ROOT,
    Parts,
    of_user,
    wait_until,
)
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient
from ses_client.errors import SesError

HERE = Path(__file__).resolve().parent
CONTROLS, FIRST_HONEST, FIRST_ATTACKER = 8, 21_001, 22_001
SERVERS, NODE = {0}, {1}  # processors
OPEN_FOR = 4.0  # seconds: files of honest programs
EVERY = 0.25  # seconds between two files of one program, on average
ASKERS = 2  # of a user: a question that waits for its answer hides what became known meanwhile

SETRESUID = 117  # of x86-64; the call itself, unlike the C library's function, changes one thread
NEW_MOUNTS = 0x20000  # CLONE_NEWNS


class Site(Parts):
    """The parts, and the programs of honest users."""

    def __init__(self, work: Path, undo: ExitStack) -> None:
        os.sched_setaffinity(0, NODE)
        super().__init__(work, undo, "2g", "category.create=pfrd,minfreespace=10M")
        self.ports = {name: free_port() for name in ("service", "monitor", "portal")}
        at = {name: f"127.0.0.1:{number}" for name, number in self.ports.items()}
        self.socket = work / "service.sock"
        url = f"unix:{self.socket}"
        os.sched_setaffinity(0, SERVERS)
        listen = (f"--listen={at['service']}", f"--socket={self.socket}")
        self.parts = [
            self.start_service(work / "state", at["monitor"], *listen),
            self.start_monitor(at["monitor"]),
        ]
        self._wait_for_service()
        self.parts.append(self.part(
            "portal", BIN / "ses-webface", "serve", f"--listen={at['portal']}",
            f"--state-dir={work / 'portal'}", f"--service-url={url}",
        ))  # fmt: skip
        os.sched_setaffinity(0, NODE)
        self.parts.append(self.start_agent(url))

    def new_client(self) -> ServiceClient:
        """Return a caller of the service, for one thread."""
        return ServiceClient(ServiceAddress(f"unix:{self.socket}", None))

    def _wait_for_service(self) -> None:
        client = self.new_client()

        def is_ready() -> bool:
            with suppress(SesError):
                client.check()
                return True
            return False

        wait_until(is_ready, f"the service is ready; see {self.work}/service.log")

    def pids(self) -> dict[str, int]:
        """Return the processes of the parts, with those that they started."""
        pids = {}
        for part in self.parts:
            pids[part.name] = part.process.pid if part.process.poll() is None else -1
            for pid in part.children():
                with suppress(OSError):
                    words = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
                    pids[f"{part.name}: {words[:60]}"] = pid
        return pids

    def writer(self, number: int) -> subprocess.Popen[str]:
        """Start an honest program; those from WRITERS on are without the library."""
        user = FIRST_HONEST + number
        top = self.directory(f"honest-{number}", user)
        environment, stage = self.placed, ""
        if number >= WRITERS:
            environment, stage = {}, f"/.staged-{number}"
            self.directory(stage[1:], user)
        branch = self.branches[number % len(self.branches)]
        writer: subprocess.Popen[str] = of_user(
            user, "-c", WRITER, top, str(EVERY), str(OPEN_FOR), branch, stage,
            environment=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._undo.callback(writer.kill)
        return writer

    def hanging(self, user: int) -> Path:
        """Make a directory where a user may mount a file system."""
        directory = self.work / f"hanging-{user}"
        directory.mkdir()
        os.chown(directory, user, user)
        return directory

    def attacker(self, number: int, name: str, neighbour: int) -> subprocess.Popen[bytes]:
        """Start an attacker in a group of its own, which ends with it."""
        user = FIRST_ATTACKER + number
        where = self.work / f"attack-{name}.json"
        fields = {name: ["127.0.0.1", port] for name, port in self.ports.items()} | {
            "service_socket": str(self.socket), "agent_socket": str(self.agent_socket),
            "union": str(self.union), "branches": [str(branch) for branch in self.branches],
            "library": str(self.library), "neighbour": neighbour,
            "frozen": str(self.work / "frozen"), "hanging": str(self.hanging(user)),
            "own": str(self.directory(f"attacker-{name}", user)), "user": account(user),
        }  # fmt: skip
        where.write_text(json.dumps(fields))
        os.sched_setaffinity(0, SERVERS if name in ON_SERVERS else NODE)
        with (self.work / f"attack-{name}.log").open("wb") as log:
            attacker: subprocess.Popen[bytes] = of_user(
                user, self.work / "attack.py", name, where, start_new_session=True, stdout=log, stderr=log
            )
        os.sched_setaffinity(0, SERVERS)
        self._undo.callback(end_all_of, attacker, user)
        return attacker


def end_all_of(attacker: subprocess.Popen[bytes], user: int) -> None:
    """End an attacker and what it started: its session first, since a look at some of it would hang."""
    with suppress(ProcessLookupError):
        os.killpg(attacker.pid, signal.SIGKILL)
    attacker.wait()
    for _ in range(20):
        left = 0
        for status in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if status.stat().st_uid == user and status.joinpath("stat").read_text().split()[-50] != "Z":
                    os.kill(int(status.name), signal.SIGKILL)
                    left += 1
        if left == 0:
            break
        time.sleep(0.05)
    for mount in Path("/proc/mounts").read_text().splitlines():
        if mount.split()[1].endswith(f"/hanging-{user}"):
            subprocess.run(["umount", "-l", mount.split()[1]], check=False)
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[7]) == user and fields[0] == "0":  # private: made by the attacker itself
            subprocess.run(["ipcrm", "-m", fields[1]], check=False)


def build_frozen(program: Path) -> None:
    """Compile the program whose processes hang any process that looks at them."""
    flags = tool("pkg-config", "--cflags", "--libs", "fuse3").split()
    compile_program(ROOT / "tests/agent/probes/frozen.c", program, *flags, "-lpthread")


def give_accounts(work: Path) -> None:
    """Let this process and those it starts see accounts of all users."""
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNTS):
        raise SystemExit(f"no mount namespace can be made: {os.strerror(ctypes.get_errno())}")
    tool("mount", "--make-rprivate", "/")
    accounts = work / "passwd"
    users = [*range(FIRST_HONEST, FIRST_HONEST + WRITERS + CONTROLS)]
    users += range(FIRST_ATTACKER, FIRST_ATTACKER + len(ATTACKS))
    lines = [f"{account(user)}:x:{user}:{user}::/nonexistent:/bin/false\n" for user in users]
    accounts.write_text(Path("/etc/passwd").read_text() + "".join(lines))
    accounts.chmod(0o644)
    tool("mount", "--bind", accounts, "/etc/passwd")


def account(user: int) -> str:
    """Return the name of an account."""
    return f"user-{user}"


class Known:
    """Lets honest users ask for their open files: known is one since the first question answered with it."""

    def __init__(self, site: Site) -> None:
        self.first: dict[str, float] = {}
        self.answers: list[tuple[float, float]] = []  # when was asked, how long the answer took
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._look, args=(site.new_client(), number))
            for number in range(WRITERS)
            for _ in range(ASKERS)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Look no more."""
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _look(self, client: ServiceClient, number: int) -> None:
        ctypes.CDLL(None).syscall(SETRESUID, -1, FIRST_HONEST + number, -1)
        while not self._enough.wait(0.1):
            asked = time.time()
            with suppress(SesError):
                for placement in client.placements(state="open", limit=1000):
                    path = str(placement.path)
                    self.first[path] = min(asked, self.first.get(path, asked))
            self.answers.append((asked, time.time() - asked))


def main() -> None:
    """Run, print the outcome as JSON, and fail where honest users lost something."""
    parser = arguments(__doc__, seconds=600.0, alone=60.0)
    parser.add_argument("--only", nargs="*", choices=sorted(ATTACKS), default=sorted(ATTACKS))
    asked = parser.parse_args()
    as_root()
    with ExitStack() as undo:
        work = Path(tempfile.mkdtemp(prefix="ses-attackers-"))
        work.chmod(0o755)
        for name in ("attack.py", "asking.py", "programs.py"):
            shutil.copy(HERE / name, work)
        give_accounts(work)
        build_frozen(work / "frozen")
        site = Site(work, undo)
        writers = [site.writer(number) for number in range(WRITERS + CONTROLS)]
        known = Known(site)
        undo.callback(known.end)
        lines: list[str] = []
        readers = [threading.Thread(target=lines.extend, args=(writer.stdout,)) for writer in writers]
        for reader in readers:
            reader.start()
        time.sleep(5)
        before = site.pids()
        moments = [time.time()]
        time.sleep(asked.alone)
        moments.append(time.time())
        attackers = {
            name: site.attacker(number, name, writers[0].pid) for number, name in enumerate(asked.only)
        }
        time.sleep(asked.seconds)
        after = site.pids()
        gave_up = sorted(name for name, process in attackers.items() if process.poll() is not None)
        moments.append(time.time())
        for number, process in enumerate(attackers.values()):
            end_all_of(process, FIRST_ATTACKER + number)
        moments.append(time.time())
        time.sleep(asked.alone)
        moments.append(time.time())
        (site.union / "enough").touch()
        for reader in readers:
            reader.join()
        time.sleep(KNOWN_WITHIN)
        known.end()
        wrong = [line for line in lines if line.startswith("failed")]
        files = [
            Created(int(Path(path).parent.name.partition("-")[2]), path, float(at), int(took))
            for path, at, took in (line.split() for line in lines if line not in wrong)
        ]
        phases = {
            name: figures(files, known.first, moments[at], moments[at + 1])
            for name, at in (("alone", 0), ("beside_attackers", 1), ("alone_again", 3))
        }
        restarted = sorted(name for name, pid in before.items() if after.get(name) != pid)
        outcome = {
            "attackers": len(attackers), "seconds": asked.seconds, **phases,
            "slowdown": slowdown(phases), "failed_creates": wrong,
            "restarted": restarted, "attackers_that_ended": gave_up,
            "answer_s": answers(known.answers, moments[1], moments[2]), "logs": str(work),
        }  # fmt: skip
        print(json.dumps(outcome, indent=1))
        beside = phases["beside_attackers"]
        lost = wrong or restarted or beside["never_known"] or beside["known_late"]
    if lost:
        raise SystemExit(1)
    shutil.rmtree(work)


if __name__ == "__main__":
    program(main)
