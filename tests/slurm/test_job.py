"""What a job's files got is known by the number of the job, and can be written into its record."""

from __future__ import annotations

import json
import time
from pathlib import Path

from cluster import SECONDS, Cluster

NEED = "write>=20MB/s"


def test_a_job_is_summed_up_and_its_record_says_so(cluster: Cluster, directory: Path) -> None:
    write = f"dd if=/dev/zero of={directory}/$SLURM_PROCID bs=64k count=16 conv=fsync status=none"
    script = f"srun -N2 --ntasks-per-node=2 sh -c '{write}'; srun -n1 sleep 1000"
    submit = ("sbatch", "--parsable", "-N2", "-n4", "--output=/dev/null", f"--storage={NEED}")
    job = cluster.output(*submit, f"--wrap={script}").strip()
    end = time.monotonic() + SECONDS
    while len(cluster.client().files({"job": job, "state": "ended"})["files"]) < 4:
        assert time.monotonic() < end
        time.sleep(0.1)
    told = json.loads(cluster.output("ses", "job", job, "--wait", "60", "--comment", "--json"))
    assert told["job"] == job
    assert sum(one["files"] for one in told["elements"]) == 4
    assert sum(one["bytes_written"] for one in told["elements"]) == 4 << 20
    (need,) = told["needs"]
    assert (need["kind"], need["required"], need["unit"]) == ("current-write-rate", 20.0, "MB/s")
    assert sum(need["verdicts"].values()) == 4
    shown = cluster.output("scontrol", "show", "job", job)
    assert "AdminComment=storage: 4 files on " in shown
    assert "; current-write-rate>=20MB/s: promised " in shown
    cluster.output("scancel", job)


def test_a_job_that_has_ended_is_not_commented_and_that_is_told(cluster: Cluster, directory: Path) -> None:
    script = f"exec 3>{directory}/file; sleep 1"
    submit = ("sbatch", "--parsable", "--wait", "--output=/dev/null", f"--storage={NEED}")
    job = cluster.output(*submit, f"--wrap={script}").strip()
    done = cluster.run("ses", "job", job, "--wait", "60", "--comment")
    assert done.returncode == 1
    assert "Slurm changes the record of a job only while it runs" in done.stderr
