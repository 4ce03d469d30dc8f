"""A real ses-service with its embedded knowledge base, a real ses-webface, and a monitor of idle branches."""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from http_server import Asked, HttpServer
from patience import wait_for_answer, wait_until
from ports import free_port
from ran import ran
from ses.demo.processes import answers

SITE = Path(__file__).parents[2] / "ontology" / "examples" / "union-site.ttl"
PASSWORD = "a password for the story"


def _call(url: str, token: str, body: object | None = None) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@contextmanager
def _process(
    command: list[str], log: Path, ready: str, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends; begins when ``ready`` answers 200."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **(environment or {})}
        )
    try:
        wait_for_answer(process, log, answers(ready))
        yield
    finally:
        process.terminate()
        process.wait(60)


@dataclass
class IdleMonitor:
    """Where it listens, and how many samples it gave."""

    url: str = ""
    given: int = 0


def _past(query: dict[str, list[str]]) -> object:
    """Two minutes at 10 MB/s, as the monitor's contract has it."""
    until = float(query["until"][0])
    points = [
        {"at": until - ago, "read_bytes_per_second": 0.0, "write_bytes_per_second": 10e6, "queue_depth": None}
        for ago in (120, 90, 60, 30)
    ]
    return {
        "element": query["element"][0],
        "step_seconds": 30.0,
        "source": "memory",
        "detail": "",
        "points": points,
    }


@contextmanager
def _idle_monitor() -> Iterator[IdleMonitor]:
    """A monitor as its contract has it: eight idle branches, a sample each second."""
    stopped = threading.Event()
    monitor = IdleMonitor()

    def answer(asked: Asked) -> None:
        query = parse_qs(urlsplit(asked.path).query)
        if urlsplit(asked.path).path == "/v1/history":
            return asked.say(200, _past(query), Content_Type="application/json")
        if "after" in query:
            stopped.wait(min(1.0, float(query.get("wait", ["1"])[0])))
        monitor.given += 1
        now = time.time()
        idle = {"current": 0.0, "average": 0.0}
        rows = [
            {"element": f"union/b{number}", "source": "node_exporter", "target": "http://127.0.0.1/metrics",
             "state": "ok", "sampled_at": now, "age_seconds": 0.0, "read_bytes_per_second": idle,
             "write_bytes_per_second": idle, "queue_depth": 0.0, "free_bytes": 250e6, "size_bytes": 300e6,
             "read_only": False, "detail": ""}
            for number in range(1, 9)
        ]  # fmt: skip
        whole = {"sequence": int(now * 10), "observations": rows}
        return asked.say(200, whole, Content_Type="application/json")

    with closing(HttpServer(answer)) as server:
        monitor.url = server.url
        yield monitor
        stopped.set()


@dataclass
class Stack:
    """Where portal and service listen, and a node's token for the service."""

    portal: str
    service: str
    node_token: str
    monitor: IdleMonitor

    def placement(self, application: str, user: str = "nobody") -> dict[str, Any]:
        """Announce one file as the agent of a node whose program chose what the service would choose.

        It was created two seconds ago.
        """
        subject = {"user": user, "application": application, "node": "n1"}
        chosen = _call(f"{self.service}/v1/selections", self.node_token, {"subject": subject})
        listed = self._announce({"users": [user]})["needs"]
        needs = {row["application"]: row["requirements"] for row in listed}
        made = {"placement_id": secrets.token_hex(8), "element": chosen["candidates"][0]["element"]}
        decision = {
            "id": 0,
            "decided_at": chosen["decided_at"],
            "system": chosen["candidates"][0]["storage_system"],
            "requirements": needs.get(application, needs[None]),
            "candidates": [
                {"element": candidate["element"], "distance": candidate["distance"], "streams": 0.0}
                for candidate in chosen["candidates"]
            ],
            "refused": [
                {"element": refusal["element"], "reason": refusal["reason"], "requirement": 0}
                for refusal in chosen["refused"]
            ],
            "refused_total": len(chosen["refused"]),
        }
        restore = {
            "element": made["element"], "placed_at": chosen["decided_at"] - 2, "decided_by": "program",
        }  # fmt: skip
        opened = {
            "placement_id": made["placement_id"], "user": user, "application": application, "device": 7,
            "inode": "42", "restore": restore, "decision": {"id": 0, "predicted": {"write": 90e6}},
            "path": f"/data/{application}.out", "job": "4711",
        }  # fmt: skip
        self._announce({"opened": [opened], "decisions": [decision]})
        return made

    def sampled(self, times: int) -> None:
        """Wait until the service has heard so many more samples of every element."""
        enough = self.monitor.given + times + 1  # who asks for one has heard those before
        wait_until(lambda: self.monitor.given >= enough, "the service asks the monitor no more")

    def ended(self, made: dict[str, Any], rate: float) -> None:
        """Announce that a file was closed whose program wrote 1 s at a rate, in bytes per second."""
        achieved = {
            "bytes_written": rate, "writing_seconds": 1, "open_seconds": 1,
            "samples": [[0, 0, 0], [1, rate, 0]],
        }  # fmt: skip
        end = {"placement_id": made["placement_id"], "reason": "closed", "achieved": achieved}
        self._announce({"ended": [end]})

    def _announce(self, said: dict[str, Any]) -> Any:
        announce = f"{self.service}/v1/nodes/n1/announcements"
        answer = _call(announce, self.node_token, {"incarnation": "a" * 16, **said})
        assert not answer["refused"], answer
        return answer

    def stored(self, level: str, name: str) -> dict[str, Any]:
        """Return a requirement set as the service has it."""
        answer: dict[str, Any] = _call(f"{self.service}/v1/requirements/{level}/{name}", self.node_token)
        return answer

    def revision(self, level: str, name: str) -> int:
        """Return a requirement set's revision as the service has it."""
        return int(self.stored(level, name)["revision"])


def _secret(base: Path) -> Path:
    """A file with the portal's secret at a provider that takes any."""
    file = base / "oidc-secret"
    file.touch(0o600)
    file.write_text(secrets.token_hex(16))
    return file


@contextmanager
def running_stack(
    base: Path,
    site: Path,
    *,
    accounts: Mapping[str, bool],
    environment: Mapping[str, str] | None = None,
    members: Path | None = None,
) -> Iterator[Stack]:
    """Run service and portal below ``base`` until the block ends, both by a members file if there is one.

    ``accounts`` tells of each whether it is an administrator; ``environment`` is the service's.
    """
    tokens = {role: secrets.token_hex(16) for role in ("portal", "node")}
    token_file, portal_token = base / "tokens.toml", base / "portal-token"
    token_file.write_text(
        "".join(
            f'[[token]]\nname = "{role}"\nrole = "{role}"\n'
            + ('node = "*"\n' if role == "node" else "")
            + f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
            for role, token in tokens.items()
        )
    )
    portal_token.write_text(tokens["portal"] + "\n")
    for secret in (token_file, portal_token):
        secret.chmod(0o600)
    state = base / "portal"
    portal_command = [sys.executable, "-c", "from ses_webface.cli import main; main()"]
    for name, is_admin in accounts.items():
        ran(
            [*portal_command, "account", "add", name, "--password-stdin", "--state-dir", str(state),
             *(["--admin"] if is_admin else [])], input=PASSWORD + "\n",
        )  # fmt: skip
    service_port, portal_port = free_port(), free_port()
    service, portal = f"http://127.0.0.1:{service_port}", f"http://127.0.0.1:{portal_port}"
    with _idle_monitor() as monitor:
        serve = [sys.executable, "-c", "from ses_service.commands.main import main; main()", "serve"]
        serve += ["--listen", f"127.0.0.1:{service_port}", "--state-dir", str(base / "service")]
        serve += ["--monitor-url", monitor.url, "--site", str(site), "--tokens", str(token_file)]
        by_members = [] if members is None else ["--members", str(members)]
        serve += by_members
        with _process(serve, base / "service.log", f"{service}/readyz", environment):
            command = [*portal_command, "serve", "--listen", f"127.0.0.1:{portal_port}"]
            command += ["--service-url", service, "--service-token-file", str(portal_token), *by_members]
            if members is not None:
                command += ["--oidc-secret-file", str(_secret(base))]
            with _process([*command, "--state-dir", str(state)], base / "portal.log", f"{portal}/readyz"):
                yield Stack(portal, service, tokens["node"], monitor)
