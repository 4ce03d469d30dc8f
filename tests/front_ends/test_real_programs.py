"""The examples of docs/front-ends.md, run by the real programs."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from patience import wait_until
from ports import free_port
from real import PROGRAMS, environment, example, nextflow, run

pytestmark = pytest.mark.long
Described = Callable[..., list[Path]]


def claims(folder: Path) -> list[tuple[str, int]]:
    """Return directories and bytes."""
    listed = json.loads(run("ses", "places", "--json", folder=folder))["claims"]
    return [(claim["directory"], claim["bytes"]) for claim in listed]


def test_snakemake_runs_each_job_in_a_place(described: Described, tmp_path: Path) -> None:
    made = described("scratch")
    programs = environment("snakemake==9.27.1")
    (tmp_path / "Snakefile").write_text(
        example("Snakemake", "python")
        + """
rule where:
    output: "where{n}"
    params: place=places.place("scratch")
    resources: disk_mb=lambda wildcards: 10**int(wildcards.n)
    shell: "{params.place} echo $TMPDIR > {output}; ses places --json >> {output}"

rule script:
    output: "script"
    run:
        shell.prefix(places.prefix("scratch", size="5MB"))
        shell("echo $TMPDIR > {output}; ses places --json >> {output}")
"""
    )
    (tmp_path / "a.txt").write_text("b\na\n")
    wanted = ("a.sorted", "where1", "where2", "script")
    run(programs / "snakemake", "--cores", 2, *wanted, folder=tmp_path)
    assert (tmp_path / "a.sorted").read_text() == "a\nb\n"
    for name, claimed in (("where1", 10_000_000), ("where2", 100_000_000), ("script", 5_000_000)):
        place, _, places = (tmp_path / name).read_text().partition("\n")
        assert Path(place).parent in made
        assert (place, claimed) in [
            (claim["directory"], claim["bytes"]) for claim in json.loads(places)["claims"]
        ]
    assert [path for base in made for path in base.iterdir()] == []
    assert claims(tmp_path) == []
    with pytest.raises(AssertionError, match="do not fit"):
        run(programs / "snakemake", "--cores", 2, "where9", folder=tmp_path)


def test_nextflow_runs_each_task_in_a_place(described: Described, tmp_path: Path) -> None:
    made = described("scratch")
    directories = " ".join(map(str, made))
    config = example("Nextflow", "groovy").replace("/scratch1 /scratch2", directories)
    assert directories in config
    (tmp_path / "nextflow.config").write_text(config)
    (tmp_path / "main.nf").write_text(
        """
process where {
    disk { n == 1 ? '2 MB' : n == 2 ? '900 PB' : null }
    input: val n
    output: path 'where.txt'
    script: "pwd > where.txt; ses places --json >> where.txt"
}
workflow { Channel.of(1, 2, 3) | where | collectFile(name: 'all.txt', storeDir: '.') }
"""
    )
    offline = {"NXF_OFFLINE": "true", "NXF_HOME": str(tmp_path / "home"), "NXF_ANSI_LOG": "false"}
    run(*nextflow(), "run", "main.nf", folder=tmp_path, **offline)
    said = (tmp_path / "all.txt").read_text().splitlines()
    ran = [Path(line).parent for line in said if line.startswith("/")]
    assert len([base for base in ran if base in made]) == 2
    assert Path("/tmp") in ran, "where nothing fits"
    assert any('"bytes": 2097152' in line for line in said)
    logs = [log.read_text() for log in tmp_path.glob("work/*/*/.command.log")]
    assert len([text for text in logs if "do not fit" in text]) == 1
    assert [path for base in made for path in base.iterdir()] == []
    assert claims(tmp_path) == []


def test_workers_of_dask_spill_to_a_place_each(described: Described, tmp_path: Path) -> None:
    made = described("scratch")
    programs = environment("dask==2026.8.0", "distributed==2026.8.0")
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = [programs / "dask", "scheduler", "--host", address, "--no-dashboard"]
    command = example("Dask", "sh").replace("100GB", "100MB")
    begin = command.replace("dask worker", f"exec {programs}/dask worker --no-dashboard --nworkers 2")
    asking = (
        "import sys; from distributed import Client\n"
        "client = Client(sys.argv[1]); client.wait_for_workers(2)\n"
        "print(*client.run(lambda dask_worker: dask_worker.local_directory).values(), sep='\\n')"
    )
    logged = (tmp_path / "worker.log").open("w")
    with logged, subprocess.Popen(scheduler, stderr=subprocess.DEVNULL) as serving:
        try:
            given = {**os.environ, "SCHEDULER": address, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
            with subprocess.Popen(["bash", "-c", begin], env=given, stderr=logged) as worker:
                try:
                    spilled = run(programs / "python", "-c", asking, address, folder=tmp_path).split()
                    claimed = claims(tmp_path)
                finally:
                    worker.terminate()
        finally:
            serving.terminate()
    places = {Path(path).parents[1] for path in spilled}
    assert len(places) == 2, (tmp_path / "worker.log").read_text()
    assert all(place.parent in made and place.name.startswith("dask-") for place in places)
    assert sorted(claimed) == sorted((str(place), 100_000_000) for place in places)
    wait_until(lambda: not any(place.exists() for place in places), "the places are removed")
    assert claims(tmp_path) == []
    assert "Failed to remove" not in (tmp_path / "worker.log").read_text(), "a worker ends before its place"


def test_total_perspective_vortex_places_jobs_of_galaxy(described: Described, tmp_path: Path) -> None:
    made = described("scratch", count=4)
    programs = environment("total-perspective-vortex==3.3.0", "galaxy-app==26.1.2")
    rules = example("Galaxy", "yaml")
    for given, path in zip(("/scratch1", "/scratch2", "/data/nfs", "/data/zfs"), made, strict=True):
        assert given in rules
        rules = rules.replace(given, str(path))
    (tmp_path / "tpv.yml").write_text(rules + "destinations:\n  local:\n    runner: local\n")
    (tmp_path / "job_conf.yml").write_text(
        f"""
runners:
  local: {{load: "galaxy.jobs.runners.local:LocalJobRunner"}}
execution:
  default: tpv_dispatcher
  environments:
    tpv_dispatcher:
      runner: dynamic
      type: python
      function: map_tool_to_destination
      rules_module: tpv.rules
      tpv_config_files: [{tmp_path}/tpv.yml]
    local: {{runner: local}}
"""
    )
    asked = ["dry-run", "--job-conf", tmp_path / "job_conf.yml", "--tool", "bwa", "--input-size", "3"]
    said = run(programs / "tpv", *asked, folder=tmp_path)
    destination = yaml.safe_load(said[said.index("\nenv:") :])
    assert destination["params"]["object_store_id"] in ("nfs", "zfs")
    (line,) = (entry["execute"] for entry in destination["env"])
    assert "--size 6000000000B" in line
    ((store, claimed),) = claims(tmp_path)
    assert (Path(store) in made[2:], claimed) == (True, 3_000_000_000)
    place = Path(run("bash", "-c", f"{line} echo $TMPDIR", folder=tmp_path).strip())
    assert place.parent in made[:2]
    assert not place.exists()


def test_checkpoints_of_pytorch_are_written_and_found_again(described: Described, tmp_path: Path) -> None:
    described("scratch")
    programs = environment("torch==2.15.0", "fsspec==2026.9.0")
    save, load = example("PyTorch", "python").split("dcp.load(")
    (tmp_path / "ranks.py").write_text(
        f"""
import torch, torch.distributed
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
state = {{f"weights{{rank}}": torch.full((1000,), float(rank))}}
{save}
state = {{f"weights{{rank}}": torch.zeros(1000)}}
dcp.load({load}
assert state[f"weights{{rank}}"].eq(rank).all()
"""
    )
    ranks = [programs / "torchrun", "--nproc-per-node", 3, "--master-port", free_port(), "ranks.py"]
    run(*ranks, folder=tmp_path)
    written = sorted(path.name for path in (tmp_path / "scratch").rglob("*") if path.is_file())
    assert written == [".metadata", *(f"__{rank}_0.distcp" for rank in range(3))]
