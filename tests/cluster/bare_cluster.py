"""What machines of a cluster have before anything of ours is set up: MUNGE, Slurm and sshd."""

import os
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from built import BUILD
from machines import Machine

ROOT = Path(__file__).resolve().parents[2]
NODES = 8
SLURM = """\
ClusterName=namespaces
SlurmctldHost=storage1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/lib/slurmctld
SlurmdSpoolDir=/var/lib/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SwitchType=switch/none
NodeName=n[0001-{nodes:04}] CPUs=4 RealMemory=1000 Feature=thin State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""
MUNGE = """\
[Service]
ExecStart=/usr/sbin/munged --foreground --force --num-threads=2
RuntimeDirectory=munge
StateDirectory=munge
"""
SSHD = """\
HostKey /etc/ssh/host
PidFile none
UsePAM no
AuthorizedKeysFile /etc/ssh/key.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
MaxStartups 100
Subsystem sftp internal-sftp
"""
SYSTEMCTL = """\
#!/bin/sh
SES_UNITS=/etc/systemd/system exec {python} {script} "$@"
"""


@dataclass(frozen=True)
class Cluster:
    """``services``: the machine of the services, where Slurm's controller runs; ``union``: what all mount."""

    services: Machine
    nodes: tuple[Machine, ...]
    union: Path
    branches: tuple[Path, ...]

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All of them."""
        return (self.services, *self.nodes)


def image(folder: Path, names: list[str]) -> None:
    """Put together what every machine has besides this machine's root."""
    install = ["cmake", "--install", BUILD]  # below /usr/local
    subprocess.run(install, env={**os.environ, "DESTDIR": str(folder)}, check=True, capture_output=True)
    units, etc = folder / "etc/systemd/system", folder / "etc"
    for directory in (
        units,
        etc / "slurm",
        etc / "munge",
        etc / "ssh",
        folder / "opt/qstorman",
        folder / "usr/bin",
    ):
        directory.mkdir(parents=True, exist_ok=True)
    for unit in [
        *(ROOT / "packaging/systemd").glob("*.service"),
        *Path("/lib/systemd/system").glob("slurm*.service"),
    ]:
        shutil.copy(unit, units)
    (units / "munge.service").write_text(MUNGE)
    (folder / "opt/qstorman/venv").symlink_to(ROOT / ".venv")
    (folder / "usr/bin/ses").symlink_to(ROOT / ".venv/bin/ses")
    local = folder / "usr/local/bin"
    local.mkdir(parents=True, exist_ok=True)
    (local / "systemctl").write_text(
        SYSTEMCTL.format(python=sys.executable, script=ROOT / "tests/story/systemctl.py")
    )
    (local / "systemctl").chmod(0o755)
    (etc / "hosts").write_text("127.0.0.1 localhost\n" + "\n".join(names) + "\n")
    (etc / "slurm/slurm.conf").write_text(SLURM.format(nodes=NODES))
    (etc / "slurm/cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (etc / "munge/munge.key").touch(0o400)
    (etc / "munge/munge.key").write_bytes(secrets.token_bytes(1024))
    (etc / "ssh/sshd_config").write_text(SSHD)
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", etc / "ssh" / name], check=True)
