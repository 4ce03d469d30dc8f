"""The database of the ledger, on SQLite and on a real PostgreSQL."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from patience import wait_until
from ses_service.ledger.placement import (
    Basis,
    Candidate,
    EndReason,
    Placement,
    PlacementState,
    Prediction,
    Reason,
    Refusal,
)
from ses_service.ledger.size_history import SizeHistory, SizeKey, keys_of
from ses_service.model.entities import Element, Kind, Level, Requirement, ResolvedRequirement, Subject
from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError, DatabaseInUseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.revisions import upgrade
from ses_service.store.rows import Explanation, explanation_of, placement_of, read_explanation
from ses_service.store.tables import METADATA, PLACEMENT, VERSION_TABLE
from ses_state import _state
from written_here import store_of, stored_in

Answer = TypeVar("Answer")
PREDICTED = (Prediction(Kind.CURRENT_WRITE_RATE, 5e6, 1e7, 0.5),)


def element(name: str) -> Element:
    """An element as a row keeps it."""
    return Element(f"u/{name}", "", name, "u", f"/mnt/{name}", "")


def placement(number: int, **changes: Any) -> Placement:
    subject = Subject("alice", "dd", "materials", "n1", "job-1")
    made = Placement(f"{number:016x}", subject, element("a"), "lustre", 0.25, 10.0, 40.0)
    return made.replaced(**changes)


def explained(number: int) -> Placement:
    wanted = ResolvedRequirement(Requirement(Kind.CURRENT_WRITE_RATE, 1e7), Level.USER, "alice")
    candidate = Candidate(1, element("a"), 0.5, None, 5e6, 1e12, PREDICTED, 0.5, Basis.MONITOR)
    refused = Refusal("u/b", Reason.DRAINING, "b is being emptied.")
    return placement(number, requirements=(wanted,), candidates=(candidate,), refused=(refused,))


FULL = placement(
    7,
    predicted=PREDICTED,
    rank=2,
    batch_number=3,
    batch_size=64,
    notes=("over 2 elements", "größer"),
    stripes=(element("a"), element("b")),
    stripe_count=2,
    stripe_size=2**33,
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
    made = store_of(database)
    made.open()
    return made


def reopened(store: RecordStore) -> RecordStore:
    made = store_of(store.database)
    assert made.open(), "the tables are there already"
    return made


def written(*placements: Placement) -> list[tuple[str, Placement | None]]:
    return [(stored.placement_id, stored) for stored in placements]


def count(store: RecordStore, table: str) -> int:
    with store.database.transaction(reading=True) as connection:
        rows: int = connection.exec_driver_sql(f"select count(*) from {table}").scalar_one()
    return rows


def test_an_empty_database_gets_the_tables_the_code_uses(database: Database) -> None:
    assert upgrade(database) == (None, "0001")
    assert upgrade(database) == ("0001", "0001")
    with database.transaction() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, METADATA) == []


def test_a_database_of_a_later_service_is_refused(database: Database) -> None:
    upgrade(database)
    with database.transaction() as connection:
        connection.exec_driver_sql("update ses_alembic_version set version_num = '9999'")
    with pytest.raises(DatabaseUrlError, match="9999"):
        upgrade(database)


@pytest.mark.parametrize(
    "given_one",
    [
        placement(1),
        FULL,
        placement(2, subject=Subject("bob")),
        placement(3, state=PlacementState.OPEN),
        placement(4, subject=Subject("NULL", ""), path='/u/{"a", \\b}\n%s\\"', expected_bytes=1e-320),
    ],
)
def test_what_is_written_is_read_again(store: RecordStore, given_one: Placement) -> None:
    store.write(written(given_one))
    assert reopened(store).load().placements == (given_one,)


@pytest.mark.parametrize("many", [7, 8, 31, 32, 33, 44, 105])
def test_any_number_at_once_is_written_and_written_over(store: RecordStore, many: int) -> None:
    first = [placement(number) for number in range(1, many + 1)]
    store.write(written(*first))
    assert sorted(reopened(store).load().placements, key=str) == sorted(first, key=str)
    changed = [
        stored.replaced(state=PlacementState.OPEN, path=f"/u/{stored.placement_id}") for stored in first
    ]
    store.write(written(*changed))
    assert sorted(reopened(store).load().placements, key=str) == sorted(changed, key=str)


def test_what_changes_is_written_over_and_what_is_gone_is_removed(store: RecordStore) -> None:
    first, second = placement(1), explained(2)
    store.write(written(first, second))
    changed = first.replaced(state=PlacementState.OPEN, path="/u/f", opened_at=11.0)
    store.write([*written(changed), (second.placement_id, None)])
    assert reopened(store).load().placements == (changed,)
    assert count(store, "ses_explanation") == 0


def test_what_ended_first_is_read_first_and_what_goes_on_last(store: RecordStore) -> None:
    ended = [placement(9 - at, state=PlacementState.ENDED, ended_at=float(at)) for at in range(4)]
    going = [placement(1), placement(2)]
    store.write(written(*going, *reversed(ended)))
    assert reopened(store).load().placements == (*ended, *going)


def test_placements_of_a_batch_share_an_explanation_until_the_last_is_gone(store: RecordStore) -> None:
    first = explained(1)
    batch = [first.replaced(placement_id=f"{number:016x}") for number in range(1, 4)]
    store.write(written(*batch))
    assert count(store, "ses_explanation") == 1
    again = reopened(store)
    assert again.load().placements == tuple(
        stored.replaced(requirements=(), candidates=(), refused=()) for stored in batch
    )
    for stored in batch:
        explanation = again.explanation(stored.placement_id)
        assert (explanation.requirements, explanation.candidates, explanation.refused) == (
            first.requirements,
            first.candidates,
            first.refused,
        )
    again.write([(batch[0].placement_id, None), (batch[1].placement_id, None)])
    assert count(again, "ses_explanation") == 1
    again.write([(batch[2].placement_id, None)])
    assert count(again, "ses_explanation") == 0


def test_changing_a_placement_keeps_its_explanation(store: RecordStore) -> None:
    placed = explained(1)
    store.write(written(placed))
    again = reopened(store)
    (read,) = again.load().placements
    again.write(written(read.replaced(state=PlacementState.OPEN, opened_at=11.0)))
    assert again.explanation(placed.placement_id).candidates == placed.candidates


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
    sizes.learn(keys_of("alice", "dd", "/d/f1"), (5.0,), 1.0)
    store.write(written(placement(1), explained(2)), [(key, sizes.get(key))])
    store.write(written(explained(3)), [], whole=True)
    loaded = reopened(store).load()
    assert [stored.placement_id for stored in loaded.placements] == [f"{3:016x}"]
    assert bool(loaded.sizes) == store.database.shared, "other services may have learned them, too"
    assert store.explanation(f"{3:016x}").candidates == explained(3).candidates


def test_sizes_are_read_again_and_forgotten_ones_are_not(store: RecordStore) -> None:
    history = SizeHistory()
    for number, size in enumerate((5.0, 7.0, 1e24)):
        history.learn(keys_of("alice\x00", None, f"/d/{number}.größe"), (size,), float(number))
    store.write([], history.entries())
    again = SizeHistory()
    for key, sizes in reopened(store).load().sizes:
        again.put(key, sizes)
    key = SizeKey("alice\ufffd", "")
    known = again.get(key)
    assert known is not None
    assert (known.count, known.last_at, known.median, known.last) == (3, 2.0, 7.0, 1e24)
    assert len(again) == len(history)
    store.write([], [(size_key, None) for size_key, _ in history.entries()])
    assert reopened(store).load().sizes == ()


def test_a_row_nobody_understands_is_left_alone_and_told(store: RecordStore) -> None:
    store.write(written(placement(1), placement(2), explained(3)))
    with store.database.transaction() as connection:
        connection.exec_driver_sql(
            f"update ses_placement set state = 'lost?' where placement_id = '{1:016x}'"
        )
        connection.exec_driver_sql(
            f"update ses_placement set elements = '[]' where placement_id = '{2:016x}'"
        )
    loaded = reopened(store).load()
    assert [stored.placement_id for stored in loaded.placements] == [f"{3:016x}"]
    assert loaded.unreadable == 2
    assert count(store, "ses_placement") == 3


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
@example(
    user='"\\,(a b){NULL}', path="", notes=("\\", '\\"'), device=2**64 - 1, expected=1e300, size=None,
    moments=(1.5, 2.5, 3.5),
)  # fmt: skip
@example(
    user="a\x00\x80", path="b\x00c", notes=(), device=None, expected=None, size=None, moments=(1.5, 2.5, 3.5)
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
    drawn = placement(
        5, subject=Subject(user, job=path), path=path, notes=notes, device=device, expected_bytes=expected,
        bytes_written=size, placed_at=moments[0], lease_until=moments[1], ended_at=moments[2],
    )  # fmt: skip
    store.write(written(drawn), whole=True)
    (read,) = store_of(store.database).load().placements
    assert read.replaced(subject=drawn.subject, path=None) == drawn.replaced(path=None)
    assert read.subject.user == user.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    (values,) = _state.placement_rows([read], [None], "").tuples(0, 1)
    row = dict(zip(PLACEMENT.c.keys(), values, strict=True))
    assert placement_of(row, Explanation()) == read


def test_writing_everything_keeps_the_explanations_of_what_stays(store: RecordStore) -> None:
    store.write(written(explained(1), explained(2)))
    again = reopened(store)
    read = again.load().placements
    again.write(written(read[0]), whole=True)
    assert again.explanation(f"{1:016x}").candidates == explained(1).candidates
    assert again.explanation(f"{2:016x}") == Explanation()
    assert count(again, "ses_explanation") == 1


def test_beside_a_portal_with_revisions_of_its_own_the_tables_are_made(database: Database) -> None:
    with database.transaction() as connection:
        connection.exec_driver_sql("create table alembic_version (version_num varchar(32) not null)")
        connection.exec_driver_sql("insert into alembic_version values ('0001')")
        connection.exec_driver_sql("create table placement (id integer)")
    store = store_of(database)
    store.open()
    store.write(written(explained(1)))
    assert len(reopened(store).load().placements) == 1
    assert count(store, "alembic_version") == 1


def another(database: Database) -> Database:
    """The same database, as another service uses it."""
    return Database(database._url.render_as_string())


def test_one_service_at_a_time_writes_a_file(tmp_path: Path) -> None:
    store = store_of(Database(f"sqlite:///{tmp_path / 'ledger.db'}"))
    store.open()
    store.write(written(placement(1)))
    other = store_of(another(store.database))
    with pytest.raises(DatabaseInUseError, match=f"process {os.getpid()}.*PostgreSQL"):
        other.open()
    with pytest.raises(DatabaseError):
        other.write(written(placement(2)))
    store.write(written(placement(3)))
    store.database.close()
    assert not other.open(), "somebody else wrote it last"
    assert [stored.placement_id for stored in other.load().placements] == [f"{1:016x}", f"{3:016x}"]
    other.write(written(placement(4)))
    with pytest.raises(DatabaseError):
        store.write(written(placement(5)))
    other.database.close()
    assert not store.open(), "somebody else took it over meanwhile"
    assert len(stored_in(store.database)) == 3
    store.database.close()


@pytest.fixture
def pair(postgresql: Any) -> Iterator[list[RecordStore]]:
    """Two services on one database."""
    made = [store_of(Database(postgresql.url)) for _ in range(2)]
    with made[0].database.transaction() as connection:
        connection.exec_driver_sql("drop schema public cascade")
        connection.exec_driver_sql("create schema public")
    for record_store in made:
        record_store.open()
        record_store.load()
    yield made
    for record_store in made:
        record_store.database.close()


def once_closed(ask: Callable[[], Answer]) -> Answer:
    """What is answered, and is not empty, once PostgreSQL has ended a session, a moment after its close."""

    def answer() -> Answer | None:
        with suppress(DatabaseInUseError):
            return ask()
        return None

    ended = wait_until(answer, "the session has ended")
    assert ended is not None
    return ended


def ids_of(placements: Iterable[Placement]) -> set[int]:
    return {int(stored.placement_id, 16) for stored in placements}


def test_services_write_one_database_and_leave_each_others_placements_alone(pair: list[RecordStore]) -> None:
    first, second = pair
    first.write(written(explained(1), placement(2)))
    second.write(written(placement(3), placement(4, idle=True)))
    second.write([(f"{2:016x}", None)])
    second.write(written(placement(5)), whole=True)
    assert ids_of(stored_in(first.database)) == {1, 2, 5}
    assert {stored.placement_id for stored in first.peer_placements(50.0)} == {f"{5:016x}"}
    assert ids_of(second.of_peers({"user": "alice", "state": "open"}, "u/a", 10)) == {1, 2}
    assert second.of_peers({"path": "/elsewhere"}, None, 10) == []
    assert second.explanation(f"{1:016x}").candidates == explained(1).candidates


def test_what_a_service_left_that_is_gone_is_taken_over_once(pair: list[RecordStore]) -> None:
    first, second = pair
    first.write(written(explained(1), placement(2)))
    assert second.gone() == []
    first.database.close()
    assert once_closed(second.gone) == [first.database.owner]
    assert ids_of(second.load().placements) == {1, 2}
    third = store_of(Database(second.database._url.render_as_string()))
    third.open()
    assert third.load().placements == ()
    assert third.services() == ({second.database.owner}, {second.database.owner})
    third.database.close()
    assert not first.open(), "another service took its placements over"
    first.write(written(placement(2)), whole=True)
    assert ids_of(stored_in(second.database)) == {1, 2}
    assert [stored.origin for stored in second.peer_placements(50.0)] == [first.database.owner]


def test_who_took_a_placement_over_keeps_its_explanation(pair: list[RecordStore]) -> None:
    first, second = pair
    first.write(written(explained(1)))
    second.write(written(placement(1, path="/u/x")))
    assert second.explanation(f"{1:016x}").candidates == explained(1).candidates
    first.write([(f"{1:016x}", None)])
    assert ids_of(stored_in(second.database)) == {1}


def test_who_lost_the_session_with_the_lock_writes_no_more(pair: list[RecordStore]) -> None:
    first, second = pair
    with second.database.transaction() as connection:
        connection.exec_driver_sql(
            "select pg_terminate_backend(pid, 30000) from pg_locks where locktype = 'advisory'"
        )
    with pytest.raises(DatabaseError):
        second.open()
    with pytest.raises(DatabaseError):
        first.write(written(placement(1)))
    successor = Database(first.database._url.render_as_string(), owner=first.database.owner)
    successor.own()
    with pytest.raises(DatabaseInUseError):
        first.open()
    second.open()
    second.write(written(placement(2)))
    successor.close()
    assert once_closed(first.open), "nobody took its placements over"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x/y", "use sqlite or postgresql"),
        ("this is no URL", "cannot be read"),
        ("postgresql+psycopg://u:secret@h/d", "--database-password-file"),
        ("postgresql+psycopg://u@h/d?password=secret", "--database-password-file"),
        ("postgresql+psycopg://u@h/d?sslpassword=secret", "--database-password-file"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("sqlite:///file:x?mode=memory&uri=true", "name a file"),
    ],
)
def test_a_url_that_can_never_work_is_refused_and_no_password_is_shown(url: str, says: str) -> None:
    with pytest.raises(DatabaseUrlError, match=says) as caught:
        Database(url)
    assert "secret" not in str(caught.value)


def test_a_password_goes_to_the_server_and_not_into_messages() -> None:
    made = Database("postgresql://u@127.0.0.1:1/d", "secret")
    assert "secret" not in made.name
    with pytest.raises(DatabaseError) as caught, made.transaction():
        pass
    assert "secret" not in str(caught.value)


def test_a_server_that_asks_for_a_password_gets_it(postgresql: Any) -> None:
    postgresql.ask_for_password("guarded", "secret")
    url = postgresql.url.replace("service@", "guarded@")
    made = Database(url, "secret")
    with made.transaction() as connection:
        assert connection.exec_driver_sql("select current_user").scalar() == "guarded"
    made.close()
    for password in ("wrong", None):
        refused = Database(url, password)
        with pytest.raises(DatabaseError, match="password"), refused.transaction():
            pass
        refused.close()


def test_an_unreachable_database_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="No such file or directory"):
        store_of(Database(f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}")).open()
