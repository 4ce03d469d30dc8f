"""The demonstration of jobs: a Slurm of two nodes on this machine, and three jobs; one is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ses.demo.chain import Services, start_services
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts, find_plugin
from ses.demo.run import Options
from ses.demo.site import write_site
from ses.demo.slurm.configuration import Layout
from ses.demo.slurm.daemons import need_slurm, start_cluster
from ses.demo.slurm.report import JobRow, JobsReport
from ses.demo.storage import set_up
from ses.demo.tools import tool
from ses.demo.work import need_root, work_directory
from ses.job import Job

LAYOUT = Layout("demo", {"n1": "thin", "n2": "thin"}, {"leaf1": "n[1-2]"})
_PATIENCE = 90.0
_RANK = 'dd if=/dev/zero of="$0/$SLURM_JOB_ID.$SLURM_PROCID" bs=1M count="$1" conv=fsync status=none'


@dataclass(frozen=True, slots=True)
class Plan:
    """A job of ``ranks`` ranks, each of which writes one file."""

    title: str
    need: str
    ranks: int


PLANS = (
    Plan("checkpoint", "write>=40MB/s", 2),
    Plan("archive", "write>=10MB/s free>=287MB", 4),
    Plan("too much", "write>=50GB/s!", 0),
)


def demonstrate_jobs(
    options: Options,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    show: Callable[[JobsReport], None],
) -> JobsReport:
    """Run the demonstration and undo everything it made, however it ends.  Raises DemoError."""

    def step(text: str) -> None:
        interrupts.check()
        progress(text)

    need_root("The demonstration", "make demo-slurm")
    need_slurm()
    parts, plugin = find_parts(options.build), find_plugin(options.build)
    with interrupts.undoing(progress) as undo:
        work = work_directory(undo, "qstorman-demo-")
        storage = set_up(work, undo, step)
        step("starting the services")
        site = write_site(parts.site, work)
        services = start_services(work, parts, site, storage.branches, undo, interrupts)
        offers = work / "offers"
        step("starting Slurm, with an agent on each node")
        plugin_options = f"check={offers} comment=batch"
        environment = start_cluster(work, LAYOUT, parts, plugin, plugin_options, services, undo)
        ses = Path(sys.executable).parent / "ses"
        tool(ses, "nodes", "publish", offers, seconds=_PATIENCE, env=environment)
        rows = []
        for plan in PLANS:
            step(f"job {plan.title}: sbatch --storage='{plan.need}'")
            directory = storage.union / plan.title.replace(" ", "-")
            directory.mkdir()
            rows.append(_job(plan, directory, options.megabytes, environment, services, interrupts))
        report = JobsReport(storage.notes, tuple(rows))
        show(report)
    return report


def _job(
    plan: Plan,
    directory: Path,
    megabytes: int,
    environment: Mapping[str, str],
    services: Services,
    interrupts: Interrupts,
) -> JobRow:
    ranks = max(1, plan.ranks)
    done = subprocess.run(
        ["sbatch", "--parsable", f"--nodes={min(ranks, 2)}", f"--ntasks={ranks}", "--output=/dev/null",
         f"--storage={plan.need}",
         f"--wrap=srun sh -c '{_RANK}' {directory} {megabytes}"],
        env=dict(environment), capture_output=True, text=True, timeout=_PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        return JobRow(plan.title, plan.need, plan.ranks, refused=done.stderr.strip().splitlines()[0])
    job, client = done.stdout.strip(), services.client()

    def summed() -> Job:
        return Job.of(job, client.files({"job": job}, limit=100)["files"])

    def has_ended() -> bool:
        services.processes.check()
        total = summed().total
        return total.files >= ranks and total.open == 0

    interrupts.until(has_ended, _PATIENCE, f"The files of job {job} ({plan.title}) did not become known")
    return JobRow(plan.title, plan.need, plan.ranks, summed())
