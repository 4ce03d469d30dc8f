"""The cluster of the tests: four nodes on this machine, and how commands of Slurm are run there."""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ports import free_port
from ran import ran
from ses.demo.processes import Processes, answers, is_socket
from ses.demo.slurm.configuration import Layout
from ses.demo.slurm.daemons import start_node
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient

LAYOUT = Layout(
    "tests",
    {"n1": "thin", "n2": "thin", "n3": "thin,gpu", "n4": "thin"},
    {"leaf1": "n[1-3]", "leaf2": "n4"},
    (
        "JobSubmitPlugins=lua",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP",
    ),
)
NODES = LAYOUT.nodes
SECONDS = 120.0  # only a hang uses this up


@dataclass(frozen=True)
class Cluster:
    """The running cluster, with an agent for each node, and how its commands are run."""

    work: Path
    service_url: str
    library: Path
    agent: Path
    sockets: Mapping[str, Path]
    environment: dict[str, str]
    processes: Processes

    def run(self, *command: str, user: str = "root", **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm as a user; the outcome is the caller's to judge.

        Programs of its jobs wait for answers of agents, however busy the machine: what is late would be
        created by the file system's choice.
        """
        return ran(
            command, code=None, env={**self.environment, "SES_SYNC_MS": "20000", **more}, user=user,
            group=user, extra_groups=[], cwd="/",
        )  # fmt: skip

    def start(self, *command: str, user: str = "root") -> subprocess.Popen[str]:
        """Start a command of Slurm as a user."""
        return subprocess.Popen(
            command, env=self.environment, user=user, group=user, extra_groups=[], cwd="/",
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def output(self, *command: str, user: str = "root", **more: str) -> str:
        """Return what a command prints that must do well."""
        done = self.run(*command, user=user, **more)
        assert done.returncode == 0, (command, done.stdout, done.stderr, self.logs())
        return done.stdout

    def client(self) -> ServiceClient:
        """Return a client of the service."""
        return ServiceClient(ServiceAddress(self.service_url, None))

    def fail(self, node: str) -> None:
        """Let a node fail: its daemons, its agent and the programs of its jobs are gone at once."""
        for name in (f"slurmd-{node}", f"agent-{node}"):
            self.processes.kill(name)
        mark = f"SES_AGENT_SOCKET={self.sockets[node]}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), 9)

    def boot(self, node: str) -> None:
        """Start a node that failed."""
        start_agent(self.work, self.agent, self.service_url, node, self.processes)
        start_node(self.work, node, self.sockets[node], self.environment, self.processes)
        self.processes.wait_ready()

    def logs(self) -> str:
        """Return how the logs of all daemons end."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-800:]}" for log in self.work.glob("logs/*.log"))


def start_service(work: Path, site: Path, service: Path, processes: Processes) -> str:
    """Start a selection service that trusts this machine; returns its URL."""
    at = f"127.0.0.1:{free_port()}"
    processes.start(
        "ses-service",
        [str(service), "serve", "--listen", at, "--state-dir", str(work / "service"), "--site", str(site),
         "--trust-loopback"],
        answers(f"http://{at}/readyz"),
    )  # fmt: skip
    return f"http://{at}"


def start_agent(work: Path, agent: Path, url: str, node: str, processes: Processes) -> Path:
    """Start the agent of a node; returns its socket."""
    path = work / f"agent-{node}.sock"
    processes.start(
        f"agent-{node}",
        [str(agent), "--service", url, "--socket", str(path), "--state-dir", str(work / f"agent-{node}"),
         "--node", node, "--log-level", "debug", "--jobs-dir", str(work / "jobs")],
        is_socket(path),
    )  # fmt: skip
    return path
