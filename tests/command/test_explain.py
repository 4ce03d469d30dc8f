"""``ses explain FILE``: the record of the service beside where the bytes are."""

import os
import time
from dataclasses import replace

import pytest
from fake_selection_service import candidate, requirement, storage_system
from ran import ran
from ses.commands import explain as command
from ses.evidence import CLOCKS_SECONDS
from ses.identity import identify


@pytest.fixture
def file(tmp_path, service):
    path = tmp_path / "data.bin"
    path.write_text("x")
    made = path.stat().st_ctime
    service.placements = [
        {
            "placement_id": "00000000000000aa", "state": "ended", "end_reason": "closed",
            "subject": {"user": "alice", "application": "dd", "vo": None, "node": None, "job": None},
            "element": "union/b3", "storage_system": "union", "target": str(tmp_path / "b3"),
            "path": str(path), "device": None, "inode": None,
            "distance": 0.125, "placed_at": made - 0.5, "opened_at": made + 0.5, "ended_at": made + 1.0,
            "bytes_written": 1,
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
    result = ses("explain", str(file), code=0)
    for said in ("alice:dd", "union/b3, distance 0.125", "current-write-rate 60.0 MB/s", "ended (closed)",
                 "(application alice:dd)", "2 MB are free.", "needs 50.0", "as chosen"):  # fmt: skip
        assert said in result.output


def test_says_what_an_open_file_gets_from_now_on(ses, file, service, tmp_path, monkeypatch):
    lies_in(monkeypatch, tmp_path / "b3")
    (record,) = service.placements
    record["state"], record["end_reason"], record["ended_at"] = "open", None, None
    record["predicted_now"] = [{**record["predicted"][0], "value": 30.0, "shortfall": 0.4}]
    said = ses("explain", str(file)).output
    assert "predicted    current-write-rate 60.0 MB/s" in said
    assert "from now on  current-write-rate 30.0 MB/s, with what came and went since" in said
    record["predicted_now"] = record["predicted"]
    assert "from now on" not in ses("explain", str(file)).output


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
    result = ses("explain", str(file), code=0)
    assert "the file is gone" in result.output


def test_off_a_union_nothing_is_verified(ses, file):
    data = ses.json("explain", str(file))
    assert data["basepath"] is None
    assert data["verified"] is None


def test_a_file_nobody_placed_is_not_found_and_says_where_its_bytes_are(
    ses, service, file, tmp_path, monkeypatch
):
    service.placements = []
    service.storage_systems = [storage_system(str(tmp_path))]
    monkeypatch.setattr(command, "_ANNOUNCED_SECONDS", 0.0)
    lies_in(monkeypatch, tmp_path / "b5")
    result = ses("explain", str(file), code=5)
    assert "not created under the library" in result.output
    assert "SES_LOG" in result.output
    assert "outside" not in result.output
    assert str(tmp_path / "b5") in result.output


def test_a_directory_is_reported_as_that(ses, service, file, tmp_path):
    service.storage_systems = [storage_system(str(tmp_path))]
    result = ses("explain", str(tmp_path), code=5)
    assert "is a directory" in result.output
    assert "library" not in result.output


def test_a_file_just_made_is_waited_for_until_its_node_tells_of_it(ses, service, file, tmp_path, monkeypatch):
    service.storage_systems = [storage_system(str(tmp_path))]
    placements, service.placements = service.placements, []
    placements[0].update(placed_at=999_999_999.9, opened_at=1_000_000_000.1)
    lies_in(monkeypatch, tmp_path / "b3")
    young(monkeypatch)
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            service.placements = placements

    monkeypatch.setattr(command, "sleep", wait)
    assert "union/b3, distance 0.125" in ses("explain", str(file)).output
    assert len(waits) == 3


def test_a_file_just_made_with_the_number_of_one_just_removed_is_not_taken_for_it(
    ses, service, placed, file, monkeypatch
):
    (own,) = service.placements
    young(monkeypatch)
    own.update(placed_at=999_999_999.9, opened_at=1_000_000_000.1)
    removed = {**own, "placement_id": "00000000000000bb", "placed_at": 999_999_999.6,
               "opened_at": 999_999_999.8, "ended_at": 999_999_999.9}  # fmt: skip
    service.placements = [removed]
    monkeypatch.setattr(command, "sleep", lambda _: service.placements.insert(0, own))
    explained = ses.json("explain", str(file))
    assert (explained["placement"]["placement_id"], explained["doubt"]) == ("00000000000000aa", None)


def test_the_wait_for_a_file_nobody_tells_of_has_an_end(ses, service, file, tmp_path, monkeypatch):
    service.storage_systems = [storage_system(str(tmp_path))]
    service.placements = []
    clock = young(monkeypatch)

    def wait(seconds):
        clock[0] += seconds

    monkeypatch.setattr(command, "sleep", wait)
    assert ses("explain", str(file)).exit_code == 5
    assert clock[0] - 1_000_000_000.0 == pytest.approx(2.0, abs=0.2)


def young(monkeypatch):
    """Born a tenth of a second ago, by a clock the test moves."""
    real = identify
    clock = [1_000_000_000.1]
    monkeypatch.setattr(command, "identify", lambda path: replace(real(path), born=1_000_000_000.0))
    monkeypatch.setattr(command, "time", lambda: clock[0])
    return clock


def test_notes_of_the_decision_are_shown(ses, service, file):
    service.placements[0]["notes"] = ["The node was offline; the last answer of the service was 9.0 s old."]
    assert "note         The node was offline" in ses("explain", str(file)).output


def test_ranks_shared_with_other_files_are_reported_as_that(ses, service, file):
    service.placements[0].update(batch_number=3, batch_size=12, rank=2)
    text = ses("explain", str(file)).output
    assert "number 3 of 12 files chosen from one state of the node's table" in text
    assert "where union/b3 was number 2" in text


def test_a_prediction_has_as_many_digits_as_in_the_table(ses, service, file):
    service.placements[0]["predicted"][0]["value"] = 89.730808
    assert "current-write-rate 89.7 MB/s" in ses("explain", str(file)).output


def test_a_file_outside_managed_storage_is_reported_as_that(ses, service, file):
    service.placements = []
    service.storage_systems = [storage_system("/sys")]
    result = ses("explain", str(file), code=5)
    assert f"{file} is outside managed storage" in result.output
    assert "Files are placed on: /sys (union)." in result.output
    service.storage_systems = []
    assert "none, the site describes no storage system" in ses("explain", str(file)).output


def test_a_mount_point_may_be_described_by_a_link_to_it(ses, service, file, tmp_path):
    service.placements = []
    (link := tmp_path / "scratch").symlink_to(file.parent)
    service.storage_systems = [storage_system(str(link))]
    assert "is outside managed storage" not in ses("explain", str(file), code=5).output


def test_a_file_that_never_was_is_not_found(ses, tmp_path):
    result = ses("explain", str(tmp_path / "nothing"), code=5)
    assert "There is no file" in result.output


@pytest.fixture
def placed(file, service, tmp_path, monkeypatch):
    """The file was placed under a temporary name, born between placement and opening, and renamed."""
    status = file.stat()
    born = status.st_ctime
    service.placements[0].update(path=str(tmp_path / ".data.bin.Xy12"), device=status.st_dev,
                                 inode=str(status.st_ino), placed_at=born - 0.5, opened_at=born + 0.5,
                                 ended_at=born + 0.6)  # fmt: skip
    lies_in(monkeypatch, tmp_path / "b3")
    monkeypatch.setattr(command, "time", lambda: time.time() + 10)  # its node has told of it

    def born_at(moment):
        real = identify
        monkeypatch.setattr(command, "identify", lambda path: replace(real(path), born=moment))

    born_at(born)
    return born, born_at


def test_a_renamed_file_is_found_by_its_inode(ses, file, placed, tmp_path):
    result = ses("explain", str(file), code=0)
    assert f"created as   {tmp_path}/.data.bin.Xy12" in result.output
    assert "in doubt" not in result.output
    data = ses.json("explain", str(file))
    assert (data["verified"], data["doubt"]) == (True, None)


def test_the_old_name_in_use_again_says_nothing_against_it(ses, file, placed, service, tmp_path):
    (tmp_path / ".data.bin.Xy12").write_text("the next one")
    assert ses.json("explain", str(file))["doubt"] is None


def test_the_newest_record_that_fits_is_taken(ses, file, placed, service):
    born, _ = placed
    later = {**service.placements[0], "placement_id": "00000000000000bb", "placed_at": born + 50,
             "opened_at": born + 51}  # fmt: skip
    service.placements.insert(0, later)
    assert ses.json("explain", str(file))["placement"]["placement_id"] == "00000000000000aa"


def test_a_birth_in_whole_seconds_as_lustre_keeps_it_is_no_doubt(ses, file, placed, service):
    """Cut off, it lies before the placement by as much of a second as had passed."""
    born, born_at = placed
    second = float(int(born))
    born_at(second)
    for passed, doubtful in ((0.4, False), (0.99, False), (1.7, True)):
        service.placements[0].update(placed_at=second + passed, opened_at=second + passed + 0.01)
        assert (ses.json("explain", str(file))["doubt"] is not None) == doubtful


@pytest.mark.parametrize("moment", [60, CLOCKS_SECONDS + 0.6, -CLOCKS_SECONDS - 0.6])
def test_a_number_that_was_another_files_explains_nothing(ses, file, placed, moment, service):
    born, born_at = placed
    service.placements[0]["path"] = None
    born_at(born + moment)
    result = ses("explain", str(file), code=5)
    assert "00000000000000aa" in result.output
    assert "had the same inode number" in result.output
    assert "clocks" in result.output
    assert "None" not in result.output


def test_a_file_untouched_since_before_the_placement_is_another(ses, file, placed, service):
    born, born_at = placed
    born_at(None)
    service.placements[0].update(placed_at=born + 60, opened_at=born + 61)
    result = ses("explain", str(file), code=5)
    assert "older than the placement" in result.output


def test_a_birth_only_clocks_apart_explain_is_reported_as_a_doubt(ses, file, placed):
    born, born_at = placed
    born_at(born + 1.5)
    result = ses("explain", str(file), code=0)
    assert "in doubt     the file was born 1.0 s after it was opened" in result.output


def test_news_of_a_placement_may_take_its_time(ses, file, placed):
    born, born_at = placed
    born_at(born - 0.9)  # the service counted it as made 0.4 s after that
    assert ses.json("explain", str(file))["doubt"] is None
    born_at(born - 1.5)
    assert "born 1.0 s before it was placed" in ses.json("explain", str(file))["doubt"]


def test_without_a_birth_a_number_alone_is_in_doubt(ses, file, placed, service):
    placed[1](None)
    assert "does not say when" in ses.json("explain", str(file))["doubt"]
    service.placements[0]["path"] = str(file)
    assert ses.json("explain", str(file))["doubt"] is None


def test_another_file_of_the_placed_name_is_reported_as_a_doubt(ses, file, placed, service):
    born, born_at = placed
    service.placements[0].update(path=str(file), inode="1")
    assert ses.json("explain", str(file))["doubt"] is None  # the birth fits: the union was mounted anew
    born_at(born + 60)
    assert "replaced or copied since" in ses.json("explain", str(file))["doubt"]
    born_at(None)
    assert "another inode number" in ses.json("explain", str(file))["doubt"]


def test_a_file_that_replaced_the_one_placed_may_lie_elsewhere(
    ses, file, placed, service, tmp_path, monkeypatch
):
    born, born_at = placed
    service.placements[0].update(path=str(file), inode="1")
    born_at(born + 60)
    lies_in(monkeypatch, tmp_path / "b7")
    result = ses("explain", str(file), code=0)
    assert "b7; union/b3 was chosen for the file of before" in result.output
    assert "NOT as chosen" not in result.output
    assert ses.json("explain", str(file))["verified"] is None


def test_the_birth_of_a_file_is_read_and_cannot_be_set(tmp_path):
    path = tmp_path / "file"
    before = time.time() - 0.1
    path.write_text("x")
    born = identify(path).born
    if born is None:
        pytest.skip("the file system of the temporary directory does not tell births")
    assert before <= born <= time.time()
    os.utime(path, (1.0, 1.0))
    path.rename(tmp_path / "other")
    assert identify(tmp_path / "other").born == born


def test_only_a_regular_file_is_identified(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert [identify(tmp_path / name) for name in ("link", ".", "nothing")] == [None] * 3


@pytest.mark.root
def test_the_birth_of_a_file_on_a_union_is_asked_of_its_branch(union):
    mount, branches = union
    (mount / "file").write_text("x")
    (mount / "file").rename(mount / "renamed")
    on_branch = next(branch / "renamed" for branch in branches if (branch / "renamed").exists())
    seen = identify(mount / "renamed")
    birth = ran(["stat", "-c", "%W", str(on_branch)])
    if birth.stdout.strip() in ("0", "-"):
        pytest.skip("the file system of the temporary directory does not tell births")
    assert seen.device == mount.stat().st_dev
    assert int(seen.born) == int(birth.stdout)
