"""What the daemons of a small Slurm read: every node is this machine, on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ses.demo.processes import free_port

CPUS = 16  # of a node, as far as Slurm knows


@dataclass(frozen=True, slots=True)
class Layout:
    """A cluster: ``features`` of each node, separated by commas; ``leaves``: the nodes at each switch.

    ``further``: more lines of slurm.conf.
    """

    name: str
    features: Mapping[str, str]
    leaves: Mapping[str, str]
    further: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(self.features)


def write_configuration(work: Path, layout: Layout, plugin: str) -> None:
    """Write what Slurm reads, with ``plugin`` as the line of plugstack.conf."""
    host = socket.gethostname().split(".")[0]
    (work / "state").mkdir()
    (work / "slurm.conf").write_text(
        f"ClusterName={layout.name}\n"
        f"SlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={free_port()}\n"
        "SlurmUser=root\nSlurmdUser=root\n"
        f"AuthType=auth/munge\nAuthInfo=socket={work}/munge.sock\nCredType=cred/munge\n"
        f"StateSaveLocation={work}/state\nSlurmdSpoolDir={work}/spool-%n\n"
        f"SlurmctldPidFile={work}/slurmctld.pid\nSlurmdPidFile={work}/slurmd-%n.pid\n"
        f"PlugStackConfig={work}/plugstack.conf\n"
        "TopologyPlugin=topology/tree\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n"
        "JobAcctGatherType=jobacct_gather/none\nReturnToService=2\nSwitchType=switch/none\n"
        "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n"
        "KillWait=2\nUnkillableStepTimeout=120\n"
        + "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={CPUS} "
            f"RealMemory=64000 Feature={features} State=UNKNOWN\n"
            for name, features in layout.features.items()
        )
        + "PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES:64 State=UP\n"
        + "".join(f"{line}\n" for line in layout.further)
    )
    leaves = "".join(f"SwitchName={name} Nodes={nodes}\n" for name, nodes in layout.leaves.items())
    (work / "topology.conf").write_text(f"{leaves}SwitchName=core Switches={','.join(layout.leaves)}\n")
    (work / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (work / "plugstack.conf").write_text(plugin + "\n")
