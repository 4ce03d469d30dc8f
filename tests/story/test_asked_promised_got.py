"""Whether files got what was required, said of programs that nobody changed by the real agent and service."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE, wait_until
from ran import ran
from running_site import Site
from ses.quantities import requirement

pytestmark = [pytest.mark.root, pytest.mark.long]

MB = 1_000_000
REQUIRED = 3.0  # MB/s

# Writes four bursts of so many MB with so many seconds after each and syncs; "reads" reads it back slowly.
PROGRAM = """
import os, sys, time
path, size, pause, reads = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), len(sys.argv) > 4
fd = os.open(path, os.O_CREAT | os.O_WRONLY)
for burst in range(4):
    for _ in range(size):
        os.write(fd, bytes(1000000))
    time.sleep(pause)
os.fsync(fd)
back = os.open(path, os.O_RDONLY)
while reads and os.read(back, 1000000):
    time.sleep(0.03)
os.close(fd)
"""

# Reads a file that exists again and again, 20 MB/s at most.
READER = """
import sys, time
with open(sys.argv[1], "rb", buffering=0) as file:
    while True:
        while file.read(1000000):
            time.sleep(0.05)
        file.seek(0)
"""


def run(site: Site, name: str, *arguments: str) -> str:
    path = site.storage.union / name
    environment = {"PATH": os.environ["PATH"], **site.chain.preloaded()}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), *arguments], check=True, timeout=300, env=environment
    )
    return str(path)


def file(site: Site, path: str) -> dict[str, Any]:
    """Return what `ses files` says of a file once it was judged."""
    services = site.chain.services
    environment = {
        **os.environ, "SES_SERVICE_URL": services.service_url, "SES_TOKEN_FILE": str(services.tokens.admin),
    }  # fmt: skip
    command = [str(Path(sys.executable).with_name("ses")), "files", "--everybody", "--json", "--path", path]

    def judged() -> dict[str, Any]:
        done = ran(command, env=environment)
        files: list[dict[str, Any]] = json.loads(done.stdout)["files"]
        return files[0] if files and files[0]["state"] == "ended" else {}

    return wait_until(judged, f"{path} has ended", 2 * PATIENCE, every=0.2)


def streams(site: Site, element: str) -> int:
    """Return what the ledger counts on an element."""
    elements = site.chain.client().elements().elements
    return next(listed.open_placements for listed in elements if listed.id == element)


def require(site: Site, *texts: str) -> None:
    site.chain.client().replace_requirements("user", "root", map(requirement, texts), revision=0)
    numbers = itertools.count()

    def is_known() -> bool:
        name = f"before-{next(numbers)}.dat"
        known = bool(file(site, run(site, name, "1", "0.2"))["required"])
        if not known:
            (site.storage.union / name).unlink()
        return known

    wait_until(is_known, "the node knows")


def test_files_are_met_or_missed_with_what_the_program_did_as_the_cause(site: Site) -> None:
    require(site, f"average-write-rate>={REQUIRED}MB/s", f"average-read-rate>={REQUIRED}MB/s")

    waits = file(site, run(site, "waits.dat", "5", "2.5"))
    assert (waits["verdict"], waits["cause"], waits["kind"]) == ("missed", "program", "average-write-rate")
    assert 0 < waits["achieved"] < 0.8 * REQUIRED <= waits["write_mb_s"], "it was fast while it wrote"

    # Four times as much has room on each element: a file larger than those before changes habits.
    writes = file(site, run(site, "writes.dat", "8", "0"))
    assert (writes["verdict"], writes["cause"]) == ("met", None)
    (site.storage.union / "writes.dat").unlink()

    reads = file(site, run(site, "reads.dat", "8", "0", "reads"))
    assert reads["verdict"] == "met"
    assert reads["bytes_written"] == pytest.approx(32 * MB, rel=0.1)
    assert reads["bytes_read"] == pytest.approx(32 * MB, rel=0.1), "by a descriptor of its own, opened late"
    kinds = site.chain.client().file(reads["placement_id"]).kinds
    assert {kind.kind: kind.verdict for kind in kinds} == {
        "average-read-rate": "met",
        "average-write-rate": "met",
    }

    read_by_others(site, reads["element"], Path(reads["path"]))


def read_by_others(site: Site, element: str, path: Path) -> None:
    """A program reads a file that another one made: a stream of its element for as long as it reads."""
    copy = path.with_name("made-elsewhere.dat")
    branch = next(branch for branch in site.storage.branches if element.endswith(f"/{branch.name}"))
    (branch.directory / copy.name).write_bytes(bytes(20 * MB))  # no file that the ledger knows
    wait_until(lambda: streams(site, element) == 0, "nothing is open on it")
    environment = {"PATH": os.environ["PATH"], **site.chain.preloaded()}
    with subprocess.Popen([sys.executable, "-c", READER, str(copy)], env=environment) as program:
        try:
            wait_until(lambda: streams(site, element) == 1, "its reader counts")
        finally:
            program.kill()
    wait_until(lambda: streams(site, element) == 0, "nobody reads it any more")
