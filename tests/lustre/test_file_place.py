"""The agent knows on which OST of Lustre a file lies that programs read, by the one reader of layouts."""

import os
from pathlib import Path

import lov_blobs as lov
import pytest
from agent_sources import link
from lov_blobs import Part
from lustre_mount import DELAY, LOV, LustreMount
from ran import ran

END = 2**64 - 1
LAST = lov.plain(count=1)


@pytest.fixture(scope="session")
def targets_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("targets") / "targets"
    return link(program, Path(__file__).parent / "probes/targets.cpp")


@pytest.mark.parametrize(
    ("layout", "targets"),
    [
        (lov.plain(count=1), 1),
        (lov.plain(count=2, pool="slow"), 2),
        (lov.composite([Part(lov.plain(pattern=lov.MDT), 0, 2**20), Part(LAST, 2**20, END)]), 0),
        (lov.composite([Part(LAST, 0, 2**20), Part(lov.plain(pool="slow", count=1), 2**20, END)]), 1),
    ],
    ids=["plain", "pool", "on-mdt", "components"],
)
def test_targets_are_the_first_ost_and_its_pool(
    layout: bytes, targets: int, lustre: LustreMount, targets_probe: Path
) -> None:
    file = lustre.path / "file"
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | DELAY)
    os.setxattr(fd, LOV, layout)
    os.write(fd, b"x")
    os.close(fd)
    objects = lov.osts_of(os.getxattr(file, LOV))
    printed = ran([targets_probe, file]).stdout.split()
    assert printed == [*map(str, objects[:1]), "slow"][:targets]


def test_a_file_that_is_not_on_lustre_has_no_targets(tmp_path: Path, targets_probe: Path) -> None:
    (tmp_path / "file").touch()
    assert ran([targets_probe, tmp_path / "file"]).stdout == ""
