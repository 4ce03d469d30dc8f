"""What one node may have open is bounded, so that one that lies cannot fill the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from files_opened import announcement, new_ids
from ses_service.ledger import announcement as announcements


def test_a_node_has_no_more_files_open_than_an_agent_follows(
    make_service: Any, site: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcements, "MOST_OPEN", 3)
    service = make_service(site.equal(2).environment, clock).refresh()
    ids = new_ids(5)
    said = announcement(ids, ["union/b0"])
    answer = service.post("/v1/nodes/n1/announcements", said).get_json()
    assert [one["placement_id"] for one in answer["refused"]] == ids[3:]
    assert "3 files open" in answer["refused"][0]["detail"]
    assert (
        service.post("/v1/nodes/n2/announcements", announcement(new_ids(1), ["union/b0"])).get_json()[
            "refused"
        ]
        == []
    )
