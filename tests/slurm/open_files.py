"""What programs have open below a directory, as the kernel says and as the service's ledger says."""

import os
import time
from contextlib import suppress
from pathlib import Path

from cluster import Cluster
from patience import wait_until
from ses_client.messages.message import JSON

# A file of each rank, open until it is told to go on.  $0: the directory.
HOLD = (
    'exec 3>"$0/$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}"; '
    "echo written >&3; "
    'until [ -e "$0/go" ]; do sleep 0.2; done'
)


def held(directory: Path) -> set[str]:
    """Return the files below a directory that any process has open; agents only look at them."""
    paths = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text() == "ses-agent\n":
                continue
            for descriptor in os.scandir(process / "fd"):
                with suppress(OSError):
                    paths.add(str(Path(descriptor.path).readlink()))
    return {path for path in paths if path.startswith(f"{directory}/")}


def counted(cluster: Cluster, directory: Path) -> list[JSON]:
    """Return what the ledger holds open below a directory."""
    files: list[JSON] = cluster.client().files({"state": "open"}, limit=1000)["files"]
    return [file for file in files if (file["path"] or "").startswith(f"{directory}/")]


def wait_for(cluster: Cluster, directory: Path, count: int) -> list[JSON]:
    """Wait until so many files are really open, and the ledger says just these; returns what it says."""
    files: list[JSON] = []

    def as_it_is() -> bool:
        nonlocal files
        files, there = counted(cluster, directory), held(directory)
        return len(there) == count and {file["path"] for file in files} == there

    wait_until(
        lambda: len(held(directory)) == count,
        lambda: f"open are {sorted(held(directory))}, not {count} files; {cluster.logs()}",
    )
    begun = time.monotonic()
    wait_until(
        as_it_is, lambda: f"the ledger has {files}, open are {sorted(held(directory))}; {cluster.logs()}"
    )
    print(f"the ledger says {count} open files {time.monotonic() - begun:.2f} s after it was so")
    return files
