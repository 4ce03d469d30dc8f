"""A union, or a disk of one, that hangs or whose mergerfs has died is named, and holds up no command."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_agent_socket import UNAVAILABLE, answer, listening
from fake_selection_service import SelectionServiceDouble, element, storage_system
from mounts import served, stopped
from ran import ran

pytestmark = pytest.mark.root

Run = Callable[..., Any]


@pytest.fixture
def hung(tmp_path: Path, ses: Any) -> Iterator[tuple[Path, Run]]:
    """A union, and how to run ``ses`` while it hangs: it returns JSON, or what it said."""
    fstab = f"pathlib.Path({str(tmp_path / 'fstab')!r})"
    start = (
        "import pathlib, ses.cli, ses.doctor.mounts, ses.union.unmounted; "
        f"ses.doctor.mounts._LIMIT_SECONDS = 1; ses.union.unmounted._FSTAB = {fstab}; ses.cli.main()"
    )
    with served(tmp_path / "hung", tmp_path / "disk") as server:

        def run(*words: str | Path, code: int = 0) -> Any:
            command = [sys.executable, "-c", start, *map(str, words), "--json"]
            with stopped(server):
                done = ran(command, code=code, env={**os.environ, **ses.env}, timeout=90)
            return json.loads(done.stdout) if done.stdout else done.stderr

        yield tmp_path / "hung", run


def described(service: SelectionServiceDouble, mount: Path, *branches: Path) -> None:
    service.elements += [element(branch.name, str(mount), str(branch), None) for branch in branches]


def about_unions(checks: list[dict[str, str]]) -> str:
    return " ".join(check["detail"] for check in checks if check["link"] == "union mount")


DOCTOR = ("doctor", "--library", "/nonexistent")


def test_doctor_names_a_union_that_hangs(
    hung: tuple[Path, Run], service: SelectionServiceDouble, tmp_path: Path
) -> None:
    mount, run = hung
    described(service, mount, tmp_path / "disk")
    with listening(tmp_path / "agent.sock", answer(UNAVAILABLE)):
        checks = run(*DOCTOR, "--socket", tmp_path / "agent.sock", code=1)["checks"]
    assert f"{mount}: it did not answer within" in about_unions(checks)


def test_doctor_names_the_disk_of_a_union_that_hangs(
    hung: tuple[Path, Run], service: SelectionServiceDouble, union: tuple[Path, list[Path]]
) -> None:
    (disk, run), (mount, (sound, _)) = hung, union
    described(service, mount, sound, disk)
    os.setxattr(mount / ".mergerfs", "user.mergerfs.branches", f"{sound}:{disk}".encode())
    said = about_unions(run(*DOCTOR, code=1)["checks"])
    assert f"{disk}: it did not answer within" in said
    assert str(sound) not in said


def test_doctor_names_a_union_whose_mergerfs_has_died(
    ses: Any, service: SelectionServiceDouble, tmp_path: Path
) -> None:
    mount, agent = tmp_path / "dead", tmp_path / "agent.sock"
    with served(mount, tmp_path / "disk") as server, listening(agent, answer(UNAVAILABLE)):
        server.kill()
        server.wait()
        described(service, mount, tmp_path / "disk")
        said = about_unions(ses.json(*DOCTOR, "--socket", str(agent), code=1)["checks"])
    assert "its mergerfs has ended; unmount it (umount -l) and mount it again" in said


def test_elements_are_listed_beside_a_union_that_hangs(
    hung: tuple[Path, Run], service: SelectionServiceDouble, tmp_path: Path
) -> None:
    mount, run = hung
    described(service, mount, tmp_path / "disk")
    assert [listed["held_back"] for listed in run("elements", "list")["elements"]] == [None]


def test_a_disk_that_hangs_is_named_before_a_union_is_described(
    hung: tuple[Path, Run], union: tuple[Path, list[Path]]
) -> None:
    (disk, run), (mount, (sound, _)) = hung, union
    os.setxattr(mount / ".mergerfs", "user.mergerfs.branches", f"{sound}:{disk}".encode())
    assert f"{disk} did not answer within" in run("discover", "--mergerfs", mount, code=1)


def test_a_union_is_described_beside_a_mount_that_hangs(
    hung: tuple[Path, Run], union: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    mount, run = hung
    (tmp_path / "fstab").write_text(f"nas:/x {mount} nfs defaults 0 0\n")
    described = run("discover", "--mergerfs", union[0], "--turtle", tmp_path / "found.ttl")
    assert len(described["branches"]) == 2


def test_a_union_is_steered_beside_one_that_hangs(
    hung: tuple[Path, Run], service: SelectionServiceDouble, union: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    mount, run = hung
    described(service, mount, tmp_path / "disk")
    described(service, union[0], *union[1])
    assert "would_hold_back" in run("apply", union[0])


def test_a_file_elsewhere_is_explained_beside_a_union_that_hangs(
    hung: tuple[Path, Run], service: SelectionServiceDouble, tmp_path: Path
) -> None:
    mount, run = hung
    service.storage_systems = [storage_system(str(mount))]
    (tmp_path / "file").touch()
    assert "is outside managed storage" in run("explain", tmp_path / "file", code=5)
