"""A union is not described while the disk of one of its branches is not mounted."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.root


@pytest.fixture
def fstab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "fstab"
    path.write_text("# disks\nUUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw 0 0\nbroken\n")
    monkeypatch.setattr("ses.union.unmounted._FSTAB", path)
    return path


@pytest.mark.parametrize("below", ["", "/.."], ids=["itself", "a-parent"])
def test_nothing_is_described_before_the_disk_is_there(
    ses, union: tuple[Path, list[Path]], fstab: Path, tmp_path: Path, below: str
) -> None:
    mount, branches = union
    point = Path(f"{branches[1]}{below}").resolve()
    file, directory = tmp_path / "found.ttl", tmp_path / "etc"
    init = ("init", str(directory), "--storage", str(mount), "--host", "store1", "--node", "n1")
    discover = ("discover", "--mergerfs", str(mount), "--turtle", str(file))
    with fstab.open("a") as more:
        more.write(f"UUID=3 {str(point).replace('b', chr(92) + '142')} xfs noauto 0 0\n")
    for command in (init, discover):
        refused = ses(*command, code=1)
        assert f"{point} is not mounted" in " ".join(refused.output.split())
        assert f"mount {point}" in refused.output
    assert not file.exists()
    assert not directory.exists()
    assert ses("discover", "--mergerfs", str(mount)).exit_code == 0, "what is there can be looked at"
    subprocess.run(["mount", "--rbind", point, point], check=True)
    try:
        assert ses(*discover).exit_code == 0
    finally:
        subprocess.run(["umount", "-l", point], check=True)


def test_a_disk_below_a_mount_point_that_is_not_in_use_is_one(
    ses, union: tuple[Path, list[Path]], fstab: Path, tmp_path: Path
) -> None:
    mount, branches = union
    with fstab.open("a") as more:
        more.write(f"UUID=3 {branches[1].parent} xfs noauto 0 0\nUUID=4 {branches[1]} xfs defaults 0 0\n")
    for branch in branches:
        subprocess.run(["mount", "-t", "tmpfs", "none", branch], check=True)
    try:
        done = ses("discover", "--mergerfs", str(mount), "--turtle", str(tmp_path / "found.ttl"))
    finally:
        for branch in branches:
            subprocess.run(["umount", "-l", branch], check=True)
    assert done.exit_code == 0, done.output


def test_a_branch_on_the_root_among_disks_gets_a_warning(ses, union: tuple[Path, list[Path]]) -> None:
    mount, branches = union
    result = ses("discover", "--mergerfs", str(mount))
    assert "Warning" not in result.output, "all are"
    subprocess.run(["mount", "-t", "tmpfs", "none", branches[0]], check=True)
    try:
        result = ses("discover", "--mergerfs", str(mount))
    finally:
        subprocess.run(["umount", "-l", branches[0]], check=True)
    on_root = branches[1].stat().st_dev == Path("/").stat().st_dev
    assert (f"Warning: {branches[1]} is on the file system of /" in result.output) == on_root
