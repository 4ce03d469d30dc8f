"""What one user made a node say decides over none of what it says of others."""

import asyncio
import json
from typing import Any

import pytest
from files_opened import AGENT, decision, new_ids, opened
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from ses_service.api.schemas import items
from ses_service.api.schemas.nodes import AnnouncementIn
from ses_service.http.edge import Edge
from test_edge import ask

ROUTE = "/v1/nodes/n1/announcements"
REQUIREMENT = {
    "kind": "current-write-rate",
    "bound": 1e6,
    "weight": 1.0,
    "unit": "MB/s",
    "size": 1e6,
    "level": "explicit",
    "level_name": "request",
}

bad_values: st.SearchStrategy[Any] = st.sampled_from(
    [None, [], {}, True, "", "x" * 9000, -1, 1e300, 10**30, "a\nb", {"a": []}, [[]]]
)
bad_files = st.fixed_dictionaries(
    {}, optional={"placement_id": st.sampled_from([7, "A" * 16, "", None]), "device": st.just(2**64)}
).map(lambda wrong: {"user": "mallory", "inode": "x", **wrong})


def said(**lists: Any) -> dict[str, Any]:
    return {"incarnation": AGENT, "number": 1, **lists}


def file(placement_id: str, **more: Any) -> dict[str, Any]:
    return opened(placement_id, path=f"/union/{placement_id}", **more)


@given(
    wrong=st.lists(
        st.one_of(bad_files, bad_values.filter(lambda value: not isinstance(value, bool))), max_size=6
    ),
    good=st.integers(0, 6),
    in_json=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_exactly_the_items_that_are_wrong_are_refused(
    wrong: list[Any], good: int, in_json: bool, order: Any
) -> None:
    mixed: list[tuple[bool, Any]] = [(True, bad) for bad in wrong]
    ids = new_ids(good)
    mixed += [(False, file(placement)) for placement in ids]
    order.shuffle(mixed)
    lists = {"opened": [listed for _, listed in mixed], "ended": [{"placement_id": ids[0]}] if ids else []}
    message = said(**lists, users=["bob", "\x00", *("b" * 300 for _ in wrong)], reading=[{"files": -1}])
    read = (
        AnnouncementIn.model_validate_json(json.dumps(message))
        if in_json
        else AnnouncementIn.model_validate(message)
    )
    assert [announced.placement_id for announced in read.opened] == [
        listed["placement_id"] for is_wrong, listed in mixed if not is_wrong
    ]
    assert [refusal.number for refusal in read.refused if refusal.list == "opened"] == [
        number for number, (is_wrong, _) in enumerate(mixed) if is_wrong
    ]
    assert read.users == ["bob"]
    assert read.reading == []
    assert read.ended == []


def test_an_announcement_that_is_right_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "from_json", None)
    monkeypatch.setattr(AnnouncementIn, "_without_refused", None)
    message = said(opened=[file(placement) for placement in new_ids(3)])
    assert len(AnnouncementIn.model_validate_json(json.dumps(message)).opened) == 3


@pytest.mark.parametrize(
    "broken",
    [
        {"opened": 7},
        {"opened": {}},
        {"incarnation": "x"},
        {"number": "1"},
        {"complete": 3},
        {"users": ["u"] * 1001},
        {"generations": []},
    ],
)
def test_a_message_that_is_wrong_as_a_whole_is_refused_as_a_whole(service: Any, broken: Any) -> None:
    message = {**said(opened=[file(placement) for placement in new_ids(1)]), **broken}
    answer = service.post(ROUTE, message, code=422)
    assert answer.get_json()["errors"]


def test_no_message_of_errors_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MAX_ERRORS", 9)
    with pytest.raises(ValidationError):
        AnnouncementIn.model_validate(said(opened=[{}] * 10))


def test_one_users_weight_keeps_nobodys_file_from_the_ledger(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the agent tells it of a program with SES_REQUIRE='write>=1MB/s,weight=2000000000'."""
    monkeypatch.setattr(service.app, "wsgi_app", None)  # and it costs no turn of Flask's threads
    heavy, *others = new_ids(51)
    decisions = [
        {**decision(0, "union/b0"), "requirements": [{**REQUIREMENT, "weight": 1e300}]},
        {**decision(1, "union/b0"), "requirements": [REQUIREMENT]},
    ]
    files = [file(heavy, user="mallory", decision={"id": 0})]
    files += [file(other, decision={"id": 1}) for other in others]
    answer = quickly(service, said(opened=files, decisions=decisions))
    assert answer["refused"] == answer["unknown"] == []
    (named,) = answer["refused_items"]
    assert (named["list"], named["index"]) == ("decisions", 0)
    assert named["detail"].startswith("requirements.0.weight: ")
    known = {other: service.runtime.state.ledger.current([other])[0][1] for other in (heavy, *others)}
    assert all(known.values()), "the user's own file is taken, too"
    assert not known[heavy].candidates
    assert all(known[other].candidates for other in others)


def test_a_file_that_is_refused_is_named_by_its_id_and_no_other_is(service: Any) -> None:
    wrong, good, ended = new_ids(3)
    bad = file(wrong)
    bad["restore"]["expected_bytes"] = 1e300
    ends = [{"placement_id": ended, "reason": "closed", "bytes_written": -1}, {"reason": "closed"}]
    answer = service.post(ROUTE, said(opened=[bad, file(good)], ended=ends)).get_json()
    assert {
        refusal["placement_id"]: refusal["detail"].partition(":")[0] for refusal in answer["refused"]
    } == {
        wrong: "restore.expected_bytes",
        ended: "bytes_written",
    }
    assert [(item["list"], item["index"]) for item in answer["refused_items"]] == [("ended", 1)]
    assert 'ses_files_refused_total{reason="invalid"} 2.0' in service.get("/metrics").text


def test_a_file_that_is_refused_in_a_complete_list_does_not_end(service: Any) -> None:
    refused, other = new_ids(2)
    assert service.post(ROUTE, said(opened=[file(refused), file(other)])).get_json()["refused"] == []
    again = said(opened=[{**file(refused), "application": "x" * 300}], complete=True, number=2)
    assert len(service.post(ROUTE, again).get_json()["refused"]) == 1
    states = [placement.state for _, placement in service.runtime.state.ledger.current([refused, other])]
    assert states == ["open", "ended"]


def test_in_parts_each_refused_file_is_named_once(service: Any) -> None:
    bad = file(*new_ids(1), pid=-1)
    files = [bad, *(file(placement) for placement in new_ids(250))]
    answer = quickly(service, said(opened=files))
    assert [refusal["placement_id"] for refusal in answer["refused"]] == [bad["placement_id"]]


def test_what_is_taken_of_odd_numbers_can_be_shown(service: Any) -> None:
    odd = {
        **decision(0, "union/b0"),
        "requirements": [
            {**REQUIREMENT, "kind": kind, "bound": bound, "weight": weight, "size": size, "at_most": at_most}
            for kind, bound, weight, size, at_most in [
                ("current-write-rate", 1e18, 1e6, 1e-300, False),
                ("free-capacity", 0, 5e-324, 1e18, True),
                ("nobody-knows-it", 1e18, 1.0, 5e-324, True),
            ]
        ],
        "age_seconds": 1e18,
        "expected_bytes": 2.0**63,
        "expected_from": "request",
    }
    ids = new_ids(2)
    numbers = dict.fromkeys(["read", "write", "average_read", "average_write", "free"], 1e18)
    files = [file(ids[0], user="mallory", decision={"id": 0, "predicted": numbers}), file(ids[1])]
    ends = [
        {
            "placement_id": placement,
            "reason": "closed",
            "bytes_written": 2**63,
            "achieved": {"open_seconds": 1e11},
        }
        for placement in ids
    ]
    answer = service.post(ROUTE, said(opened=files, decisions=[odd])).get_json()
    assert answer["refused"] == answer["refused_items"] == []
    assert service.get("/v1/placements").status_code == 200
    assert service.get(f"/v1/placements/{ids[0]}").status_code == 200
    assert service.post(ROUTE, said(ended=ends, number=2)).get_json()["refused"] == []
    service.runtime.state.ledger.learn()
    for path in (
        "/v1/files",
        "/v1/sizes",
        "/v1/elements",
        "/metrics",
        f"/v1/files/{ids[0]}",
        "/v1/files/report",
    ):
        answer = service.get(path)
        assert answer.status_code in (200, 404), path
        assert "Infinity" not in answer.text, path


def quickly(service: Any, message: dict[str, Any]) -> Any:
    """Say it as agents do, past Flask; one that takes several steps as well."""
    edge = Edge(service.app)
    try:
        status, _, body = asyncio.run(ask(edge, ROUTE, json.dumps(message).encode()))
    finally:
        edge.close()
    assert status == 200, body
    return json.loads(body)
