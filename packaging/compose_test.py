"""Bring docker-compose.yml up for real, tell one story through it, take it down.

The story: a person signs in to the portal and says what her application needs; the selection service
then ranks by it; the knowledge base keeps it over a restart of the service. Needs root: it starts
Debian's Docker engine with its own data directory, socket and network, and ends it again.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import shutil
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from compose_engine import DOCKER, ROOT, build_images, engine, import_base, run, say
from network_namespace import run_in_own_network

INSIDE = "inside"
_SECONDS = 60  # for one answer: machines are busy
PASSWORD = "a long enough passphrase for one test"


def free_port() -> int:
    """Return a loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Stack:
    """The composed services of one project, by docker-compose."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def compose(self, *words: str, stdin: str | None = None) -> str:
        """Run docker-compose on the file of this repository and return what it printed."""
        return run(
            "docker-compose",
            "--project-name",
            "qstorman-test",
            *words,
            cwd=ROOT,
            env=self.environment,
            input=stdin,
        ).stdout

    def wait_healthy(self, seconds: float) -> None:
        """Wait until every service with a health check reports that it is well."""
        deadline = time.monotonic() + seconds
        while True:
            states = {}
            for identifier in self.compose("ps", "-q").split():
                facts = json.loads(run(DOCKER, "inspect", identifier, env=self.environment).stdout)[0]
                name = facts["Config"]["Labels"]["com.docker.compose.service"]
                health = facts["State"].get("Health")
                states[name] = health["Status"] if health else f"exited {facts['State']['ExitCode']}"
            sick = {name: state for name, state in states.items() if state not in ("healthy", "exited 0")}
            if states and not sick:
                return
            if time.monotonic() > deadline:
                logs = self.compose("logs", "--tail=15", *sick)
                raise RuntimeError(f"not healthy after {seconds:.0f} s: {sick}\n{logs}")
            time.sleep(1)


class Portal:
    """A person's browser, as far as this story needs one."""

    def __init__(self, address: str, trusted: ssl.SSLContext) -> None:
        self.address = address
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
            urllib.request.HTTPSHandler(context=trusted),
        )

    def get(self, path: str) -> str:
        """Return a page's text."""
        with self.opener.open(self.address + path, timeout=_SECONDS) as answer:
            return str(answer.read().decode())

    def post(self, path: str, fields: dict[str, str]) -> str:
        """Fill in the form at ``path`` and return the page it leads to."""
        match = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', self.get(path))
        if match is None:
            raise RuntimeError(f"no form at {path}")
        body = urllib.parse.urlencode({"csrf_token": match[1], **fields}).encode()
        # A form sent by https has to say where it was filled in, as browsers do.
        request = urllib.request.Request(self.address + path, body, {"Referer": self.address + path})
        with self.opener.open(request, timeout=_SECONDS) as answer:
            return str(answer.read().decode())


def rank(address: str, token: str, trusted: ssl.SSLContext) -> dict[str, object]:
    """Ask the service where a file of alice's dd would go."""
    question = {"subject": {"user": "alice", "application": "dd"}, "limit": 0}
    request = urllib.request.Request(
        f"{address}/v1/selections",
        json.dumps(question).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=_SECONDS, context=trusted) as answer:
        result: dict[str, object] = json.load(answer)
        return result


def expect(condition: bool, promise: str) -> None:
    """Fail with the promise that was broken, or say that it was kept."""
    if not condition:
        raise RuntimeError(f"broken: {promise}")
    say(f"ok: {promise}")


def story(stack: Stack, service: str, portal_address: str) -> None:
    """Follow a requirement from the portal to a ranking."""
    authority = stack.compose("exec", "-T", "ses-service", "cat", "/run/qstorman-secrets/ca.pem")
    trusted = ssl.create_default_context(cadata=authority)
    made = ("cat", "setup", "/run/qstorman-certificates/admin-token")
    token = stack.compose("run", "--rm", "-T", "--entrypoint", *made).strip()
    before = rank(service, token, trusted)
    expect(not [r for r in before["requirements"] if r["level"] == "application"],  # type: ignore[attr-defined]
           "nothing is required of alice's dd before she says so")  # fmt: skip
    try:
        urllib.request.urlopen(f"{service}/v1/elements", timeout=_SECONDS, context=trusted)
        anonymous = True
    except urllib.error.HTTPError as refused:
        anonymous = refused.code != 401
    expect(not anonymous, "the service refuses who has no token")

    stack.compose("exec", "-T", "webface", "ses-webface", "account", "add", "alice", "--vo", "materials",
                  "--password-stdin", stdin=PASSWORD + "\n")  # fmt: skip
    portal = Portal(portal_address, trusted)
    page = portal.post("/sign-in", {"name": "alice", "password": PASSWORD})
    expect("alice" in page, "alice signs in to the portal, her account in PostgreSQL")
    portal.post(
        "/requirements/application/alice:dd",
        {
            "revision": "0",
            "kind_current_write_rate-bound": "85",
            "kind_current_write_rate-unit": "MB/s",
            "kind_current_write_rate-weight": "1",
            "kind_current_write_rate-strictness": "soft",
        },
    )

    after = rank(service, token, trusted)
    levels = [(r["kind"], r["minimum"], r["level"]) for r in after["requirements"]]  # type: ignore[attr-defined]
    expect(("current-write-rate", 85.0, "application") in levels, "the service ranks by what she saved")
    first = after["candidates"][0]  # type: ignore[index]
    expect(first["element"] == "union/b1" and first["distance"] == 0, "the first element meets it")
    expect(first["basis"].startswith("monitor"), "its load is known from node-exporter")

    stack.compose("restart", "ses-service")
    stack.wait_healthy(120)
    again = rank(service, token, trusted)
    expect(again["requirements"] == after["requirements"], "Fuseki keeps it over a restart of the service")
    users = {
        name: stack.compose("exec", "-T", name, "cat", "/proc/1/status").split("Uid:")[1].split()[0]
        for name in (
            "ses-service",
            "smed-monitor",
            "webface",
            "postgres",
            "fuseki",
            "prometheus",
            "node-exporter",
        )
    }
    expect(set(users.values()) == {"10001"}, "no container runs as root")
    targets = stack.compose(
        "exec", "-T", "prometheus", "curl", "-fsS", "http://127.0.0.1:9090/api/v1/targets"
    )
    states = {t["labels"]["job"]: t["health"] for t in json.loads(targets)["data"]["activeTargets"]}
    expect(
        set(states.values()) == {"up"} and len(states) >= 3, f"Prometheus scrapes {', '.join(sorted(states))}"
    )


def main() -> int:
    """Run the whole test in a network of its own; return the exit status."""
    if os.geteuid() != 0:
        print("compose-test needs root: it starts a Docker engine of its own", file=sys.stderr)
        return 1
    if sys.argv[1:] == [INSIDE]:
        return inside()
    return run_in_own_network([sys.executable, __file__, INSIDE])


def inside() -> int:
    """Run the whole test in the network it is started in."""
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix="qstorman-compose-"))
    ports = free_port(), free_port()
    try:
        with engine(work) as environment:
            say("the engine runs; making the base image")
            import_base(work, environment)
            build_images(work, environment)
            environment |= {"QSTORMAN_SERVICE_PORT": str(ports[0]), "QSTORMAN_PORTAL_PORT": str(ports[1])}
            stack = Stack(environment)
            try:
                stack.compose("up", "-d")
                stack.wait_healthy(180)
                say("every service is healthy")
                story(stack, f"https://localhost:{ports[0]}", f"https://localhost:{ports[1]}")
            finally:
                stack.compose("down", "--volumes", "--timeout", "10")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"passed in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
