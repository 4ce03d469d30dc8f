"""What is written next goes elsewhere when a directory is full; earlier sizes say how much it will be."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import ses.api
from places_program import Ses
from ses.place import placing
from ses.place.placing import Request

Disks = Callable[..., list[Path]]
MEBIBYTE = 1 << 20


def fill(directory: str, size: int) -> None:
    """Take up so many bytes."""
    with Path(directory, "data").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def test_the_next_part_goes_to_another_file_system_with_the_needs_of_the_first(
    ses: Ses, disks: Disks
) -> None:
    disk, other = disks(32, 32)
    (disk / "beside").mkdir()
    options = ("--need", "write>=1MB/s", "--rate", f"{disk}=9MB/s", "--size", "8MiB", "--mkdir", "step-XXXX")
    among = (disk, disk / "beside", other)
    first = ses.json("place", "--among", *among, *options, "--for", f"pid:{os.getpid()}")
    before = Path(first["directory"]).parent
    second = ses.json("place", "--again", first["directory"])
    assert (Path(second["directory"]).parent == other) == (before != other)
    assert Path(second["directory"]).name.startswith("step-")
    assert (second["claim"]["bytes"], second["claim"]["pid"]) == (8 * MEBIBYTE, os.getpid())
    assert {"directory": str(before), "reason": f"it is where claim {first['id']} is"} in second["why"]


def test_the_first_claim_stands_for_what_was_written_and_no_stream(ses: Ses, disks: Disks) -> None:
    first = ses.json("place", "--among", *disks(32, 32), "--size", "16MiB", "--mkdir", "step-XXXX")
    fill(first["directory"], 3 * MEBIBYTE)
    ses("place", "--again", first["id"])
    (left,) = (claim for claim in ses.claims() if claim["id"] == first["id"])
    assert (left["bytes"], left["streams"]) == (3 * MEBIBYTE, 0)


def test_it_says_where_there_is_no_room_and_claims_nothing(ses: Ses, disks: Disks) -> None:
    disk, other = disks(32, 32)
    first = ses.json("place", "--among", disk, other, "--size", "20MiB")
    refusal = ses("place", "--again", first["id"], "--size", "40MiB", code=1)
    assert "41.94 MB do not fit" in refusal
    assert f"it is where claim {first['id']} is" in refusal
    assert ses.claims() == [first["claim"]]


def test_without_a_name_it_is_the_only_claim(ses: Ses, disks: Disks) -> None:
    disk, other = disks(32, 32)
    assert "nothing is claimed" in ses("place", "--again", code=5)
    first = ses("place", "--among", disk, other, "--mkdir", "a-XXXX").strip()
    second = ses("place", "--again").strip()
    assert Path(first).parent != Path(second).parent
    assert "You have several claims: 1, 2" in ses("place", "--again", code=2)


@pytest.mark.parametrize("more", [("--among", "/"), ("--need", "write>=1MB/s"), ("--mkdir", "a")])
def test_what_is_that_of_the_claim_is_not_stated_again(ses: Ses, more: tuple[str, str]) -> None:
    assert "the rest is that of the claim" in ses("place", *more, "--again", "1", code=2)
    assert "--among, or a claim by --again" in ses("place", "--size", "1MB", code=2)


def test_what_another_program_wrote_as_a_request_is_said(ses: Ses, tmp_path: Path) -> None:
    ses("place", "--among", tmp_path)
    for wrong in ("{}", "[", '{"among": [1], "needs": [], "rates": {}}'):
        ses.change_claims(asked=f"'{wrong}'")
        assert "What was asked for claim 1 cannot be read" in ses("place", "--again", "1", code=1)


def test_a_program_goes_on_elsewhere_when_it_meets_a_full_disk(disks: Disks, tmp_path: Path) -> None:
    among, ledger = [str(disk) for disk in disks(32, 32)], tmp_path / "ledger"
    with ses.api.place(among, mkdir="step-XXXX", ledger=ledger) as chosen:
        with pytest.raises(OSError, match="No space left"):
            fill(chosen.directory, 40 * MEBIBYTE)
        with ses.api.place_again(chosen, size="20MiB", ledger=ledger) as other:
            assert {chosen.claim.base, other.claim.base} == set(among)
            fill(other.directory, 20 * MEBIBYTE)
        assert len(placing.claims_on((), ledger)) == 1
    assert placing.claims_on((), ledger) == []


def test_a_size_that_is_not_stated_is_that_of_earlier_ones_of_the_same_name(
    disks: Disks, asking: Callable[..., Request], tmp_path: Path
) -> None:
    among, ledger = [str(disk) for disk in disks(64, 32)], tmp_path / "ledger"

    def run(size: int, label: str = "run-XXXX") -> int:
        given = placing.place(asking(among, mkdir=label), ledger)
        fill(given.directory, size)
        placing.release(given.directory, ledger)
        Path(given.directory, "data").unlink()
        return given.claim.bytes

    assert [run(6 * MEBIBYTE), run(6 * MEBIBYTE), run(1)] == [0, 18 * MEBIBYTE, 12 * MEBIBYTE]
    assert run(1, "other-XXXX") == 0, "another name has a history of its own"
    expected = placing.place(asking(among, mkdir="run-XXXX"), ledger).claim
    assert (expected.bytes, expected.size) == (6 * MEBIBYTE * 5 // 3, None)


def test_room_that_is_only_expected_refuses_nobody(
    disks: Disks, asking: Callable[..., Request], tmp_path: Path
) -> None:
    large, small = (str(disk) for disk in disks(128, 16))
    ledger = tmp_path / "ledger"
    first = placing.place(asking([large], mkdir="run-XXXX"), ledger)
    fill(first.directory, 20 * MEBIBYTE)
    placing.release(first.directory, ledger)
    assert placing.place(asking([small, large], mkdir="run-XXXX"), ledger).claim.base == large
    assert placing.place(asking([small], mkdir="run-XXXX"), ledger).claim.bytes == 60 * MEBIBYTE


def test_what_ended_by_itself_is_learned_by_the_next_choice(ses: Ses, disks: Disks) -> None:
    (disk,) = disks(64)
    first = ses.json("place", "--among", disk, "--mkdir", "run-XXXX", "--for", "8h")
    fill(first["directory"], 5 * MEBIBYTE)
    ses.change_claims(until="@made - 1")
    ses("place", "--among", disk, "--size", "1MB")
    assert ses.json("place", "--among", disk, "--mkdir", "run-XXXX")["claim"]["bytes"] == 15 * MEBIBYTE
