"""The line of shell gives what follows it a place, and takes it away."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mounts import served, stopped
from ran import ran
from ses.front_ends import galaxy, shell, snakemake

Described = Callable[..., list[Path]]


def bash(text: str) -> subprocess.CompletedProcess[str]:
    paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", text]
    environment = {**os.environ, "PATH": paths}
    return ran(command, code=None, env=environment)


def test_what_follows_has_a_place_that_ends_with_it(described: Described) -> None:
    made = described("scratch")
    ran = bash(
        shell.place("scratch", "run", size="1MB") + 'ls -d "$TMPDIR"; ses places --json; touch "$SES_PLACE/a"'
    )
    assert ran.returncode == 0, ran.stderr
    named, _, places = ran.stdout.partition("\n")
    place = Path(named)
    assert place.parent in made
    assert place.name.startswith("run-")
    assert [claim["directory"] for claim in json.loads(places)["claims"]] == [named]
    assert not place.exists()
    assert json.loads(bash("ses places --json").stdout)["claims"] == []


def test_a_shell_for_which_nothing_fits_ends_with_the_reasons(described: Described) -> None:
    described("scratch")
    ran = bash(shell.place("scratch", "run", size="900PB") + "echo went on")
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "do not fit" in ran.stderr


@pytest.mark.parametrize("disk", [None, 30, "<TBD>"])
def test_a_rule_of_snakemake_has_room_for_what_it_states(described: Described, disk: object) -> None:
    described("scratch")
    text = snakemake.place("scratch", need=["write>=1MB/s"])(None, {"disk_mb": disk})
    assert ("--size 30MB" in text) == (disk == 30)
    assert "--need 'write>=1MB/s'" in text
    assert "{" not in text, "it is formatted"


def test_results_of_a_job_of_galaxy_go_where_they_fit(tmp_path: Path) -> None:
    stores = {name: str(tmp_path / name) for name in ("nfs", "zfs")}
    entity: Any = SimpleNamespace(params={"a": "b"}, env=None)
    for _ in range(2):
        for store in stores.values():
            Path(store).mkdir(exist_ok=True)
        galaxy.object_store(entity, stores, size=1e6, lasting="8h", ledger=str(tmp_path / "ledger"))
        assert entity.params["a"] == "b"
        assert entity.params["object_store_id"] in stores
    assert (tmp_path / "ledger").exists()


@pytest.mark.root
def test_a_store_of_galaxy_whose_mount_hangs_is_passed_over(tmp_path: Path) -> None:
    stores = {name: str(tmp_path / name) for name in ("nfs", "zfs")}
    (tmp_path / "zfs").mkdir()
    entity: Any = SimpleNamespace(params=None, env=None)
    with served(tmp_path / "nfs", tmp_path / "below") as server, stopped(server):
        galaxy.object_store(entity, stores, ledger=str(tmp_path / "ledger"))
    assert entity.params == {"object_store_id": "zfs"}
