"""Rows that a database does not take, or that nobody can read, are no harm to others."""

import pytest
import sqlalchemy as sa
from ses_service.ledger.placement import EndReason, PlacementState, Prediction
from ses_service.model.entities import Kind, Subject
from ses_service.store.database import Database
from ses_service.store.tables import PLACEMENT
from ses_state import _state
from test_store import placement, written
from written_here import store_of


def test_no_text_of_a_file_stops_a_database_that_has_no_such_text() -> None:
    """One row that PostgreSQL refuses would keep those of all others out of it."""
    odd = "a\x00b\ud800"
    placed = placement(
        5, subject=Subject(odd, odd, odd, odd, odd), path=odd, opened_at=1.0, ended_at=2.0,
        state=PlacementState.ENDED, end_reason=EndReason.CLOSED,
        predicted=(Prediction(Kind(odd, odd, 1.0), 1.0, 1.0, 0.0),),
    )  # fmt: skip
    rows = _state.file_rows([placed])
    texts = [value for value in rows.tuples(0, 1)[0] if isinstance(value, str)]
    assert len(texts) >= 7
    assert not [text for text in (*texts, rows.array(0, 1)) if "\x00" in text or "\ud800" in text]


@pytest.mark.parametrize("elements", ["", "7", "[[1]]", "null"])
def test_one_row_of_another_service_that_cannot_be_read_hides_no_other(
    database: Database, elements: str
) -> None:
    store = store_of(database)
    store.open()
    store.write(written(placement(1), placement(2)))
    with database.transaction() as connection:
        connection.execute(sa.update(PLACEMENT).values(service="other"))
        odd = sa.update(PLACEMENT).where(PLACEMENT.c.placement_id == f"{1:016x}")
        connection.execute(odd.values(elements=elements))
    assert [peer.placement_id for peer in store.peer_placements(20.0)] == [f"{2:016x}"]
