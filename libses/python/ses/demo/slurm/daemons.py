"""Starting munged, slurmctld and a slurmd for each node."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.processes import Processes

_SECONDS = 60.0
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
            *("/usr/sbin/munged", "--foreground", "--force", "--num-threads=2"),
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


def _state(node: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["/usr/bin/sinfo", "--noheader", f"--nodes={node}", "--format=%T", "--partition=all"],
        env=dict(environment), capture_output=True, text=True, check=False, timeout=_SECONDS,
    )  # fmt: skip
    return done.stdout.strip()
