"""A job has a directory of its own on each node as TMPDIR, with room for what it states, until it ends."""

import json
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cluster import SECONDS, Cluster
from mounts import small_disk
from patience import wait_until
from site_of_directories import Site

SES = Path(sys.executable).with_name("ses")
# With the machine's Python, which users can reach wherever that of the tests lies.
_COMMAND = """#!/bin/sh
export SES_SERVICE_URL={url}
exec /usr/bin/python3 -c 'import site; site.addsitedir("{packages}")
from ses.cli import main; main(prog_name="ses")' "$@"
"""
SHOW = 'echo "$SLURMD_NODENAME $TMPDIR $SES_PLACE"; stat -c "%a %U" "$TMPDIR"'


class Places:
    """Two small disks that every node has, and the claims there."""

    def __init__(self, cluster: Cluster, disks: list[Path], ledger: Path) -> None:
        self.cluster, self.disks, self.ledger = cluster, disks, ledger

    def claims(self) -> list[dict[str, Any]]:
        listed = self.cluster.output(str(SES), "places", "--ledger", str(self.ledger), "--json")
        claims: list[dict[str, Any]] = json.loads(listed)["claims"]
        return claims

    def wait_gone(self) -> None:
        """Wait until the jobs have left: no claim and no directory is left."""
        wait_until(
            lambda: self.claims() == [] and not any(list(disk.iterdir()) for disk in self.disks),
            lambda: f"{self.claims()} {[list(disk.iterdir()) for disk in self.disks]} {self.cluster.logs()}",
            SECONDS,
            every=0.2,
        )


@pytest.fixture
def places(cluster: Cluster) -> Iterator[Places]:
    plugins = cluster.work / "plugstack.conf"
    before = plugins.read_text()
    with ExitStack() as undo:
        folder = Path(tempfile.mkdtemp(dir=cluster.work))
        folder.chmod(0o755)
        undo.callback(shutil.rmtree, folder)
        disks = [undo.enter_context(small_disk(folder / name, 64)) for name in ("local1", "local2")]
        for disk in disks:
            disk.chmod(0o1777)
        among, ledger = ":".join(map(str, disks)), folder / "ledger"
        plugins.write_text(f"{before.strip()} place={among} ledger={ledger} ses={SES}\n")
        undo.callback(plugins.write_text, before)
        yield Places(cluster, disks, ledger)


def test_a_job_has_a_directory_of_its_own_until_it_ends(places: Places) -> None:
    shown = places.cluster.output("srun", "-n1", "-w", "n1", "sh", "-c", SHOW, user="daemon").split("\n")
    node, directory, same = shown[0].split(" ")
    assert (node, same) == ("n1", directory)
    assert Path(directory).parent in places.disks
    assert shown[1] == "700 daemon"
    places.wait_gone()


def test_all_steps_of_a_job_have_one_and_each_node_its_own(places: Places) -> None:
    out = places.cluster.work / "places.out"
    steps = f"for step in 1 2; do srun -N2 -n2 sh -c '{SHOW}; touch \"$TMPDIR/$SLURM_STEP_ID\"'; done"
    places.cluster.output("sbatch", "--wait", "-N2", "-n2", f"--output={out}", f"--wrap={steps}; ls $TMPDIR")
    lines = out.read_text().split("\n")
    of_nodes = {line.split(" ")[0]: line.split(" ")[1] for line in lines if line.startswith("n")}
    assert len(of_nodes) == len(set(of_nodes.values())) == 2
    assert lines.count("700 root") == 4
    assert lines[-3:] == ["0", "1", ""], "the script sees what the steps wrote on its node"
    places.wait_gone()


def test_a_stated_size_counts_for_others_while_the_job_runs(places: Places) -> None:
    program = f"{SES} places --ledger {places.ledger} --json"
    listed = places.cluster.output("srun", "-n1", "-w", "n1", "--storage-place=40MiB", "sh", "-c", program)
    (claim,) = json.loads(listed)["claims"]
    assert claim["bytes"] == 40 << 20
    assert claim["job"].isdecimal()
    places.wait_gone()


def test_the_place_is_the_users_who_gets_another_one_when_it_is_full(places: Places) -> None:
    program = f'{SES} place --ledger {places.ledger} --again "$TMPDIR" --json'
    answer = places.cluster.output("srun", "-n1", "-w", "n1", "--storage-place=1MB", "sh", "-c", program)
    second = json.loads(answer)
    assert Path(second["directory"]).parent in places.disks
    (why,) = (row for row in second["why"] if (row["reason"] or "").startswith("it is where claim"))
    assert why["directory"] != str(Path(second["directory"]).parent)
    shutil.rmtree(second["directory"])
    places.wait_gone()


def test_the_claim_is_the_users(places: Places) -> None:
    command = ("srun", "-n1", "-w", "n1", "sh", "-c", "touch $TMPDIR/it; echo $TMPDIR; sleep 1000")
    process = places.cluster.start(*command, user="daemon")
    assert process.stdout
    directory = Path(process.stdout.readline().strip())
    (claim,) = places.claims()
    assert (claim["user"], claim["directory"], directory.owner()) == ("daemon", str(directory), "daemon")
    places.cluster.output("scancel", claim["job"])
    process.wait()
    places.wait_gone()


def test_the_service_gives_the_place_of_a_job_to_its_user(cluster: Cluster) -> None:
    with ExitStack() as undo:
        folder = Path(tempfile.mkdtemp(dir=cluster.work))
        folder.chmod(0o755)
        undo.callback(shutil.rmtree, folder)
        site = Site(folder, 2)
        undo.callback(site.end)
        for directory in site.directories:
            directory.chmod(0o1777)
        command = folder / "ses"
        user = "daemon"
        command.write_text(_COMMAND.format(url=site.url, packages=sysconfig.get_path("purelib")))
        command.chmod(0o755)
        reach = ("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", command, "--version")
        if subprocess.run(reach, check=False).returncode != 0:  # the checkout is root's only
            user = "root"
            command.write_text(f'#!/bin/sh\nSES_SERVICE_URL={site.url} exec {SES} "$@"\n')
        plugins = cluster.work / "plugstack.conf"
        before = plugins.read_text()
        undo.callback(plugins.write_text, before)
        plugins.write_text(f"{before.strip()} place=scratch ses={command}\n")
        program = f'{SHOW}; {command} place --again "$TMPDIR"; sleep 1000'
        job_of = ("srun", "-n1", "-w", "n1", "--storage-place=2GB", "sh", "-c", program)
        process = cluster.start(*job_of, user=user)
        assert process.stdout
        _, first, _ = process.stdout.readline().strip().split(" ")
        assert process.stdout.readline() == f"700 {user}\n"
        second = process.stdout.readline().strip()
        assert {Path(path).parent for path in (first, second)} == set(site.directories)
        (place,) = site.places().values()
        job = place["subject"]["job"]
        assert Path(f"/proc/{place['pid']}/comm").read_text() == "slurmstepd\n", "it ends with the job"
        assert (place["directory"], place["subject"]["user"], place["claimed_bytes"]) == (second, user, 2e9)
        cluster.output("scancel", job)
        process.wait()
        wait_until(lambda: not Path(first).exists(), cluster.logs, SECONDS, every=0.2)


def test_a_job_whose_size_fits_nowhere_runs_and_is_reported(places: Places) -> None:
    done = places.cluster.run("srun", "-n1", "--storage-place=1TB", "sh", "-c", "echo ${SES_PLACE-none}")
    assert done.stdout == "none\n"
    assert "no directory has room for 1TB" in done.stderr
    places.wait_gone()


def test_a_job_that_states_a_size_where_the_site_gives_no_directory_is_reported(cluster: Cluster) -> None:
    done = cluster.run("srun", "-n1", "--storage-place=1MB", "sh", "-c", "echo ${SES_PLACE-none}")
    assert done.stdout == "none\n"
    assert "the site gives none on this node" in done.stderr


def test_who_wants_none_has_none(places: Places) -> None:
    shown = places.cluster.output("srun", "-n1", "--storage-place=off", "sh", "-c", "echo ${SES_PLACE-none}")
    assert shown == "none\n"
    assert places.claims() == []


def test_nonsense_is_reported_where_the_job_is_submitted(places: Places) -> None:
    for wrong in ("much", "-3GB", "3GB free>=1GB", "3GB!"):
        done = places.cluster.run("srun", "-n1", f"--storage-place={wrong}", "true")
        assert done.returncode != 0
        assert "--storage-place is bytes on each node" in done.stderr


def test_a_job_that_is_cancelled_leaves_nothing(places: Places) -> None:
    fill = 'mkdir -p "$TMPDIR/a/b"; chmod 500 "$TMPDIR/a/b"; ln -s / "$TMPDIR/all"; touch $0; sleep 1000'
    started = Path(tempfile.mkdtemp(dir=places.cluster.work / "union"))
    started.chmod(0o1777)
    job = places.cluster.output(
        "sbatch",
        "--parsable",
        "-n1",
        "--output=/dev/null",
        f"--wrap=sh -c '{fill}' {started}/yes",
        user="daemon",
    ).strip()
    wait_until(lambda: (started / "yes").exists(), places.cluster.logs, SECONDS, every=0.2)
    (made,) = [path for disk in places.disks for path in disk.iterdir()]
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert [claim["job"] for claim in places.claims()] == [job]
    places.cluster.output("scancel", job)
    places.wait_gone()
    assert Path("/etc/passwd").exists()
    shutil.rmtree(started)
