"""``ses explain FILE``: the record of the service beside where the bytes are."""

import pytest
from selection_service_double import candidate, requirement
from ses.commands import explain as command


@pytest.fixture
def file(tmp_path, service):
    path = tmp_path / "data.bin"
    path.write_text("x")
    service.placements = [
        {
            "placement_id": "00000000000000aa", "state": "ended", "end_reason": "closed",
            "subject": {"user": "alice", "application": "dd", "vo": None, "node": None, "job": None},
            "element": "union/b3", "storage_system": "union", "target": str(tmp_path / "b3"),
            "path": str(path),
            "distance": 0.125, "booked_at": 1.0, "opened_at": 1.0, "ended_at": 2.0, "bytes_written": 1,
            "lease_until": None,
            "predicted": [{"kind": "current-write-rate", "value": 60.0, "unit": "MB/s", "minimum": 50.0,
                           "shortfall": 0.0}],
            "requirements": [requirement("current-write-rate", 50.0, "MB/s", level="application",
                                         level_name="alice:dd")],
            "candidates": [candidate(1, "b3", 0.125, 60.0, 50.0), candidate(2, "b1", 0.4, 30.0, 50.0)],
            "refused": [{"element": "union/b2", "reason": "no-space", "detail": "2 MB are free."}],
        }
    ]  # fmt: skip
    return path


def lies_in(monkeypatch, where):
    monkeypatch.setattr(command, "basepath", lambda _: None if where is None else str(where))


def test_says_chosen_distance_predicted_refused_and_the_level(ses, file, tmp_path, monkeypatch):
    lies_in(monkeypatch, tmp_path / "b3")
    result = ses("explain", str(file))
    assert result.exit_code == 0, result.output
    for said in ("alice:dd", "union/b3, distance 0.125", "current-write-rate 60 MB/s", "ended (closed)",
                 "(application alice:dd)", "2 MB are free.", "needs 50.0", "as chosen"):  # fmt: skip
        assert said in result.output


def test_bytes_elsewhere_than_chosen_are_a_failure(ses, file, tmp_path, monkeypatch):
    lies_in(monkeypatch, tmp_path / "b7")
    assert "NOT as chosen" in ses("explain", str(file)).output
    assert ses.json("explain", str(file), code=1)["verified"] is False


def test_a_file_reached_by_a_link_is_found_by_its_real_name(ses, file, tmp_path, monkeypatch):
    lies_in(monkeypatch, tmp_path / "b3")
    link = tmp_path / "link"
    link.symlink_to(file)
    data = ses.json("explain", str(link))
    assert data["file"] == str(file)
    assert data["verified"] is True
    assert data["placement"]["placement_id"] == "00000000000000aa"


def test_a_file_that_is_gone_is_explained_all_the_same(ses, file):
    file.unlink()
    result = ses("explain", str(file))
    assert result.exit_code == 0
    assert "the file is gone" in result.output


def test_off_a_union_nothing_is_verified(ses, file):
    data = ses.json("explain", str(file))
    assert data["basepath"] is None
    assert data["verified"] is None


def test_a_file_nobody_placed_is_not_found_and_says_where_its_bytes_are(
    ses, service, file, tmp_path, monkeypatch
):
    service.placements = []
    lies_in(monkeypatch, tmp_path / "b5")
    result = ses("explain", str(file))
    assert result.exit_code == 5
    assert "not created under the library" in result.output
    assert str(tmp_path / "b5") in result.output


def test_a_file_that_never_was_is_not_found(ses, tmp_path):
    result = ses("explain", str(tmp_path / "nothing"))
    assert result.exit_code == 5
    assert "There is no file" in result.output
