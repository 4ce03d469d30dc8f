"""How long what the ledger learns waits for a transaction: it depends on who waits for it."""

import threading
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from ses_service.store.database import Database
from ses_service.store.journal import PACE, SHARED_PACE, Journal
from written_here import store_of, stored_in


@pytest.mark.parametrize(("peers", "pace"), [(0, PACE), (1, SHARED_PACE)])
def test_changes_wait_for_each_other_unless_somebody_waits_for_them(
    serve: Any, tmp_path: Path, peers: int, pace: float
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    service, now = serve(3).refresh(), 0.0
    journal = Journal(service.runtime.state.ledger, store_of(database), clock=lambda: now)
    journal.peers = peers

    def stored() -> set[str]:
        """What is stored once the journal has looked."""
        journal._look()
        return {placement.placement_id for placement in stored_in(database)}

    (first,) = service.open(1)
    assert stored() == {first}
    (second,) = service.open(1)
    mark, now = journal.mark(), pace * 0.99
    assert stored() == {first}
    assert journal.stored < mark
    now = pace
    assert stored() == {first, second}
    assert journal.stored >= mark
    (third,) = service.open(1)
    mark = journal.hurry()
    assert stored() == {first, second, third}
    assert journal.stored >= mark
    journal.stop()
    database.close()


def test_what_has_ended_is_in_the_list_of_files_at_once(serve: Any, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    service = serve(3, store=store_of(database)).refresh()
    journal = service.runtime.journal
    journal.start()
    for number in range(1, 6):
        (placed,) = service.open(1)
        said = {
            "incarnation": "a" * 16,
            "number": number,
            "ended": [{"placement_id": placed, "reason": "closed"}],
        }
        assert service.post("/v1/nodes/n1/announcements", said).status_code == 200
        listed = service.get("/v1/files?state=ended&limit=1").get_json()["files"]
        assert [file["placement_id"] for file in listed] == [placed]
        assert service.get("/v1/report").get_json()["total"]["files"] == number
    journal.stop()
    database.close()


def test_what_ends_after_the_journal_judged_is_in_the_next_list(serve: Any, tmp_path: Path) -> None:
    """It is stored at once then, and what came of it with the next transaction."""
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    service = serve(3, store=store_of(database)).refresh()
    ledger, journal = service.runtime.state.ledger, service.runtime.journal
    (placed,) = service.open(1)
    learn, late = ledger.learn, threading.Event()

    def judge() -> None:
        learn()
        if not late.is_set():
            said = {
                "incarnation": "a" * 16,
                "number": 1,
                "ended": [{"placement_id": placed, "reason": "closed"}],
            }
            assert service.post("/v1/nodes/n1/announcements", said).status_code == 200
            late.set()

    ledger.learn = judge
    journal.start()
    assert late.wait(30)
    wait_until(lambda: [entry.state.value for entry in stored_in(database)] == ["ended"], every=0.001)
    listed = service.get("/v1/files?state=ended").get_json()["files"]
    assert [file["placement_id"] for file in listed] == [placed]
    journal.stop()
    database.close()
