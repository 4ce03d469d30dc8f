"""Starting munged, slurmctld and a slurmd for each node; ending the jobs before these are stopped."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from ses.demo.chain import Services, start_agent
from ses.demo.faults import DemoError
from ses.demo.parts import Parts
from ses.demo.processes import Processes
from ses.demo.slurm.configuration import Layout, write_configuration

_SECONDS = 60.0
_LEFT_SECONDS = 10.0  # for what is left of steps; they are asked to end
_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")


def need_slurm() -> None:
    """Raise DemoError when a program of Slurm is not installed."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path="/usr/sbin:/usr/bin") is None]
    if missing:
        raise DemoError(f"{', '.join(missing)} not there. Install them: packaging/install.sh slurm")


def start_munged(work: Path, processes: Processes) -> Path:
    """Start a munged with a key of its own; returns its socket."""
    munge, at = work / "munge", work / "munge.sock"
    munge.mkdir(mode=0o700)
    key = munge / "key"
    key.touch(0o400)
    key.write_bytes(secrets.token_bytes(1024))
    processes.start(
        "munged",
        [
            *("/usr/sbin/munged", "--foreground", "--force", "--num-threads=2", "--origin=127.0.0.1"),
            *(f"--key-file={key}", f"--socket={at}", f"--pid-file={munge}/pid"),
            *(f"--seed-file={munge}/seed", f"--log-file={munge}/log"),
        ],
        at.exists,
    )
    return at


def environment_of(work: Path, url: str, commands: Path) -> dict[str, str]:
    """Return the environment of daemons and of those who submit; ``commands`` has the command ``ses``."""
    return {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "SLURM_CONF": str(work / "slurm.conf"),
        "SES_SERVICE_URL": url,
        "LC_ALL": "C.UTF-8",
    }


def start_cluster(
    work: Path, layout: Layout, parts: Parts, plugin: Path, options: str, services: Services, undo: ExitStack
) -> dict[str, str]:
    """Start a Slurm, each node with an agent of its own, and with the plugin under these options.

    Returns the environment of those who submit jobs; ``undo`` ends these.  Raises DemoError.
    """
    processes, jobs = services.processes, work / "jobs"
    start_munged(work, processes)
    processes.wait_ready()
    loaded = f"{shutil.copy(plugin, work)} library={services.preload} {options}"
    write_configuration(work, layout, f"optional {loaded} jobs-dir={jobs}")
    environment = environment_of(work, services.service_url, Path(sys.executable).parent)
    environment["SES_TOKEN_FILE"] = str(services.tokens.admin)
    sockets = {
        node: start_agent(work, parts, services, f"agent-{node}", ("--node", node, "--jobs-dir", str(jobs)))
        for node in layout.nodes
    }
    undo.callback(end_jobs, work, environment)
    start_slurm(work, sockets, environment, processes)
    processes.wait_ready()
    return environment


def start_slurm(
    work: Path, sockets: Mapping[str, Path], environment: Mapping[str, str], processes: Processes
) -> None:
    """Start slurmctld and the nodes, each with the socket of its agent.  munged must be ready."""
    processes.start(
        "slurmctld", ["/usr/sbin/slurmctld", "-D", "-f", f"{work}/slurm.conf"], lambda: True, environment
    )
    for node, agent in sockets.items():
        start_node(work, node, agent, environment, processes)


def start_node(
    work: Path, node: str, agent: Path, environment: Mapping[str, str], processes: Processes
) -> None:
    """Start the slurmd of a node, ready when Slurm would give it jobs."""
    processes.start(
        f"slurmd-{node}",
        ["/usr/sbin/slurmd", "-D", "-N", node, "-f", f"{work}/slurm.conf"],
        lambda: _state(node, environment) in ("idle", "mixed", "allocated"),
        {**environment, "SES_AGENT_SOCKET": str(agent)},
    )


def end_jobs(work: Path, environment: Mapping[str, str]) -> None:
    """Cancel all jobs, and wait for their steps while slurmctld still receives that they end."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        jobs = _output(["/usr/bin/squeue", "--noheader", "--format=%A"], environment).split()
        if jobs:
            _output(["/usr/bin/scancel", *jobs], environment)
    end = time.monotonic() + _LEFT_SECONDS
    while (left := _steps(work)) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _steps(work: Path) -> list[int]:
    """Return the processes of this Slurm that keep a step."""
    named = f"SLURM_CONF={work}/slurm.conf".encode()
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text() == "slurmstepd\n" and named in (
                process / "environ"
            ).read_bytes().split(b"\0"):
                pids.append(int(process.name))
    return pids


def _state(node: str, environment: Mapping[str, str]) -> str:
    sinfo = ["/usr/bin/sinfo", "--noheader", f"--nodes={node}", "--format=%T", "--partition=all"]
    return _output(sinfo, environment).strip()


def _output(command: list[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, check=False, timeout=_SECONDS
    ).stdout
