"""Names of files have any characters, and whatever PostgreSQL makes of a database by default keeps them."""

from typing import Any

import pytest
from ses_service.ledger.placement import Placement
from ses_service.model.entities import Element, Subject
from ses_service.store import writer
from ses_service.store.database import Database
from ses_service.store.errors import DatabaseUrlError
from ses_service.store.tables import CHANNEL
from written_here import store_of, stored_in

NAME = "/union/漢字 é \N{REPLACEMENT CHARACTER}"


def placement() -> Placement:
    made = Element("u/é", "", "é", "u", "/mnt/é", "")
    return Placement("00000000000000a1", Subject("jürgen", "dd"), made, "lustre", 0.25, 10.0, 40.0).replaced(
        path=NAME
    )


@pytest.mark.parametrize("encoding", ["UTF8", "SQL_ASCII"])
def test_every_name_comes_back_as_it_was(encoding: str, postgresql: Any) -> None:
    """A server that was set up without a language of its machine has SQL_ASCII."""
    database = Database(postgresql.url_of(encoding))
    store = store_of(database)
    store.open()
    listener = database.listen(CHANNEL)
    store.write([(placement().placement_id, placement())])
    with database.writing() as connection:
        writer.notify(connection, [NAME])
    assert [stored.path for stored in stored_in(database)] == [NAME]
    assert [stored.subject.user for stored in stored_in(database)] == ["jürgen"]
    assert next(listener.notifications(5.0)) == NAME
    listener.close()
    database.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP"])
def test_a_database_that_cannot_keep_every_name_is_refused_at_the_start(
    encoding: str, postgresql: Any
) -> None:
    """Of one file with such a name nothing could be stored any more, and nothing of others with it."""
    database = Database(postgresql.url_of(encoding))
    with pytest.raises(DatabaseUrlError, match=f"keeps text as {encoding}.* createdb .*--encoding=UTF8"):
        store_of(database).open()
    database.close()
