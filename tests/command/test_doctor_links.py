"""Links of ``ses doctor``, each looked at alone."""

import socket
import subprocess
from types import SimpleNamespace

import pytest
from fake_agent_socket import UNAVAILABLE, answer, listening
from fake_selection_service import element
from ses.doctor.agent import check_answers
from ses.doctor.finding import State
from ses.doctor.service import check_exclusions, check_node_names
from ses.doctor.shared_memory import check_segments
from ses.union.hidden import hidden
from ses_client.messages.elements import Element
from ses_client.messages.nodes import ExcludedElement, HeardNode, HeardNodes


def test_who_holds_all_segments_is_named_with_what_to_do(tmp_path):
    listed, limit = tmp_path / "shm", tmp_path / "shmmni"
    row = "0 {} 1600 4096 1 1 0 {} 0 0 0 0 0 0 4096 0\n"
    limit.write_text("100\n")
    listed.write_text("key\n" + "".join(row.format(number, 65534 if number else 0) for number in range(84)))
    assert not [*check_segments(listed, limit)]
    with listed.open("a") as file:
        file.write(row.format(84, 12345))
    (finding,) = check_segments(listed, limit)
    assert "85 of 100 segments are in use, 83 of them by nobody" in finding.detail
    assert "sysctl kernel.shmmni=200" in finding.mend
    assert not [*check_segments(tmp_path / "none", limit)]


def test_what_hides_a_branch_from_the_monitor_is_named_with_what_to_do(tmp_path):
    ((cause, step),) = hidden(["/home/b1"])
    assert cause.startswith("/home/b1 lies below /home, which ProtectHome=yes hides")
    assert "ProtectHome=read-only" in step
    shut = tmp_path / "shut"
    shut.mkdir(0o700)
    assert any(cause.startswith(f"{shut} lets not everybody in") for cause, _ in hidden([f"{shut}/b1"]))
    shut.chmod(0o711)
    assert not any(cause.startswith(f"{shut} ") for cause, _ in hidden([f"{shut}/b1"]))


def test_an_element_that_is_left_out_for_a_user_here_is_named_with_the_reason():
    here, why = f"{socket.gethostname()}.example.org", "No space left on device"
    said = [
        ExcludedElement(node=node, element="u/b1", why=why, user=user)
        for node in (here, "other")
        for user in ("al", None)
    ]
    (finding,) = check_exclusions([SimpleNamespace(id="u/b1", excluded=said)])
    assert finding.detail == f"u/b1 is excluded on {here} for al: {why}."


def test_a_machine_that_is_known_by_two_names_is_named():
    names = ("n1", "n1.hpc.example.org", "n2.hpc.example.org")
    heard = HeardNodes(
        nodes=tuple(
            HeardNode(node=name, since=1.0, heard_at=2.0, version="0.1.0", open_placements=0)
            for name in names
        )
    )
    (finding,) = check_node_names(SimpleNamespace(nodes=lambda: heard))
    assert "knows n1 and n1.hpc.example.org: if that is one machine" in finding.detail
    assert "ses-agent --node" in finding.mend


@pytest.mark.root
def test_a_trial_by_another_mount_of_the_union_names_that_to_use(ses, union, tmp_path):
    (union[0] / "home").mkdir()
    (bound := tmp_path / "home").mkdir()
    subprocess.run(["mount", "--bind", union[0] / "home", bound], check=True)
    try:
        checks = ses.json("doctor", "--library", "/nonexistent", "--try", str(bound), code=1)["checks"]
    finally:
        subprocess.run(["umount", "-l", bound], check=True)
    assert f"{bound} is another mount of the union at {union[0]}" in checks[-1]["detail"]


@pytest.mark.parametrize(("other", "state"), [("read-only", State.WARNING), ("active", State.FAULT)])
def test_a_union_that_takes_no_files_on_purpose_is_no_fault(tmp_path, other, state):
    """As the slow pool of a union with a cache: all its branches are NC."""
    path = tmp_path / "agent.sock"
    members = [
        Element.of(element(name, "/", f"/{name}", None) | {"state": stated})
        for name, stated in (("b1", "draining"), ("b2", other))
    ]
    with listening(path, answer(UNAVAILABLE)):
        (found,) = check_answers(path, members)
    assert found.state is state
    assert state is State.FAULT or "all are draining or read-only" in found.detail
