"""A cluster of namespaces, bare: storage that all mount, MUNGE, Slurm and sshd; nothing of ours is set up."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bare_cluster import NODES, ROOT, Cluster, image
from machines import NETWORK, SECONDS, Machine, folders_of_programs
from mounts import let_others_in, unmount


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("needs root: machines are made of namespaces")
    work = tmp_path_factory.mktemp("cluster")
    let_others_in(work)
    shared = work / "shared"
    union, branches = shared / "union", tuple(shared / f"disk{number}" for number in (1, 2, 3, 4))
    for branch in (shared, union, *branches):
        branch.mkdir()
    with ExitStack() as undo:
        options = "allow_other,use_ino,category.create=pfrd,func.getattr=newest"
        subprocess.run(
            ["mergerfs", "-o", options, ":".join(map(str, branches)), union], check=True, timeout=SECONDS
        )
        undo.callback(unmount, union)
        named = [("storage1", 1), *((f"n{number:04}", 10 + number) for number in range(1, NODES + 1))]
        made: list[Machine] = []
        # Of another file system than the root, since both are layers of the machines' roots.
        common = Path(
            undo.enter_context(tempfile.TemporaryDirectory(prefix="qstorman-image-", dir="/dev/shm"))
        )
        common.chmod(0o755)
        image(common, [f"{NETWORK}.{number} {name}" for name, number in named])
        for name, number in named:
            made.append(Machine(name, number, work, common, [*folders_of_programs(ROOT), shared]))
            undo.callback(made[-1].end)
        services, nodes = made[0], tuple(made[1:])
        services.connect(nodes)
        for machine in made:
            machine.output("systemctl", "enable", "--now", "munge")
            machine.output("/usr/sbin/sshd", "-f", "/etc/ssh/sshd_config")
        services.output("mkdir", "-p", "/var/lib/slurmctld")
        services.output("systemd-sysusers", str(ROOT / "packaging/systemd/qstorman.sysusers"))
        services.output("systemctl", "enable", "--now", "slurmctld")
        for node in nodes:
            node.output("mkdir", "-p", "/var/lib/slurmd")
            node.output("systemctl", "enable", "--now", "slurmd")
        yield Cluster(services, nodes, union, branches)
