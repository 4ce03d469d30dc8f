"""Mounts of a real NFS server: what they give is seen, and one that hangs is left out."""

from pathlib import Path

import pytest
from ses.demo.interrupts import Interrupts
from ses.place.directories import PATIENCE
from ses_experiment import user_mode

PROGRAM = Path(__file__).with_name("nfs_program.py")
GIVES = (6e6, 3e6, 2e6)  # bytes per second of the directories in the program
pytestmark = pytest.mark.skipif(not Path("/usr/bin/linux.uml").exists(), reason="needs user-mode-linux")


def test_mounts_of_nfs_are_chosen_by_what_they_give_and_a_server_that_is_away_costs_only_its_own() -> None:
    with Interrupts() as interrupts:
        said = user_mode.run([str(PROGRAM)], {}, interrupts, 240, memory=1)
    disk, far, farther = said["among"]
    assert {row["directory"] for row in said["first"]} == {disk, far, farther}
    seen = {row["directory"]: row for row in said["learned"]["why"]}
    for name, gives in zip(said["among"], GIVES, strict=True):
        assert seen[name]["reason"] is None
        assert seen[name]["free"] > 5e9
        assert seen[name]["moved"] is not None
        assert gives / 3 < seen[name]["rate"] < gives * 3, "an emulated, busy machine: no more than the order"
    assert f"Other machines may have {far}" in said["shared"]
    left = {row["directory"]: row["reason"] for row in said["without"]["why"]}
    assert left == {disk: None, far: f"it did not answer within {PATIENCE:g} s", farther: None}
    assert said["without"]["directory"] in (disk, farther)
    assert said["without"]["seconds"] < 10 * PATIENCE
