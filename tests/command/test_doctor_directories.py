"""``ses doctor`` looks at the directories of sets on this machine."""

from pathlib import Path

from fake_selection_service import element
from mounts import served, stopped
from ses.doctor.directories import check_directories
from ses.doctor.finding import Finding, State
from ses_client.messages.elements import Element
from ses_client.mounts import file_system_at


def examined(path: Path, file_system: str | None = None) -> Finding:
    described = {"id": "scratch/d", "backend": "directories", "mount_point": "", "file_system": file_system}
    (finding,) = check_directories([Element.of(element("d", "", str(path), None) | described)])
    assert finding.state is State.OK or finding.mend
    return finding


def test_directories_that_are_away_hang_or_are_others_than_described(tmp_path: Path) -> None:
    (fine := tmp_path / "fine").mkdir()
    assert examined(fine, file_system_at(fine)).detail == "all 1 are there and answer"
    assert "is not the file system that was described" in examined(fine, "ext4 01").detail
    assert "gone: it cannot be looked at: No such file" in examined(tmp_path / "gone").detail
    with served(tmp_path / "hung", tmp_path / "branch") as server, stopped(server):
        assert "hung: it did not answer within 2 s" in examined(tmp_path / "hung").detail


def test_what_the_monitor_never_saw_is_to_be_among_the_paths_of_a_target(ses, service) -> None:
    service.elements = [
        element("d", "", "/proc", None) | {"backend": "directories", "id": "scratch/d", "mount_point": ""}
    ]
    said = ses("doctor", "--library", "/nonexistent").output
    assert "whose collector is directories" in " ".join(said.split())


def test_a_site_without_sets_is_not_asked_for_them() -> None:
    assert check_directories([Element.of(element("b1", "/srv/union", "/b1", None))]) == []
