"""What an administrator of PostgreSQL sets for all takes no service its right to write."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from ses_service.store.database import Database
from written_here import store_of


@pytest.fixture
def ends_what_idles(postgresql: Any) -> Iterator[Any]:
    """A server that ends sessions in which nothing happens for a second."""
    name = "alter database postgres"
    postgresql.sql(f"{name} set idle_session_timeout = '1s'")
    yield postgresql
    postgresql.sql(f"{name} reset idle_session_timeout")


def test_a_service_lives_on_where_nothing_changes_for_long(ends_what_idles: Any) -> None:
    """Else the others would take its placements over, and end the files of its nodes."""
    idle, other = (store_of(Database(ends_what_idles.url)) for _ in range(2))
    for store in (idle, other):
        store.open()
    time.sleep(2.5)
    registered, living = other.services()
    assert (registered, living) == ({idle.database.owner}, {idle.database.owner})
    for store in (idle, other):
        store.database.close()
