"""Executors: which command starts the runner on a node.  One function each, one line to register it."""

from __future__ import annotations

import base64
import math
import os
import shlex
import shutil
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ses_client.errors import UsageError

CONNECT_SECONDS = 10
ALIVE_SECONDS, ALIVE_COUNT = 15, 3
"""ssh asks a silent node every 15 s whether it is there, and gives it up after three questions.

So a run on a dead node ends after 45 to 60 s.  It is no less because a node that is there can be silent for
half a minute: while a link of it fails over, or while it pages.  A signal does not wait for that
(:mod:`ses.near.execution.watch`)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: processors (1.5: one and a half), bytes of memory, I/O weight (1 to 10,000)."""

    cpus: float | None = None
    memory: int | None = None
    io_weight: int | None = None

    def cores(self, there: float, programs: int = 1) -> float:
        """Return the processors that ``programs`` at once can use, of those that are there."""
        return there if self.cpus is None else min(there, programs * self.cpus)

    def at_once(self, cores: float, memory: float) -> int:
        """Return how many programs a node has processors and memory for, at least one."""
        fit = math.inf if self.memory is None else memory / self.memory
        return max(1, int(min(cores / (self.cpus or 1.0), fit)))


NO_LIMITS = Limits()

Executor = Callable[[str, Limits, Sequence[str]], list[str]]
"""Returns the command that starts the runner on a node.  The last argument is the executor's own command, as
given by ``--rsh``; empty: its usual one."""


def ssh(node: str, _limits: Limits, own: Sequence[str]) -> list[str]:
    """Over ssh, as the same user; never asks for a password.  Options of the own command win."""
    options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}", "-T"]
    options += ["-o", f"ServerAliveInterval={ALIVE_SECONDS}", "-o", f"ServerAliveCountMax={ALIVE_COUNT}"]
    return [*(own or ("ssh",)), *options, "--", node, shlex.join(bootstrap("python3"))]


def slurm(node: str, limits: Limits, own: Sequence[str]) -> list[str]:
    """As a task of Slurm on that node, which also keeps the limits of processors and memory."""
    asked = [*asked_of_slurm(node, limits), "--quiet", "--unbuffered", "--job-name=ses-run-near"]
    asked += ["--input=all", "--output=all", "--error=all"]
    if "SLURM_JOB_ID" in os.environ:
        asked.append("--overlap")
    # A task without an environment (--export=NONE) has no PATH in which Slurm would look.
    return [*(own or ("srun",)), *asked, "/usr/bin/env", *bootstrap("python3")]


def asked_of_slurm(node: str, limits: Limits) -> list[str]:
    """Return the options of srun and sbatch for one task on a node under limits."""
    asked = ["--nodelist", node, "--nodes=1", "--ntasks=1"]
    if limits.cpus:
        asked.append(f"--cpus-per-task={max(1, -int(-limits.cpus // 1))}")
    if limits.memory:
        asked.append(f"--mem={-(-limits.memory // 2**20)}M")
    return asked


def command(node: str, _limits: Limits, own: Sequence[str]) -> list[str]:
    """By any command that ends in running what follows it on the node; ``%n`` in it is the node's name."""
    if not own:
        raise UsageError("The executor 'command' needs --rsh, such as --rsh 'ip netns exec %n'.")
    return [*(word.replace("%n", node) for word in own), *bootstrap("python3")]


EXECUTORS: Mapping[str, Executor] = {"ssh": ssh, "slurm": slurm, "command": command}


HERE = "here"
"""What runs programs on this node by the same runner."""


def argv_of(executor: str, node: str, limits: Limits, own: Sequence[str]) -> list[str]:
    """Return the command that starts the runner; raises UsageError."""
    return bootstrap(sys.executable) if executor == HERE else EXECUTORS[executor](node, limits, own)


def usual() -> str:
    """Return the executor of this machine: Slurm where it is set up, else ssh."""
    configured = "SLURM_CONF" in os.environ or Path("/etc/slurm/slurm.conf").exists()
    return "slurm" if configured and shutil.which("srun") else "ssh"


def bootstrap(python: str) -> list[str]:
    """Return the command that runs the runner: one line without anything a login shell would change.

    Python looks for modules in its own library only (``-IS``): a folder may hold a ``queue.py`` of others.
    """
    enough = "sys.version_info>=(3,8) or sys.exit('Python 3.8 is needed there, not '+sys.version.split()[0])"
    modules = ";".join(imported(module) for module in ("limits", "node_queue"))
    run = f"exec({unpacked('runner')})"
    return [python, "-IS", "-c", f"import base64,sys,types,zlib;{enough};{modules};{run}"]


def imported(module: str, package: str = "ses.near.execution") -> str:
    """Return the statement after which what is sent along imports a module by its name."""
    name = f"{package}.{module}"
    return f"m=sys.modules['{name}']=types.ModuleType('{name}');exec({unpacked(module, package)},vars(m))"


def unpacked(module: str, package: str = "ses.near.execution") -> str:
    """Return the expression that unpacks the text of a module."""
    text = resources.files(package).joinpath(f"{module}.py").read_bytes()
    return f"zlib.decompress(base64.b64decode('{base64.b64encode(zlib.compress(text, 9)).decode()}'))"
