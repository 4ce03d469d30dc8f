"""ses-copy to and from a real NFS server."""

from pathlib import Path

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment import user_mode

PROGRAM = Path(__file__).with_name("nfs_program.py")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/usr/bin/linux.uml").exists(), reason="needs user-mode-linux"),
]


def test_a_full_server_gives_no_copy_and_a_lost_list_lets_nobody_more_in(built: Path) -> None:
    with Interrupts() as interrupts:
        seen = user_mode.run([str(PROGRAM)], {"program": str(built / "ses-copy")}, interrupts, 240, memory=1)
    status, said = seen["full"]
    assert status == 1
    assert "No space left on device" in said
    assert seen["left"] == []
    assert seen["copied"]["plain"] == [0, ""], "its list is its mode"
    status, said = seen["copied"]["listed"]
    assert (status, "not kept: attribute system.nfs4_acl" in said) == (0, True)
    assert seen["modes"] == {"plain": 0o604, "listed": 0o604, "kept out": 0o600}
