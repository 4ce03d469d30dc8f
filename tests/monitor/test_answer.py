"""The bytes of an answer: what is kept of a record for the next answer, and what is not."""

import json
from dataclasses import replace

import pytest
from smed_monitor.core.model import Moment, Observation, RatePair, Record, State
from smed_monitor.core.rates import Windows
from smed_monitor.http.answer import observations_json
from smed_monitor.http.schemas import ObservationsOut
from smed_monitor.state.table import Snapshot

WINDOWS = Windows(current=2.0, average=60.0, max_gap=3.0)
SEEN = Record(
    element="fs/OST0000",
    source="lustre_hpe",
    target="http://oss1:9169/metrics",
    at=Moment(monotonic=50.0, wall=1.8e9),
    read=RatePair(1e6, 2e6),
    free_bytes=1e12,
    missing=False,
    detail="",
)


def answered(*observations: Observation) -> list[dict[str, object]]:
    body = observations_json(Snapshot(7, observations), WINDOWS)
    ObservationsOut.model_validate_json(body)
    observed: list[dict[str, object]] = json.loads(body)["observations"]
    return observed


def test_state_age_and_detail_are_those_of_the_moment_of_asking() -> None:
    first = answered(Observation(SEEN, State.OK, 0.25, ""))
    later = answered(Observation(SEEN, State.STALE, 9.5, 'gave "nothing"'))
    assert (first[0]["state"], first[0]["age_seconds"], first[0]["detail"]) == ("ok", 0.25, "")
    assert (later[0]["state"], later[0]["age_seconds"]) == ("stale", 9.5)
    assert later[0]["detail"] == 'gave "nothing"'
    assert later[0]["free_bytes"] == 1e12


def test_a_record_is_encoded_for_the_first_answer_only() -> None:
    record = replace(SEEN)
    answered(Observation(record, State.OK, 0.1, ""))
    encoded = record.encoded
    assert encoded is not None
    answered(Observation(record, State.OK, 0.2, ""))
    assert record.encoded is encoded


def test_a_record_made_from_another_is_encoded_afresh() -> None:
    answered(Observation(SEEN, State.OK, 0.1, ""))
    fuller = replace(SEEN, free_bytes=5.0)
    assert answered(Observation(fuller, State.OK, 0.1, ""))[0]["free_bytes"] == 5.0


def test_neighbours_with_the_same_age_keep_their_own_state() -> None:
    other = replace(SEEN, element="fs/OST0001", missing=True)
    states = [
        Observation(SEEN, State.OK, 0.1, ""),
        Observation(other, State.MISSING, 0.1, "is gone"),
        Observation(replace(SEEN, element="fs/OST0002"), State.OK, 0.1, ""),
    ]
    assert [each["state"] for each in answered(*states)] == ["ok", "missing", "ok"]


@pytest.mark.parametrize("flag", ["read_only", "degraded", "no_create"])
def test_each_flag_of_an_element_is_reported(flag: str) -> None:
    plain, flagged = answered(
        Observation(SEEN, State.OK, 0.1, ""),
        Observation(replace(SEEN, **{flag: True}), State.OK, 0.1, ""),  # type: ignore[arg-type]
    )
    assert (plain[flag], flagged[flag]) == (False, True)
