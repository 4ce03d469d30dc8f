"""What service, monitor, portal and agent hold of memory and descriptors, minute by minute under load.

Builds what faults.py builds, and a portal.  Programs of two users create, write and remove files without
pause, a client asks the service for selections, another reads pages of the portal.  Does NOT say what is too
much: it prints the curves, and the growth of each process over the second half.

Usage: benchmarks/soak.py [--seconds 600]
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import faults
from ses.demo.processes import answers, free_port
from ses_benchmarks.arguments import arguments, as_root, program
from ses_benchmarks.processes import Usage
from ses_benchmarks.whole_site import BIN, PATIENCE, Part, wait_until

POINTS = 20  # of each curve
SELECT = b'{"subject": {"user": "nobody", "application": "soak"}}'

WORKER = """
import os, sys
top, name = sys.argv[1:]
made = 0
while not os.path.exists(top + "/../enough"):
    path = f"{top}/{name}{made % 200}"
    if made >= 200:
        os.unlink(path)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640)
    os.write(fd, path.encode())
    os.close(fd)
    made += 1
print("made", made, flush=True)
"""


class Clients:
    """Ask as long as they are wanted."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self._enough = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, url: str, body: bytes | None, pause: float) -> None:
        """Ask for this, with a pause after each answer."""
        self._threads.append(threading.Thread(target=self._ask, args=(url, body, pause)))
        self._threads[-1].start()

    def end(self) -> None:
        """Ask no more."""
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, url: str, body: bytes | None, pause: float) -> None:
        while not self._enough.wait(pause):
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            path = request.selector
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    outcome = str(answer.status)
                    answer.read()
            except OSError as error:
                outcome = str(error)
            self.answers[f"{path}: {outcome}"] += 1


def processes(site: faults.Site, portal: Part) -> dict[str, int]:
    """Return each process by what it is."""
    pids = {part.name: part.process.pid for part in (site.service, site.monitor, site.agent, portal)}
    pids.update(("store", pid) for pid in site.service.children())
    return pids


def main() -> None:
    """Run, and print the curves as JSON."""
    parser = arguments(__doc__, seconds=600.0)
    seconds = parser.parse_args().seconds
    as_root()
    faults.Site.program = WORKER
    with ExitStack() as undo:
        work = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="ses-soak-")))
        work.chmod(0o755)
        site = faults.Site(work, undo, 1)
        address = f"127.0.0.1:{free_port()}"
        portal = Part(
            undo, "portal", work, BIN / "ses-webface", "serve", f"--listen={address}",
            f"--state-dir={work / 'portal'}", f"--service-url={site.url}",
        )  # fmt: skip
        wait_until(answers(f"http://{address}/healthz"), "the portal answers")
        clients = Clients()
        undo.callback(clients.end)
        clients.begin(f"{site.url}/v1/selections", SELECT, 0.01)
        clients.begin(f"http://{address}/", None, 0.05)
        curves: dict[str, dict[str, list[float]]] = {}
        begun = time.monotonic()
        for point in range(POINTS + 1):
            time.sleep(max(0.0, begun + point * seconds / POINTS - time.monotonic()))
            for name, pid in processes(site, portal).items():
                curve = curves.setdefault(name, {"MB": [], "descriptors": []})
                curve["MB"].append(round(Usage.of(pid).resident_mb, 1))
                curve["descriptors"].append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
        (site.union / "enough").touch()
        outputs = [worker.communicate(timeout=PATIENCE)[0].split() for worker in site.workers]
        created = sum(int(words[1]) for words in outputs if words[:1] == ["made"])
    for curve in curves.values():
        curve["MB grown in the second half"] = [round(curve["MB"][-1] - curve["MB"][POINTS // 2], 1)]
    outcome = {"seconds": seconds, "files": created, "answers": clients.answers}
    print(json.dumps(outcome | curves))


if __name__ == "__main__":
    program(main)
