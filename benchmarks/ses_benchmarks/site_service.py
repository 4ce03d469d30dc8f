"""A real ses-service on a real knowledge base that holds one site.

The site is put into the store before the service starts, as an administrator's own Fuseki or Oxigraph
would hold it: checking the shapes of 10,000 elements takes minutes, and is not what is measured here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses.demo.processes import answers, free_port
from ses.demo.tools import tool

from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import server

SITE_GRAPH = "https://w3id.org/qstorman/graph/site"
READY_SECONDS = 90


def body_of(port: int, path: str) -> bytes | None:
    """The body of a 200, or None."""
    try:
        with Connection(port) as connection:
            return connection.call(request_bytes("GET", path))[1]
    except (OSError, BenchmarkError):
        return None


def serve(programs: Path, port: int, state: Path, *options: str | Path) -> list[str | Path]:
    """Return the command of a service on a port of the loopback interface."""
    return [
        programs / "ses-service", "serve", f"--listen=127.0.0.1:{port}", "--trust-loopback",
        f"--state-dir={state}", *options,
    ]  # fmt: skip


@contextmanager
def knowledge_base(oxigraph: Path, scratch: Path, turtle: str) -> Iterator[int]:
    """An Oxigraph server with the site in its graph; yields its port."""
    site = scratch / "site.ttl"
    site.write_text(turtle)
    store = scratch / "store"
    load = (oxigraph, "load", "--location", store, "--graph", SITE_GRAPH, "--file", site)
    tool(*load, seconds=120)
    port = free_port()
    command: list[str | Path] = [oxigraph, "serve", "--location", store, "--bind", f"127.0.0.1:{port}"]
    ready = answers(f"http://127.0.0.1:{port}/query?query=ASK%7B%7D")
    with server(command, scratch / "oxigraph.log", ready, READY_SECONDS):
        yield port


@dataclass(frozen=True, slots=True)
class Served:
    """A running service: its port, its process, and the tokens of user ``bench`` and of all nodes."""

    port: int
    pid: int
    user_token: str
    node_token: str


@contextmanager
def monitor(scratch: Path, count: int) -> Iterator[int]:
    """A stand-in of the monitor that has samples of ``count`` elements each second; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "ses_benchmarks.monitor_standin", str(port), str(count)]
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
    command = ["env", f"PYTHONPATH={path}", *command]
    ready = answers(f"http://127.0.0.1:{port}/v1/observations")
    with server(command, scratch / "monitor.log", ready, READY_SECONDS):
        yield port


@contextmanager
def service(
    programs: Path, scratch: Path, turtle: str, count: int, monitor_port: int | None = None
) -> Iterator[Served]:
    """The service, once it knows the ``count`` elements of the site in ``turtle``.

    ``programs`` is the directory of ``ses-service`` and ``oxigraph``.  Without the port of a monitor none
    runs: what is measured are decisions on static facts and the ledger.
    """

    def ready() -> bool:
        body = body_of(port, "/v1/elements")
        return body is not None and len(json.loads(body)["elements"]) == count

    file = scratch / "tokens"
    whose = (["--role", "user", "--user", "bench"], ["--role", "node", "--node", "*"])
    tokens = [_token(programs, file, *person) for person in whose]
    with knowledge_base(programs / "oxigraph", scratch, turtle) as store_port:
        port = free_port()
        command = serve(programs, port, scratch / "state", "--tokens", file, "--log-level=warning")
        command += ["--kb-url", f"http://127.0.0.1:{store_port}", "--kb-flavour", "oxigraph"]
        if monitor_port is not None:
            command += ["--monitor-url", f"http://127.0.0.1:{monitor_port}"]
        with server(command, scratch / "service.log", ready, READY_SECONDS) as pid:
            yield Served(port, pid, *tokens)


def _token(programs: Path, file: Path, *whose: str) -> str:
    name = f"--name={whose[1]}"
    return tool(programs / "ses-service", "token", "new", f"--tokens={file}", name, *whose)
