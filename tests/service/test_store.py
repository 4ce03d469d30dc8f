"""The database of the ledger, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ses_service.model import Element, Kind, Level, Requirement, ResolvedRequirement, Subject
from ses_service.placement import (
    Basis,
    Candidate,
    EndReason,
    Placement,
    PlacementState,
    Prediction,
    Reason,
    Refusal,
)
from ses_service.sizes import SizeHistory, SizeKey
from ses_service.store import Database, DatabaseError, DatabaseUrlError, RecordStore
from ses_service.store.rows import Explanation, explanation_of, placement_of, read_explanation, row_of
from ses_service.store.tables import METADATA

PREDICTED = (Prediction(Kind.CURRENT_WRITE_RATE, 5e6, 1e7, 0.5),)


def element(name: str) -> Element:
    """An element as a row keeps it."""
    return Element(f"u/{name}", "", name, "u", f"/mnt/{name}", "")


def placement(number: int, **changes: Any) -> Placement:
    subject = Subject("alice", "dd", "materials", "n1", "job-1")
    made = Placement(f"{number:016x}", subject, element("a"), "lustre", 0.25, 10.0, 40.0)
    return replace(made, **changes)


def explained(number: int) -> Placement:
    wanted = ResolvedRequirement(Requirement(Kind.CURRENT_WRITE_RATE, 1e7), Level.USER, "alice")
    candidate = Candidate(1, element("a"), 0.5, None, 5e6, 1e12, PREDICTED, 0.5, Basis.MONITOR)
    refused = Refusal("u/b", Reason.DRAINING, "b is being emptied.")
    return placement(number, requirements=(wanted,), candidates=(candidate,), refused=(refused,))


FULL = placement(
    7,
    predicted=PREDICTED,
    rank=2,
    turn=3,
    turns=64,
    notes=("over 2 elements", "größer"),
    stripes=(element("a"), element("b")),
    stripe_count=2,
    stripe_size=2**33,
    ahead=True,
    decided_by="agent",
    expected_bytes=1e24,
    expected_from="history",
    state=PlacementState.ENDED,
    path="/u/größe\u2028.bin",
    device=2**64 - 1,
    inode="18446744073709551615",
    pid=2**31 - 1,
    opened_at=11.0,
    ended_at=12.5,
    end_reason=EndReason.CLOSED,
    bytes_written=5.0,
    lease_until=math.inf,
)


@pytest.fixture
def store(database: Database) -> RecordStore:
    made = RecordStore(database)
    made.open()
    return made


def reopened(store: RecordStore) -> RecordStore:
    made = RecordStore(store.database)
    assert made.open(), "the tables are there already"
    return made


def written(*placements: Placement) -> list[tuple[str, Placement | None]]:
    return [(one.placement_id, one) for one in placements]


def count(store: RecordStore, table: str) -> int:
    with store.database.transaction(reading=True) as connection:
        found: int = connection.exec_driver_sql(f"select count(*) from {table}").scalar_one()
    return found


def test_an_empty_database_gets_the_tables_the_code_uses(database: Database) -> None:
    assert database.upgrade() == (None, "0001")
    assert database.upgrade() == ("0001", "0001")
    with database.transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_a_database_of_a_later_service_is_refused(database: Database) -> None:
    database.upgrade()
    with database.transaction() as connection:
        connection.exec_driver_sql("update alembic_version set version_num = '9999'")
    with pytest.raises(DatabaseUrlError, match="9999"):
        database.upgrade()


@pytest.mark.parametrize(
    "given_one",
    [placement(1), FULL, placement(2, subject=Subject("bob")), placement(3, state=PlacementState.OPEN)],
)
def test_what_is_written_is_read_again(store: RecordStore, given_one: Placement) -> None:
    store.write(written(given_one))
    assert reopened(store).load().placements == (given_one,)


def test_what_changes_is_written_over_and_what_is_gone_is_removed(store: RecordStore) -> None:
    first, second = placement(1), explained(2)
    store.write(written(first, second))
    changed = replace(first, state=PlacementState.OPEN, path="/u/f", opened_at=11.0)
    store.write([*written(changed), (second.placement_id, None)])
    assert reopened(store).load().placements == (changed,)
    assert count(store, "explanation") == 0


def test_what_ended_first_is_read_first_and_what_goes_on_last(store: RecordStore) -> None:
    ended = [placement(9 - at, state=PlacementState.ENDED, ended_at=float(at)) for at in range(4)]
    going = [placement(1), placement(2)]
    store.write(written(*going, *reversed(ended)))
    assert reopened(store).load().placements == (*ended, *going)


def test_placements_of_a_batch_share_an_explanation_until_the_last_is_gone(store: RecordStore) -> None:
    first = explained(1)
    batch = [replace(first, placement_id=f"{number:016x}") for number in range(1, 4)]
    store.write(written(*batch))
    assert count(store, "explanation") == 1
    again = reopened(store)
    assert again.load().placements == tuple(
        replace(one, requirements=(), candidates=(), refused=()) for one in batch
    )
    for one in batch:
        found = again.explanation(one.placement_id)
        assert (found.requirements, found.candidates, found.refused) == (
            first.requirements,
            first.candidates,
            first.refused,
        )
    again.write([(batch[0].placement_id, None), (batch[1].placement_id, None)])
    assert count(again, "explanation") == 1
    again.write([(batch[2].placement_id, None)])
    assert count(again, "explanation") == 0


def test_changing_a_placement_keeps_its_explanation(store: RecordStore) -> None:
    one = explained(1)
    store.write(written(one))
    again = reopened(store)
    (read,) = again.load().placements
    again.write(written(replace(read, state=PlacementState.OPEN, opened_at=11.0)))
    assert again.explanation(one.placement_id).candidates == one.candidates


def test_writing_the_same_again_changes_nothing(store: RecordStore) -> None:
    store.write(written(explained(1), FULL))
    unaware = reopened(store)  # as after a commit nobody heard of
    unaware.write(written(explained(1), FULL))
    assert len(reopened(store).load().placements) == 2
    assert reopened(store).explanation(f"{1:016x}") == Explanation(
        explained(1).requirements, explained(1).candidates, explained(1).refused
    )


def test_writing_everything_leaves_nothing_else(store: RecordStore) -> None:
    key = SizeKey("alice", "dd", "/d/f#")
    sizes = SizeHistory()
    sizes.learn("alice", "dd", "/d/f1", 5.0, 1.0)
    store.write(written(placement(1), explained(2)), [(key, sizes.get(key))])
    store.write(written(explained(3)), [], whole=True)
    loaded = reopened(store).load()
    assert [one.placement_id for one in loaded.placements] == [f"{3:016x}"]
    assert loaded.sizes == ()
    assert store.explanation(f"{3:016x}").candidates == explained(3).candidates


def test_sizes_are_read_again_and_forgotten_ones_are_not(store: RecordStore) -> None:
    history = SizeHistory()
    for number, size in enumerate((5.0, 7.0, 1e24)):
        history.learn("alice\x00", None, f"/d/{number}.größe", size, float(number))
    store.write([], history.entries())
    again = SizeHistory()
    for key, sizes in reopened(store).load().sizes:
        again.put(key, sizes)
    key = SizeKey("alice\ufffd", "")
    known = again.get(key)
    assert known is not None
    assert (known.count, known.last_at, known.median, known.last) == (3, 2.0, 7.0, 1e24)
    assert len(again) == len(history)
    store.write([], [(one, None) for one, _ in history.entries()])
    assert reopened(store).load().sizes == ()


def test_a_row_nobody_understands_is_left_alone_and_told(store: RecordStore) -> None:
    store.write(written(placement(1), placement(2), explained(3)))
    with store.database.transaction() as connection:
        connection.exec_driver_sql(f"update placement set state = 'lost?' where placement_id = '{1:016x}'")
        connection.exec_driver_sql(f"update placement set elements = '[]' where placement_id = '{2:016x}'")
    loaded = reopened(store).load()
    assert [one.placement_id for one in loaded.placements] == [f"{3:016x}"]
    assert loaded.unreadable == 2
    assert count(store, "placement") == 3


def test_an_explanation_of_another_version_is_left_out() -> None:
    assert read_explanation(None) == Explanation()
    assert read_explanation(b"not zlib") == Explanation()
    body = explanation_of(explained(1))
    assert body is not None
    assert read_explanation(body).refused == explained(1).refused


NAMES = st.text(max_size=20)
SIZES = st.none() | st.floats(0, 1e24)
MOMENTS = st.floats(0, 1e11)


@given(
    user=NAMES,
    path=st.none() | NAMES,
    notes=st.lists(NAMES, max_size=3).map(tuple),
    device=st.none() | st.integers(0, 2**64 - 1),
    expected=SIZES,
    size=SIZES,
    moments=st.tuples(MOMENTS, MOMENTS, MOMENTS),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_placement_can_be_stored(
    store: RecordStore,
    user: str,
    path: str | None,
    notes: tuple[str, ...],
    device: int | None,
    expected: float | None,
    size: float | None,
    moments: tuple[float, float, float],
) -> None:
    one = placement(
        5, subject=Subject(user, job=path), path=path, notes=notes, device=device, expected_bytes=expected,
        bytes_written=size, booked_at=moments[0], lease_until=moments[1], ended_at=moments[2],
    )  # fmt: skip
    store.write(written(one), whole=True)
    (read,) = store.load().placements
    assert replace(read, subject=one.subject, path=None) == replace(one, path=None)
    assert read.subject.user == user.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    assert placement_of(row_of(read, None), Explanation()) == read


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x/y", "use sqlite or postgresql"),
        ("this is no URL", "cannot be read"),
        ("postgresql+psycopg://u:secret@h/d", "--database-password-file"),
        ("sqlite://", "name a file"),
    ],
)
def test_a_url_that_can_never_work_is_refused_and_no_password_is_told(url: str, says: str) -> None:
    with pytest.raises(DatabaseUrlError, match=says) as caught:
        Database(url)
    assert "secret" not in str(caught.value)


def test_a_password_goes_to_the_server_and_not_into_messages() -> None:
    made = Database("postgresql://u@127.0.0.1:1/d", "secret")
    assert "secret" not in made.name
    with pytest.raises(DatabaseError) as caught, made.transaction():
        pass
    assert "secret" not in str(caught.value)


def test_an_unreachable_database_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="unable to open"):
        RecordStore(Database(f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}")).open()
