"""A site without a monitor, on which a storm of creates goes on while its parts are stopped and started.

Service, agent, preload library and mergerfs are real; ledger and static facts decide.
"""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from patience import PATIENCE, wait_for_answer
from ports import free_port
from ses.demo.parts import Parts
from ses.demo.processes import answers, is_socket
from ses.demo.site import write_site

HELD = 20

STORM = """
import os, sys, time
directory, writer, count, going_on = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
number = 0
while number < count or os.path.exists(going_on):
    with open(f"{directory}/{writer}-{number}", "x") as file:
        file.write(f"{writer}-{number}")
    number += 1
    time.sleep(0.01)  # what is stopped has to begin again beside it
print(number)
"""
HOLDER = """
import sys
files = [open(f"{sys.argv[1]}/{sys.argv[2]}-{number}", "x") for number in range(int(sys.argv[3]))]
print("held", flush=True)
sys.stdin.readline()
"""


class Site:
    """A union of eight directories, and the services and the agent that place files on it.

    Services have the same further options; ``url`` is that of the one that is asked, ``asked`` are those
    that the agent asks.
    """

    def __init__(self, work: Path, parts: Parts, services: int = 1, *options: str) -> None:
        self.work, self.parts, self._options = work, parts, options
        self.union = work / "union"
        self.urls = [f"http://127.0.0.1:{free_port()}" for _ in range(services)]
        self.url = self.urls[0]
        self.asked = self.urls
        self.description = write_site(parts.site, work)
        self.socket = work / "agent.sock"
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._programs: list[subprocess.Popen[bytes]] = []

    def start_service(self, number: int = 0) -> None:
        name, url = f"service{number or ''}", self.urls[number]
        self._start(
            name, str(self.parts.service), "serve", "--listen", url.removeprefix("http://"),
            "--state-dir", str(self.work / name), "--site", str(self.description), "--trust-loopback",
            *self._options,
        )  # fmt: skip
        self._wait_for_answer(name, answers(f"{url}/readyz"))

    def start_agent(self) -> None:
        self._start(
            "agent", str(self.parts.agent), *(f"--service={url}" for url in self.asked),
            "--socket", str(self.socket), "--node", "n1", "--state-dir", str(self.work / "agent"),
            "--answer-ms", "10000",
        )  # fmt: skip
        self._wait_for_answer("agent", is_socket(self.socket))

    def _wait_for_answer(self, name: str, answers: Callable[[], object]) -> None:
        wait_for_answer(self._running[name], self.work / f"{name}.log", answers)

    def send(self, name: str, how: signal.Signals) -> None:
        self._running[name].send_signal(how)

    def stop(self, name: str, how: signal.Signals) -> None:
        process = self._running.pop(name)
        process.send_signal(how)
        process.wait(PATIENCE)

    def stop_all(self) -> None:
        for program in self._programs:
            program.kill()
            program.communicate()
        for name in list(self._running):
            self.stop(name, signal.SIGKILL)

    def _start(self, name: str, *command: str) -> None:
        with (self.work / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def log(self, name: str) -> str:
        return (self.work / f"{name}.log").read_text()

    def program(self, text: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
        """Start a Python program under the library, with more in its environment."""
        environment = {
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": str(self.parts.preload),
            "SES_AGENT_SOCKET": str(self.socket),
            "SES_SYNC_MS": "20000",
            **more,
        }
        command = [sys.executable, "-c", text, str(self.union), *arguments]
        pipe = subprocess.PIPE
        self._programs.append(
            subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
        )
        return self._programs[-1]

    def get(self, path: str, url: str | None = None) -> dict[str, object] | None:
        asked = (url or self.url) + path
        with suppress(OSError, ValueError), urllib.request.urlopen(asked, timeout=5) as answer:
            body: dict[str, object] = json.load(answer)
            return body
        return None

    def ledger(self, url: str | None = None) -> list[str] | None:
        """Paths of what the ledger has open, each of which lies where it says; none without an answer."""
        answer = self.get("/v1/placements?state=open&limit=1000", url)
        if answer is None:
            return None
        placements = answer["placements"]
        assert isinstance(placements, list)
        for placement in placements:
            assert Path(placement["target"], Path(placement["path"]).relative_to(self.union)).is_file(), (
                placement
            )
        return sorted(str(placement["path"]) for placement in placements)

    def knows(self, path: str) -> bool:
        """Whether the ledger has `path` open."""
        answer = self.get(f"/v1/placements?state=open&path={path}")
        return bool(answer and answer["placements"])


@contextmanager
def running_site(
    work: Path,
    parts: Parts,
    services: int = 1,
    *options: str,
    between: Callable[[str], str] = lambda url: url,
) -> Iterator[Site]:
    """A site below ``work`` with services and agent, which are stopped at the end.

    ``between`` says where the agent asks for the service at a URL.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a union")
    site = Site(work, parts, services, *options)
    branches = [work / f"b{number}" for number in range(1, 9)]
    for path in (site.union, *branches):
        path.mkdir(parents=True)
    with ExitStack() as undo:
        together = ":".join(str(branch) for branch in branches)
        options = "category.create=ff,use_ino,allow_other"
        subprocess.run(["mergerfs", "-o", options, together, site.union], check=True, timeout=60)
        undo.callback(subprocess.run, ["umount", "-l", str(site.union)], check=False, timeout=60)
        undo.callback(site.stop_all)
        for number in range(services):
            site.start_service(number)
        site.asked = [between(url) for url in site.urls]
        site.start_agent()
        yield site


def hold(site: Site, name: str) -> subprocess.Popen[bytes]:
    """A program that creates files under the library and keeps them open."""
    holder = site.program(HOLDER, name, str(HELD))
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def held(site: Site, name: str) -> list[str]:
    """The files that a holder of this name has open."""
    return sorted(str(site.union / f"{name}-{number}") for number in range(HELD))


def created(site: Site) -> int:
    """How many files the storm has created."""
    return sum(1 for path in site.union.iterdir() if path.name[0].isdigit())
