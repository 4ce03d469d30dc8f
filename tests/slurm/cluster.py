"""A cluster of four nodes on this machine: munged, slurmctld and a slurmd for each node, all of Debian."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ports import free_port
from ses.demo.processes import Processes, answers, is_socket
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient

BUILD = Path(__file__).resolve().parents[2] / os.environ.get("SES_BUILD_DIR", "build/libses")
NODES = ("n1", "n2", "n3", "n4")
FEATURES = {"n1": "thin", "n2": "thin", "n3": "thin,gpu", "n4": "thin"}
LEAVES = {"leaf1": "n[1-3]", "leaf2": "n4"}
CPUS = 16  # of a node, as far as Slurm knows
SECONDS = 120.0  # only a hang uses this up


def write_configuration(work: Path, plugin: str) -> None:
    """Write what Slurm reads, with ``plugin`` as the line of plugstack.conf."""
    host = socket.gethostname().split(".")[0]
    (work / "state").mkdir()
    nodes = "".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={CPUS} "
        f"RealMemory=64000 Feature={FEATURES[name]} State=UNKNOWN\n"
        for name in NODES
    )
    (work / "slurm.conf").write_text(
        "ClusterName=tests\n"
        f"SlurmctldHost={host}(127.0.0.1)\n"
        f"SlurmctldPort={free_port()}\n"
        "SlurmUser=root\nSlurmdUser=root\n"
        f"AuthType=auth/munge\nAuthInfo=socket={work}/munge.sock\nCredType=cred/munge\n"
        f"StateSaveLocation={work}/state\nSlurmdSpoolDir={work}/spool-%n\n"
        f"SlurmctldPidFile={work}/slurmctld.pid\nSlurmdPidFile={work}/slurmd-%n.pid\n"
        f"PlugStackConfig={work}/plugstack.conf\n"
        "TopologyPlugin=topology/tree\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n"
        "JobAcctGatherType=jobacct_gather/none\nReturnToService=2\nSwitchType=switch/none\n"
        "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\nKillWait=2\nUnkillableStepTimeout=120\n"
        f"{nodes}PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES:64 State=UP\n"
    )
    leaves = "".join(f"SwitchName={name} Nodes={nodes}\n" for name, nodes in LEAVES.items())
    (work / "topology.conf").write_text(f"{leaves}SwitchName=core Switches=leaf[1-2]\n")
    (work / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (work / "plugstack.conf").write_text(plugin + "\n")


def start_munged(work: Path, processes: Processes) -> None:
    """Start a munged with a key of its own."""
    munge = work / "munge"
    munge.mkdir(mode=0o700)
    key = munge / "key"
    key.touch(0o400)
    key.write_bytes(secrets.token_bytes(1024))
    processes.start(
        "munged",
        [
            *("/usr/sbin/munged", "--foreground", "--force", "--num-threads=2"),
            *(f"--key-file={key}", f"--socket={work}/munge.sock", f"--pid-file={munge}/pid"),
            *(f"--seed-file={munge}/seed", f"--log-file={munge}/log"),
        ],
        (work / "munge.sock").exists,
    )


@dataclass(frozen=True)
class Cluster:
    """The running cluster, and how its commands are run."""

    work: Path
    service_url: str
    library: Path
    environment: dict[str, str]

    def run(self, *command: str, user: str = "root", **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm as a user; the outcome is the caller's to judge."""
        return subprocess.run(
            command, env={**self.environment, **more}, user=user, group=user, extra_groups=[],
            cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def output(self, *command: str, user: str = "root", **more: str) -> str:
        """Return what a command prints that must do well."""
        done = self.run(*command, user=user, **more)
        assert done.returncode == 0, (command, done.stdout, done.stderr, self.logs())
        return done.stdout

    def client(self) -> ServiceClient:
        """Return a client of the service."""
        return ServiceClient(ServiceAddress(self.service_url, None))

    def logs(self) -> str:
        """Return how the logs of all daemons end."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-800:]}" for log in self.work.glob("logs/*.log"))


def start_slurm(work: Path, processes: Processes, environment: dict[str, str]) -> None:
    """Start slurmctld and the nodes, and wait until all are idle."""
    configuration = str(work / "slurm.conf")
    states = ["/usr/bin/sinfo", "--noheader", "--Node", "--format=%T"]

    def are_idle() -> bool:
        done = subprocess.run(
            states, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        return done.returncode == 0 and done.stdout.split() == ["idle"] * len(NODES)

    processes.start(
        "slurmctld", ["/usr/sbin/slurmctld", "-D", "-f", configuration], lambda: True, environment
    )
    for name in NODES:
        processes.start(
            name, ["/usr/sbin/slurmd", "-D", "-N", name, "-f", configuration], are_idle, environment
        )


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


def start_agent(work: Path, agent: Path, url: str, processes: Processes) -> Path:
    """Start the agent of this machine; returns its socket."""
    path = work / "agent.sock"
    processes.start(
        "ses-agent",
        [str(agent), "--service", url, "--socket", str(path), "--state-dir", str(work / "agent"),
         "--node", "n1", "--log-level", "debug"],
        is_socket(path),
    )  # fmt: skip
    return path


def environment_of(work: Path, agent_socket: Path, url: str, commands: Path) -> dict[str, str]:
    """Return the environment of daemons and of those who submit."""
    return {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "SLURM_CONF": str(work / "slurm.conf"),
        "SES_AGENT_SOCKET": str(agent_socket),
        "SES_SERVICE_URL": url,
        "LC_ALL": "C.UTF-8",
    }


def missing_programs() -> list[str]:
    """Return what of Slurm is not installed."""
    programs = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")
    return [name for name in programs if shutil.which(name, path="/usr/sbin:/usr/bin") is None]
