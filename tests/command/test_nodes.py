"""``ses nodes``: what it asks, shows and returns."""

import pytest

THIN = {
    "node_class": "thin", "nodes": "n[0001-4096]", "count": 4096, "heard": 4090, "open_files": 17,
    "storage_systems": ["lfs01", "scratch"], "link_mb_s": 12500.0, "uplink": "leaf1", "uplink_mb_s": 25000.0,
}  # fmt: skip
UNKNOWN = {
    "node_class": None, "nodes": "login1", "count": 1, "heard": 1, "open_files": 0,
    "storage_systems": [], "link_mb_s": None, "uplink": None, "uplink_mb_s": None,
}  # fmt: skip
RANKED = {
    "rank": 1, "node": "n0007", "node_class": "thin", "element": "lfs01/OST0003", "storage_system": "lfs01",
    "distance": 0.0, "available": {"read_mb_s": 900.0, "write_mb_s": 312.5}, "free_gb": 2500.0,
    "predicted": [], "limited_by": "link", "open_files": 3,
}  # fmt: skip
REFUSED = {
    "nodes": "n[0100-0199]", "count": 100, "node_class": "thin", "reason": "hard-requirement",
    "detail": "Their own link leaves a stream 100 MB/s; the hard minimum is 300 MB/s.",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nodes(service):
    service.node_classes = [THIN, UNKNOWN]
    service.node_selection |= {"candidates": [RANKED], "refused": [REFUSED], "notes": ["A note."]}


def test_the_list_shows_classes_in_80_columns(ses):
    lines = ses("nodes", "list", COLUMNS="80").output.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if "thin" in line)
    assert all(text in row for text in ("n[0001-4096]", "4090", "17", "12500", "leaf1"))
    assert "none" in next(line for line in lines if "login1" in line)
    assert ses.json("nodes", "list")["node_classes"] == [THIN, UNKNOWN]


def test_without_any_node_the_list_says_how_to_describe_them(ses, service):
    service.node_classes = []
    result = ses("nodes", "list", code=5)
    assert "qsm:NodeClass" in result.output


def test_a_ranking_asks_what_was_typed_and_shows_who_was_refused(ses, service):
    result = ses("nodes", "rank", "write>=300MB/s", "free>=2TB!", "--count", "4", "--exclude", "n[1-2]",
                 "--user", "alice", COLUMNS="80", code=0)  # fmt: skip
    (asked,) = [body for _, path, body in service.requests if path == "/v1/nodes/selections"]
    assert (asked["count"], asked["exclude"], asked["subject"]["user"]) == (4, "n[1-2]", "alice")
    assert [
        (requirement["kind"], requirement["minimum"], requirement["strictness"])
        for requirement in asked["requirements"]
    ] == [("write", 300, "soft"), ("free", 2, "hard")]
    row = next(line for line in result.output.splitlines() if "n0007" in line)
    assert all(text in row for text in ("312.5", "lfs01/OST0003", "link"))
    assert f"Refused: n[0100-0199] (100): {REFUSED['detail']}" in result.output
    assert "A note." in result.output


def test_what_is_free_is_reported_of_small_elements_too(ses, service):
    service.node_selection["candidates"][0]["free_gb"] = 0.064
    row = next(line for line in ses("nodes", "rank").output.splitlines() if "n0007" in line)
    assert "0.06" in row


def test_a_ranking_without_a_node_exits_with_5(ses, service):
    service.node_selection["candidates"] = []
    result = ses("nodes", "rank", code=5)
    assert "No node is left" in result.output


def test_threads_of_agents_that_stalled_are_listed(ses, service):
    stalled = {"node": "n7", "thread": "watcher", "since": 1e9}
    service.node_classes = [{**UNKNOWN, "stalled": [stalled]}]
    assert "n7: thread watcher of its agent has stalled since 2001-09-" in ses("nodes", "list").output
    assert ses.json("nodes", "list")["node_classes"][0]["stalled"] == [stalled]
