"""A service over a set of directories, an agent, and callers: real processes, each of which can be killed."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import urllib3
from built import built
from patience import PATIENCE, wait_for_answer, wait_until
from ports import free_port
from ran import ran

PROGRAM = Path(sys.executable).with_name("ses")
NODE = socket.gethostname()
_SITE = """
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix : <https://w3id.org/qstorman/site/scratch/> .
:set a qsm:DirectorySet ; qsm:name "scratch" ; qsm:observedAt "scratch" .
:server a qsm:Server ; qsm:name "server" .
"""
_DIRECTORY = """
:{name} a qsm:Directory ; qsm:name "{name}" ; qsm:elementOf :set ; qsm:servedBy :server ;
    qsm:target "{path}" ; qsm:fileSystem "ext4 {name}" .
"""


class Site:
    """Directories ``s0``, ``s1`` ..., a service that gives them, and this machine's agent."""

    def __init__(self, folder: Path, count: int = 4) -> None:
        self.folder = folder
        self.directories = [folder / "scratch" / f"s{number}" for number in range(count)]
        described = [_SITE]
        for directory in self.directories:
            directory.mkdir(parents=True)
            described.append(_DIRECTORY.format(name=directory.name, path=directory))
        (folder / "site.ttl").write_text("".join(described))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = urllib3.PoolManager(maxsize=64, timeout=PATIENCE, retries=False)
        self.begun: list[subprocess.Popen[bytes]] = []
        self.service = self.begin_service()
        self.agent: subprocess.Popen[bytes] | None = None

    def begin(self, *command: object, **more: Any) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([*map(str, command)], **{"stdout": log, "stderr": log, **more})
        self.begun.append(process)
        return process

    def begin_service(self) -> subprocess.Popen[bytes]:
        self.service = self.begin(
            *(sys.executable, "-m", "ses_service.commands.main", "serve", f"--listen=127.0.0.1:{self.port}"),
            *(
                f"--state-dir={self.folder / 'state'}",
                "--trust-loopback",
                f"--site={self.folder / 'site.ttl'}",
            ),
        )
        wait_for_answer(self.service, self.folder / "log", self._is_ready)
        return self.service

    def _is_ready(self) -> bool:
        with suppress(urllib3.exceptions.HTTPError):
            return self.http.request("GET", f"{self.url}/readyz").status == 200
        return False

    def begin_agent(self) -> subprocess.Popen[bytes]:
        self.agent = self.begin(
            *(built("agent/ses-agent"), "--service", self.url, "--socket", self.folder / "agent.sock"),
            *("--state-dir", self.folder / "agent", "--jobs-dir", self.folder / "jobs", "--node", NODE),
        )
        wait_until(lambda: NODE in [node["node"] for node in self.get("/v1/nodes")["nodes"]], self.log)
        return self.agent

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def get(self, path: str) -> Any:
        return json.loads(self.http.request("GET", self.url + path).data)

    def places(self, state: str = "open") -> dict[str, dict[str, Any]]:
        listed = self.get(f"/v1/places?limit=1000&state={state}")["places"]
        return {place["place_id"]: place for place in listed}

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SES_", "SLURM_"))}
        return {**kept, "SES_SERVICE_URL": self.url, "XDG_STATE_HOME": str(self.folder / "own")}

    def ses(self, *words: object, code: int = 0, **more: str) -> str:
        done = ran([PROGRAM, *map(str, words)], code=code, env={**self.environment(), **more})
        return done.stderr if code else done.stdout.strip()

    def end(self) -> None:
        for process in self.begun:
            process.kill()
            process.wait()


def kill(process: subprocess.Popen[bytes]) -> None:
    """As a machine or an administrator does."""
    process.send_signal(signal.SIGKILL)
    process.wait()
