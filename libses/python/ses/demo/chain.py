"""Starting the chain: exporter, monitor, service with its knowledge base, agent, portal."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient

from ses.demo.branches import Branch
from ses.demo.exporter import exporter_options
from ses.demo.interrupts import Interrupts
from ses.demo.parts import Parts
from ses.demo.processes import Processes, answers, free_port, is_socket
from ses.demo.site import Tokens, write_monitor_configuration, write_site, write_tokens
from ses.demo.storage import Storage
from ses.demo.tools import tool

# Longer than in service, where 20 ms and the original call are better than waiting: here a small machine
# starts compilers beside the services, and every file is to be explained.
ANSWER_MS = 2000
SYNC_MS = 2500


@dataclass(frozen=True, slots=True)
class Services:
    """What every node shares.  ``preload`` is a copy of the library that every user can reach."""

    service_url: str
    monitor_url: str
    preload: Path
    tokens: Tokens
    processes: Processes

    def client(self) -> ServiceClient:
        """Return a client of the service that may do everything."""
        return ServiceClient(ServiceAddress(self.service_url, self.tokens.admin))

    def preloaded(self, socket: Path) -> dict[str, str]:
        """Return the environment of a program under the library that asks the agent at ``socket``."""
        return {
            "LD_PRELOAD": str(self.preload),
            "SES_AGENT_SOCKET": str(socket),
            "SES_SYNC_MS": str(SYNC_MS),
        }


@dataclass(frozen=True, slots=True)
class Chain:
    """The running chain: services, a portal, one agent."""

    services: Services
    portal_url: str
    socket: Path
    portal_state: Path

    @property
    def processes(self) -> Processes:
        """Everything that runs."""
        return self.services.processes

    def client(self) -> ServiceClient:
        """Return a client of the service that may do everything."""
        return self.services.client()

    def preloaded(self) -> dict[str, str]:
        """Return the environment of a program under the library."""
        return self.services.preloaded(self.socket)


def start_chain(work: Path, parts: Parts, storage: Storage, undo: ExitStack, interrupts: Interrupts) -> Chain:
    """Start everything and wait until it is ready; raises DemoError with the log of what failed."""
    services = start_services(work, parts, write_site(parts.site, work), storage.branches, undo, interrupts)
    at = f"127.0.0.1:{free_port()}"
    portal_state = work / "portal"
    services.processes.start(
        "ses-webface",
        [str(parts.portal), "serve", "--listen", at, "--service-url", services.service_url,
         "--service-token-file", str(services.tokens.portal), "--state-dir", str(portal_state)],
        answers(f"http://{at}/healthz"),
    )  # fmt: skip
    socket = start_agent(work, parts, services)
    services.processes.wait_ready()
    return Chain(services, f"http://{at}", socket, portal_state)


def start_agent(
    work: Path, parts: Parts, services: Services, name: str = "agent", options: Sequence[str] = ()
) -> Path:
    """Start an agent with further ``options`` and return its socket.  ``name`` is its own under ``work``."""
    socket = work / f"{name}.sock"
    services.processes.start(
        f"ses-{name}",
        [str(parts.agent), "--service", services.service_url, "--token-file", str(services.tokens.node),
         "--socket", str(socket), "--state-dir", str(work / name), "--answer-ms", str(ANSWER_MS), *options],
        is_socket(socket),
    )  # fmt: skip
    return socket


def start_services(
    work: Path,
    parts: Parts,
    site: Path,
    branches: Sequence[Branch],
    undo: ExitStack,
    interrupts: Interrupts,
    systems: Mapping[str, str] | None = None,
) -> Services:
    """Start exporter, monitor and the service of a ``site``; raises DemoError.

    They may not be ready yet: wait for ``processes`` before anybody needs them.  ``systems``: which union a
    branch is of, where there are several.
    """
    processes = Processes(work / "logs", interrupts)
    undo.callback(processes.stop_all)
    ports = {name: free_port() for name in ("exporter", "monitor", "service")}
    at = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    url = {name: f"http://{address}" for name, address in at.items()}
    tokens = write_tokens(work)
    monitor_settings = write_monitor_configuration(work, f"{url['exporter']}/metrics", branches, systems)
    preload = work / "libses-wrapper.so"
    shutil.copy(parts.preload, preload)
    preload.chmod(0o755)

    processes.start(
        "node_exporter",
        [
            str(parts.exporter),
            f"--web.listen-address={at['exporter']}",
            *exporter_options(work),
        ],
        answers(f"{url['exporter']}/metrics"),
    )
    processes.start(
        "smed-monitor",
        [str(parts.monitor), "serve", "--config", str(monitor_settings), "--listen", at["monitor"]],
        answers(f"{url['monitor']}/healthz"),
    )
    processes.start(
        "ses-service",
        [str(parts.service), "serve", "--listen", at["service"], "--state-dir", str(work / "service"),
         "--monitor-url", url["monitor"], "--site", str(site), "--tokens", str(tokens.accepted)],
        answers(f"{url['service']}/readyz"),
    )  # fmt: skip
    return Services(url["service"], url["monitor"], preload, tokens, processes)


def add_portal_account(parts: Parts, chain: Chain, name: str) -> str:
    """Make an administrator's account in the portal; returns its password.  Raises DemoError."""
    password = secrets.token_urlsafe(12)
    command = (parts.portal, "account", "add", name, "--admin", "--password-stdin")
    state = ("--state-dir", chain.portal_state)
    tool(*command, *state, text=f"{password}\n", env={**os.environ, "LC_ALL": "C.UTF-8"})
    return password
