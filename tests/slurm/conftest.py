"""What the tests of Slurm stand on: one cluster and service for all of them, an agent per node."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from built import BUILD
from cluster import LAYOUT, NODES, Cluster, start_agent, start_service
from offload_programs import prefix
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts
from ses.demo.processes import Processes
from ses.demo.site import write_site
from ses.demo.slurm.configuration import write_configuration
from ses.demo.slurm.daemons import end_jobs, environment_of, need_slurm, start_munged, start_slurm
from ses.demo.storage import mount_union

__all__ = ["cluster", "directory", "prefix"]

BRANCHES = 8
PACKAGED = Path(__file__).parents[2] / "packaging/slurm"
EPILOG = """\
#!/bin/sh
[ ! -e {work}/with-epilog ] || . {work}/packaged-epilog.sh
"""


def write_epilog(work: Path) -> str:
    """Write an epilog, the packaged one while `with-epilog` exists; returns its line of slurm.conf."""
    command = Path(sys.executable).with_name("ses")
    packaged = (PACKAGED / "epilog.sh").read_text().replace("/usr/bin/ses", str(command))
    (work / "packaged-epilog.sh").write_text(packaged)
    epilog = work / "epilog.sh"
    epilog.write_text(EPILOG.format(work=work))
    epilog.chmod(0o755)
    return f"Epilog={epilog}"


@pytest.fixture(scope="session")
def cluster(public_wrapper: Path) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a union, and starts jobs of other users")
    need_slurm()
    built = BUILD / "ses-slurm.so"
    assert built.exists(), f"{built} does not exist: run `make native` with libslurm-dev installed"
    work = Path(tempfile.mkdtemp(prefix="qstorman-slurm-"))
    work.chmod(0o755)
    try:
        with ExitStack() as undo, Interrupts() as interrupts:
            parts = find_parts(BUILD)
            branches = [work / f"b{number}" for number in range(1, BRANCHES + 1)]
            for branch in branches:
                branch.mkdir()
            mount_union(work / "union", branches, undo)
            (work / "union").chmod(0o1777)
            plugin = shutil.copy(built, work)
            processes = Processes(work / "logs", interrupts)
            undo.callback(processes.stop_all)
            url = start_service(work, write_site(parts.site, work), parts.service, processes)
            layout = replace(LAYOUT, further=(*LAYOUT.further, write_epilog(work)))
            write_configuration(
                work, layout, f"optional {plugin} library={public_wrapper} check=nodes jobs-dir={work}/jobs"
            )
            (work / "job_submit.lua").write_text(
                f'ses_offers = "{work}/steering"\ndofile("{PACKAGED}/job_submit.lua")\n'
            )
            start_munged(work, processes)
            processes.wait_ready()
            sockets = {node: start_agent(work, parts.agent, url, node, processes) for node in NODES}
            environment = environment_of(work, url, Path(sys.executable).parent)
            undo.callback(end_jobs, work, environment)
            start_slurm(work, sockets, environment, processes)
            processes.wait_ready()
            yield Cluster(work, url, public_wrapper, parts.agent, sockets, environment, processes)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@pytest.fixture
def directory(cluster: Cluster) -> Iterator[Path]:
    """A directory of the union that everybody can write."""
    path = Path(tempfile.mkdtemp(dir=cluster.work / "union"))
    path.chmod(0o1777)
    yield path
    cluster.run("scancel", "--user=root")  # what a failed test has left would keep the nodes from the next
    shutil.rmtree(path)
