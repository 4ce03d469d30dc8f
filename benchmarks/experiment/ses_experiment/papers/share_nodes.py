"""Nodes for experiments with shared values: network and IPC namespaces of this machine, and one switch.

Each has an address, memory segments of its own, and a ``ses-share-agent`` where one is started on it.  All
share the processors, the users and one munged.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import Processes, started
from ses.demo.slurm.daemons import start_munged
from ses.demo.tools import tool
from ses.demo.work import need_root, work_directory

PORT = 8635


@dataclass(frozen=True, slots=True)
class Node:
    """A node: what runs a command on it, and its address."""

    inside: tuple[str, ...]
    address: str


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that stand, where munged listens, and where programs lie."""

    nodes: tuple[Node, ...]
    environment: dict[str, str]
    agent: Path
    interrupts: Interrupts

    def start_agent(self, node: Node, undo: ExitStack, *options: str) -> int:
        """Run an agent until ``undo`` ends it; its number."""
        words = [*node.inside, str(self.agent), "--listen", f"{node.address}:{PORT}", *options]
        process = started(words, undo, env=self.environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        first = process.stderr.readline()
        if "listens on" not in first:
            raise DemoError(f"ses-share-agent: {first.strip() or 'it ended'}")
        return process.pid


def set_up(count: int, command: str, agent: Path, undo: ExitStack, interrupts: Interrupts) -> Nodes:
    """Build ``count`` nodes; what undoes that goes onto ``undo``.  Raises DemoError."""
    need_root("The experiment", command)
    for program in (agent, Path("/usr/sbin/munged")):
        if not program.exists():
            raise DemoError(f"{program} is missing. Build it: make native; munged is in the package munge.")
    work = work_directory(undo, "ses-share-")
    processes = Processes(work / "logs", interrupts)
    undo.callback(processes.stop_all)
    environment = {**os.environ, "SES_MUNGE_SOCKET": str(start_munged(work, processes))}
    processes.wait_ready()
    switch = _namespace(undo, "--net")
    tool(*switch, "ip", "link", "add", "switch", "type", "bridge")
    tool(*switch, "ip", "link", "set", "switch", "up")
    nodes = []
    for number in range(1, count + 1):
        inside, address = _namespace(undo, "--net", "--ipc"), f"10.94.0.{number}"
        port = f"port{number}"
        tool(*switch, "ip", "link", "add", port, "type", "veth", "peer", "name", "wire", "netns", inside[2])
        tool(*switch, "ip", "link", "set", port, "master", "switch", "up")
        tool(*inside, "ip", "addr", "add", f"{address}/24", "dev", "wire")
        for device in ("wire", "lo"):
            tool(*inside, "ip", "link", "set", device, "up")
        nodes.append(Node(inside, address))
    return Nodes(tuple(nodes), environment, agent, interrupts)


def _namespace(undo: ExitStack, *kinds: str) -> tuple[str, ...]:
    """Make namespaces that last as long as a process that sleeps in them; what runs a command there."""
    words = ["unshare", *kinds, "sh", "-c", "echo; exec sleep infinity"]
    process = started(words, undo, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return ("nsenter", "-t", str(process.pid), *(f"--{kind[2:]}" for kind in kinds))
