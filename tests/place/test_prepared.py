"""A program that chooses again and again looks once a second, and decides by the claims of the moment."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ses.api
from ses.place import chooser, directories, placing
from ses.place.directories import look_at
from ses.place.placing import Request
from ses_client.errors import SesError

MEBIBYTE = 1 << 20


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A look counts for an hour, unless something needs another; each is noted."""
    noted: list[int] = []

    def look(*args: object) -> object:
        noted.append(1)
        return look_at(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(chooser, "FRESH", 3600.0)
    monkeypatch.setattr(directories, "look_at", look)
    return noted


@pytest.fixture
def two(disks: Callable[..., list[Path]], tmp_path: Path) -> Iterator[tuple[ses.api.Places, list[str], Path]]:
    among, ledger = [str(disk) for disk in disks(64, 64)], tmp_path / "ledger"
    with ses.api.Places(among, ledger=ledger) as places:
        yield places, among, ledger


Two = tuple[ses.api.Places, list[str], Path]


def test_claims_of_others_count_at_once_without_another_look(
    two: Two, looks: list[int], asking: Callable[..., Request]
) -> None:
    places, among, ledger = two
    with places.place(size="1MB") as first:
        other = placing.place(asking(among, size=MEBIBYTE), ledger)  # looks for itself
        assert other.directory != first.directory
        with pytest.raises(SesError, match="do not fit"), places.place(size="63.5MiB"):
            pytest.fail("neither has so much left")


def test_its_own_claims_end_with_their_blocks(two: Two, looks: list[int]) -> None:
    places, among, ledger = two
    for _ in range(4):
        with places.place(size="20MiB") as first, places.place(size="20MiB") as second:
            assert {first.directory, second.directory} == set(among)
            assert len(placing.claims_on((), ledger)) == 2
    assert placing.claims_on((), ledger) == []


def test_what_was_written_before_an_end_is_never_given_twice(two: Two, looks: list[int]) -> None:
    places, among, _ = two
    with places.place(size="50MiB") as first:
        Path(first.directory, "grown").write_bytes(bytes(50 * MEBIBYTE))
    (elsewhere,) = set(among) - {first.directory}
    before = len(looks)
    with places.place(size="50MiB") as second:
        assert second.directory == elsewhere
    Path(first.directory, "grown").unlink()
    with places.place(size="50MiB") as third, places.place(size="50MiB") as fourth:
        assert {third.directory, fourth.directory} == set(among), "it looks before it refuses"
    assert len(looks) > before


def test_a_need_that_nothing_meets_is_said_after_another_look(two: Two, looks: list[int]) -> None:
    places, _, _ = two
    with places.place():
        pass
    before = len(looks)
    with pytest.raises(SesError, match="do not fit"), places.place(size="1TB"):
        pytest.fail("nothing fits")
    assert len(looks) == before + 1


def test_both_processes_go_on_after_a_fork(two: Two, looks: list[int]) -> None:
    places, _, ledger = two
    with places.place(size="1MB") as mine:
        pid = os.fork()
        if not pid:
            code = 1
            try:
                with places.place(size="1MB") as its:
                    code = int(its.directory == mine.directory or its.claim.pid != os.getpid())
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        assert [claim.id for claim in placing.claims_on((), ledger)] == [mine.claim.id]


@pytest.mark.parametrize("prepared", [True, False])
def test_a_child_that_leaves_the_block_it_was_forked_in_ends_nothing(two: Two, prepared: bool) -> None:
    places, among, ledger = two
    parent = os.getpid()
    try:
        with places.place() if prepared else ses.api.place(among=among, ledger=ledger) as mine:
            pid = os.fork()
            if not pid:
                sys.exit()
            assert os.waitpid(pid, 0)[1] == 0
            assert [claim.id for claim in placing.claims_on((), ledger)] == [mine.claim.id]
    finally:
        if os.getpid() != parent:
            os._exit(0)
    assert placing.claims_on((), ledger) == []


def test_a_ledger_that_was_moved_away_begins_anew(two: Two, looks: list[int]) -> None:
    places, _, ledger = two
    with places.place(size="1MB"):
        for path in ledger.parent.glob("ledger*"):
            path.rename(path.with_name(f"moved-{path.name}"))
        with places.place(size="1MB"):
            assert len(placing.claims_on((), ledger)) == 1
    assert placing.claims_on((), ledger) == []
