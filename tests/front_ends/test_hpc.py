"""Containers and MPI programs work in the place they are given; the page's examples are run as they are."""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from apptainer import apptainer
from ran import ran
from real import example
from ses.front_ends import romio

ROOT = Path(__file__).parents[2]
MPI = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "io", "romio321"],
}


def run(section: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder of its own, with two directories there in the place of those of the page."""
    text = example(section, "sh")
    for name in ("scratch1", "scratch2"):
        (tmp_path / name).mkdir()
        text = text.replace(f"/{name}", f"{tmp_path / name}")
    programs = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return ran(
        ["bash", "-eu", "-c", f"{text}ses places"],
        code=None,
        env={**os.environ, "PATH": programs, **env},
        cwd=tmp_path,
    )


def program(tmp_path: Path, name: str, *command: str) -> None:
    """Have a command called by a name."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    (tmp_path / "bin" / name).chmod(0o755)


@pytest.mark.parametrize("mpi", MPI)
def test_one_process_writes_for_all_ranks(tmp_path: Path, mpi: str) -> None:
    compiling = [f"mpicc.{mpi}", ROOT / "tests/front_ends/simulation.c", "-o", tmp_path / "simulation"]
    subprocess.run(compiling, check=True)
    program(tmp_path, "mpiexec", *MPI[mpi])
    done = run("ROMIO", tmp_path, ROMIO_PRINT_HINTS="1")
    assert done.returncode == 0, done.stderr
    used = dict(re.findall(r"^key = (\S+) +value = (.*?) *$", done.stdout, re.MULTILINE))
    assert (used["cb_nodes"], used["romio_cb_write"], used["cb_config_list"]) == ("1", "enable", "*:1")
    (written,) = tmp_path.glob("scratch?/run-*/out")
    assert written.read_bytes() == struct.pack("ii", 0, 1)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The root of a container: one static program."""
    root = tmp_path / "image"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for name in ("sh", "date"):
        (root / "bin" / name).symlink_to("busybox")
    for name in ("scratch", "proc", "sys", "dev", "tmp", "etc"):
        (root / name).mkdir()
    return root


def check_result(done: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    """One of the directories has what the container wrote, and was claimed meanwhile."""
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("scratch?/run-*/result")
    assert written.stat().st_size > 0
    assert "ends" in done.stdout


@pytest.mark.long
@pytest.mark.root
def test_what_apptainers_container_writes_is_in_the_place(tmp_path: Path, image: Path) -> None:
    (tmp_path / "bin").mkdir()
    apptainer(tmp_path / "bin/real", [tmp_path])
    (tmp_path / "bin/apptainer").write_text('#!/bin/sh\nshift\nexec real exec --no-privs "$@"\n')
    (tmp_path / "bin/apptainer").chmod(0o755)
    check_result(run("Apptainer", tmp_path, IMAGE=str(image)), tmp_path)


@pytest.mark.root
def test_what_a_container_writes_is_in_the_place(tmp_path: Path, image: Path) -> None:
    bounds = "--network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024"  # where root has few rights
    command = "podman --runtime runc --cgroup-manager cgroupfs run --rootfs"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/podman").write_text(f'#!/bin/sh\nshift\nexec /usr/bin/{command} {bounds} "$@"\n')
    (tmp_path / "bin/podman").chmod(0o755)
    check_result(run("Containers", tmp_path, IMAGE=str(image)), tmp_path)


@pytest.mark.parametrize("components", [None, [{"stripe_count": 4, "stripe_size_bytes": 3 << 20}]])
def test_as_many_processes_write_as_a_file_has_stripes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, components: list[dict[str, int]] | None
) -> None:
    monkeypatch.setattr(romio, "layout_of", lambda _: {"components": components})
    chosen = romio.hints(tmp_path)
    assert chosen["cb_nodes"] == ("4" if components else "1")
    assert chosen.get("cb_buffer_size") == (str(18 << 20) if components else None)
    assert not any(name.startswith("striping") for name in chosen)


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ses.front_ends.romio", tmp_path / "none"]
    done = ran(command, code=1)
    assert done.stderr == f"There is no directory {tmp_path}/none.\n"
