"""``ses-service serve`` as a process of its own, over the example site."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import urllib3
from patience import PATIENCE, wait_for_answer, wait_until
from ports import free_port
from ran import ran

SITE = Path(__file__).parents[2] / "ontology" / "examples" / "union-site.ttl"


class Running:
    """A service process, by default on a free port; its log is kept.

    ``ca`` is the authority of the certificate it is given among the options.
    """

    def __init__(self, folder: Path, *options: str, port: int | None = None, ca: Path | None = None) -> None:
        self.port = port or free_port()
        self.log = folder / "service.log"
        command = [
            sys.executable,
            "-m",
            "ses_service.commands.main",
            "serve",
            f"--listen=127.0.0.1:{self.port}",
            f"--state-dir={folder / 'state'}",
            *options,
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.url = f"{'https' if ca else 'http'}://127.0.0.1:{self.port}"
        self.http = urllib3.PoolManager(timeout=PATIENCE, retries=False, ca_certs=ca and str(ca))

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        answer = self.http.request(method, self.url + path, body=data, headers=headers)
        return answer.status, json.loads(answer.data)

    def wait_ready(self) -> Running:
        wait_for_answer(self.process, self.log, self._is_ready)
        return self

    def _is_ready(self) -> bool:
        with suppress(urllib3.exceptions.HTTPError):
            return self.call("GET", "/readyz")[0] == 200
        return False

    def children(self) -> list[int]:
        pids: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                pids += map(int, (task / "children").read_text("utf-8").split())
        return pids

    def end(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    wait_until(lambda: not any(map(alive, pids)), "they have ended")


@contextmanager
def monitored(etc: Path, directories: Iterable[Path]) -> Iterator[tuple[str, ...]]:
    """Describe directories by ``ses init`` and start a monitor; gives the options of a service of them."""
    programs, port = Path(sys.executable).parent, free_port()
    ran([programs / "ses", "init", etc, *(f"--directories={directory}" for directory in directories)])
    site, listen = etc / "qstorman/site.ttl", f"127.0.0.1:{port}"
    command = [programs / "smed-monitor", "serve", f"--config={etc / 'qstorman/smed.toml'}"]
    command += [f"--site={site}", f"--listen={listen}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as monitor:
        try:
            yield f"--site={site}", f"--monitor-url=http://{listen}", "--trust-loopback"
        finally:
            monitor.kill()


def sees_all(service: Running) -> bool:
    """Whether its monitor has samples of all its elements."""
    elements = service.call("GET", "/v1/elements")[1]["elements"]
    return all((element["observation"] or {}).get("state") == "ok" for element in elements)
