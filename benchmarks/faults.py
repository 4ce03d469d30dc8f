"""Random faults while programs create files: no create may fail, no file may be lost or wrong.

Builds a union of four branches, service, monitor and agent in a folder of its own (root is needed), lets
programs under the preload library create files without pause, and does to the parts what a bad month does.
The end is checked: every file is there once, with its content, mode and owner; nothing is left in the
staging directories; the service counts nothing as open.  Branches are filled up to what mergerfs keeps free.
Does NOT change the machine's clock, nor fail the disks below the branches: a create may fail then without the
library, too.

Usage: benchmarks/faults.py [--faults 100] [--files 50000] [--seed N]
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from ses.demo.processes import answers, free_port
from ses.demo.tools import tool
from ses_benchmarks.arguments import arguments, as_root, program
from ses_benchmarks.whole_site import (
    PATIENCE,
    Part,
    Parts,
    in_memory,
    of_user,
    wait_until,
)

WORKERS, USERS = 4, (0, 65534)
STATE_MB = 96
BRANCH_MB, LEFT_MB, KEPT_MB = 2048, 24, 48  # a branch; what is left of a full one; where mergerfs stops

# Creates files for ever; says each failure, and the number of those that are there.
WORKER = """
import os, sys
top, name = sys.argv[1:]
made = 0
while not os.path.exists(top + "/../enough"):
    path = f"{top}/{name}-{made // 500}/f{made}"
    try:
        if made % 500 == 0:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        flags = os.O_CREAT | os.O_WRONLY | (os.O_EXCL if made % 3 else 0)
        fd = os.open(path, flags, 0o640)
        os.write(fd, path.encode())
        os.close(fd)
    except OSError as error:
        print("failed", path, error, flush=True)
    made += 1
print("made", made, flush=True)
"""


class Site(Parts):
    """Everything that runs, and what can happen to it."""

    program = WORKER

    def __init__(self, work: Path, undo: ExitStack, seed: int) -> None:
        self.random, self.state = random.Random(seed), work / "state"
        in_memory(self.state, undo, f"size={STATE_MB}m")
        super().__init__(work, undo, f"{BRANCH_MB}m", f"category.create=mfs,minfreespace={KEPT_MB}M")
        self.url, monitor = f"http://127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        listen = f"--listen={self.url[7:]}"
        self.service = self.start_service(self.state, monitor, listen, "--trust-loopback")
        self.monitor = self.start_monitor(monitor)
        wait_until(answers(f"{self.url}/readyz"), "the service is ready")
        self.agent = self.start_agent(self.url)
        self.workers = [self._worker(number) for number in range(WORKERS)]
        for worker in self.workers:
            undo.callback(worker.kill)

    def _worker(self, number: int) -> subprocess.Popen[str]:
        user = USERS[number % len(USERS)]
        words = ("-c", self.program, self.directory(f"w{number}", user), "d")
        worker: subprocess.Popen[str] = of_user(
            user, *words, environment=self.placed, stdout=subprocess.PIPE, text=True
        )
        return worker

    def faults(self) -> list[Callable[[], None]]:
        """What can happen, each of its kind once."""
        parts = (self.agent, self.service, self.monitor)
        return [
            *(lambda part=part: self._killed(part, signal.SIGKILL) for part in parts),
            lambda: self._killed(self.agent, signal.SIGTERM),
            lambda: self._killed(self.service, signal.SIGTERM),
            lambda: self._stopped(self.agent),
            lambda: self._stopped(self.service),
            self._everything_killed,
            self._store_killed,
            self._state_full,
            self._branch_full,
            self._staging_moved,
            self._branch_open_to_all,
            self._remounted,
        ]

    def _pause(self, most: float = 1.5) -> None:
        time.sleep(self.random.uniform(0.05, most))

    def _killed(self, part: Part, how: int) -> None:
        part.end(how)
        self._pause()
        part.start()

    def _stopped(self, part: Part) -> None:
        part.process.send_signal(signal.SIGSTOP)
        self._pause(2.5)
        part.process.send_signal(signal.SIGCONT)

    def _everything_killed(self) -> None:
        for part in (self.service, self.agent, self.monitor):
            part.end(signal.SIGKILL)
        self._pause()
        for part in (self.agent, self.monitor, self.service):
            part.start()

    def _store_killed(self) -> None:
        children = self.service.children()
        if children:
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(children), signal.SIGKILL)

    def _state_full(self) -> None:
        ballast = self.state / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
        self._pause(2.5)
        ballast.unlink()

    def _branch_full(self) -> None:
        """Leave less than mergerfs keeps, and enough for the small files that are placed all the same."""
        branch = self.random.choice(self.branches)
        ballast = branch / ".ballast"
        free = os.statvfs(branch).f_bavail * os.statvfs(branch).f_frsize
        with ballast.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, free - LEFT_MB * 2**20))
        self._pause(2.5)
        ballast.unlink()

    def _staging_moved(self) -> None:
        stage = self.random.choice(self.branches) / ".ses"
        away = stage.with_name(f".away-{self.random.randrange(10**9)}")
        with suppress(OSError):
            stage.rename(away)

    def _branch_open_to_all(self) -> None:
        branch = self.random.choice(self.branches)
        branch.chmod(0o777)
        self._staging_moved()
        self._pause()
        branch.chmod(0o755)

    def _remounted(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGSTOP)
        tool("umount", "-l", self.union)
        self.mount()
        for worker in self.workers:
            worker.send_signal(signal.SIGCONT)

    def made(self) -> int:
        """About how many files there are, without a look at all of them."""
        return sum(500 * len(list(branch.glob("w*/d-*"))) for branch in self.branches[:1])

    def check(self) -> dict[str, object]:
        """End the programs, and say what is wrong."""
        (self.union / "enough").touch()
        lines = [
            line for worker in self.workers for line in worker.communicate(timeout=PATIENCE)[0].splitlines()
        ]
        wrong = [line for line in lines if line.startswith("failed")]
        created = sum(int(line.split()[1]) for line in lines if line.startswith("made"))
        for away in (path for branch in self.branches for path in branch.glob(".away-*")):
            shutil.rmtree(away)  # the first names of files that were being made when it was moved
        wrong += [f"left over: {path}" for branch in self.branches for path in branch.glob(".ses/*/*")]
        where: Counter[str] = Counter()
        present = 0
        for number in range(WORKERS):
            user = USERS[number % len(USERS)]
            copies: Counter[Path] = Counter()
            for branch in self.branches:
                for path in branch.glob(f"w{number}/d-*/f*"):
                    inside = path.relative_to(branch)
                    copies[inside] += 1
                    where[branch.name] += 1
                    state = path.stat()
                    right = (state.st_mode & 0o7777, state.st_uid, state.st_nlink) == (0o640, user, 1)
                    if not right or path.read_text() != str(self.union / inside):
                        wrong.append(f"wrong: {path} {oct(state.st_mode)} {state.st_uid} {state.st_nlink}")
            wrong += [f"twice: {path}" for path, count in copies.items() if count > 1]
            present += len(copies)
        if present != created:
            wrong.append(f"{created} were made, {present} are there")
        if min(where[branch.name] for branch in self.branches) < present / 20:
            wrong.append("hardly any file was placed: the union alone puts all on one branch")
        return {"files": present, "where": dict(sorted(where.items())), "wrong": wrong}

    def open_in_the_end(self) -> int:
        """How many files the service counts as open, when all ends were reported to it."""
        deadline, count = time.monotonic() + PATIENCE, -1
        while count != 0 and time.monotonic() < deadline:
            time.sleep(0.5)
            with (
                suppress(OSError, ValueError),
                urllib.request.urlopen(f"{self.url}/v1/elements", timeout=10) as answer,
            ):
                count = sum(element["open_placements"] for element in json.load(answer)["elements"])
        return count


def main() -> None:
    """Run, print the outcome as JSON, and fail when anything is wrong."""
    parser = arguments(__doc__, faults=100, files=50_000)
    parser.add_argument("--seed", type=int, default=1, help="of what happens, and when")
    asked = parser.parse_args()
    as_root()
    with ExitStack() as undo:
        work = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="ses-faults-")))
        work.chmod(0o755)
        site = Site(work, undo, asked.seed)
        site._pause(5.0)
        happened: list[Callable[[], None]] = []
        while len(happened) < asked.faults or site.made() < asked.files:
            kinds = site.faults()
            site.random.shuffle(kinds)
            for fault in kinds:
                fault()
                happened.append(fault)
                site._pause()
                dead = [number for number, worker in enumerate(site.workers) if worker.poll() is not None]
                if dead:
                    raise SystemExit(f"programs ended: {dead}")
        outcome = {"faults": len(happened), **site.check(), "open in the end": site.open_in_the_end()}
    print(json.dumps(outcome, indent=1))
    sys.exit(1 if outcome["wrong"] or outcome["open in the end"] else 0)


if __name__ == "__main__":
    program(main)
