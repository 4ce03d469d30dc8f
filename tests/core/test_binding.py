"""The Python package reads the core's structs as they lie in memory, and names its numbers rightly."""

from enum import IntEnum, IntFlag

import numpy as np
import pytest
import ses_core
from ses_core import Cause, Kind, Order, Query, Refusal, State
from ses_core._core import ffi


@pytest.mark.parametrize("name", ["element", "sample", "policy", "requirement", "need", "offer", "verdict"])
def test_dtype_is_the_struct(name: str) -> None:
    dtype = getattr(ses_core, name.upper())
    struct = ffi.typeof(f"struct ses_core_{name}")
    assert dtype.itemsize == ffi.sizeof(struct)
    assert dtype.names == tuple(field for field, _ in struct.fields if field != "padding")
    for field, description in struct.fields:
        if field != "padding":
            inner, offset = dtype.fields[field][:2]
            assert offset == description.offset
            assert inner.itemsize == ffi.sizeof(description.type)


@pytest.mark.parametrize(
    ("ours", "theirs", "prefix"),
    [
        (State, "state", "SES_CORE_"),
        (Kind, "kind", "SES_CORE_"),
        (Refusal, "refusal", "SES_CORE_REFUSED_"),
        (Cause, "cause", "SES_CORE_BY_"),
        (Order, "order", "SES_CORE_ORDER_"),
    ],
)
def test_enumerations_name_the_numbers_of_the_header(
    ours: type[IntEnum] | type[IntFlag], theirs: str, prefix: str
) -> None:
    declared = ffi.typeof(f"enum ses_core_{theirs}").relements
    names = {name.removeprefix(prefix).removeprefix("SES_CORE_"): value for name, value in declared.items()}
    assert names == {our.name: our.value for our in ours}


def idle_table(count: int) -> ses_core.Records:
    table = ses_core.table(count)
    table["write_rate"] = table["read_rate"] = 1e8
    return table


def test_changes_of_the_arrays_are_seen_without_a_new_query() -> None:
    table = idle_table(3)
    claims = np.zeros(3, np.uint32)
    excluded = np.zeros(1, np.uint64)
    query = Query(table, ses_core.need(), ses_core.defaults(), claims=claims, excluded=excluded)
    assert query.choose() == 0
    table["own"][0] = 1
    assert query.choose() == 1
    claims[1] = 1
    assert query.choose() == 2
    excluded[0] = 1 << 2
    assert query.choose() in (0, 1)
    assert query.verdicts["refusal"][2] == Refusal.EXCLUDED


def test_requirement_reaches_the_core() -> None:
    table = idle_table(2)
    table["write_rate"] = [1e8, 4e8]
    query = Query(table, ses_core.need((Kind.CURRENT_WRITE, True, False, 2e8, 1.0)), ses_core.defaults())
    assert query.judge() == 1
    assert query.verdicts["refusal"].tolist() == [Refusal.REQUIREMENT, Refusal.ACCEPTED]
    assert query.verdicts["distance"][0] == pytest.approx(0.5)
    assert query.rank().tolist() == [1]


def test_elements_that_were_not_seen_take_no_sample() -> None:
    table = idle_table(2)
    samples = np.zeros(2, ses_core.SAMPLE)
    samples["busy"] = [0.5, np.nan]
    samples["queue"] = np.nan
    policy = ses_core.defaults()
    ses_core.observe(table, samples, policy)
    assert table["busy"][0] == 0.5
    assert np.isnan(table["busy"][1])
    assert table["foreign"][1] == policy["unseen_foreign"][0]


def test_arrays_of_another_shape_are_refused() -> None:
    table = idle_table(4)
    need, policy = ses_core.need(), ses_core.defaults()
    with pytest.raises(TypeError):
        Query(table[::2], need, policy)
    with pytest.raises(TypeError):
        Query(table["own"], need, policy)
    with pytest.raises(ValueError, match="4 values"):
        Query(table, need, policy, claims=np.zeros(3, np.uint32))
    with pytest.raises(ValueError, match="1 values"):
        Query(table, need, policy, excluded=np.zeros(0, np.uint64))
    with pytest.raises(ValueError, match="2 values"):
        ses_core.observe(table[:2], np.zeros(1, ses_core.SAMPLE), policy)


def test_empty_table_refuses_quietly() -> None:
    query = Query(ses_core.table(0), ses_core.need(), ses_core.defaults())
    assert query.judge() == 0
    assert query.choose() < 0
    assert query.rank().tolist() == []
    assert query.stripe()[0].tolist() == []


def test_of_equals_the_least_recently_used_is_taken() -> None:
    table = idle_table(3)
    table["last_placed"] = [7, 5, 6]
    assert Query(table, ses_core.need(), ses_core.defaults()).choose() == 1
    table["own"] = 1
    assert Query(table, ses_core.need(), ses_core.defaults(), candidate_limit=3).choose() == 1


def test_last_use_of_idle_equals_does_not_count_where_few_are_compared() -> None:
    table = idle_table(3)
    table["last_placed"] = [7, 5, 6]
    assert Query(table, ses_core.need(), ses_core.defaults(), candidate_limit=3).choose() == 0


def test_claims_take_room_of_known_sizes() -> None:
    table = idle_table(1)
    table["free"] = 15e6
    claims = np.zeros(1, np.uint32)
    query = Query(table, ses_core.need(size=1e7), ses_core.defaults(), claims=claims)
    assert query.judge() == 1
    claims[0] = 1
    assert query.judge() == 0
    assert query.verdicts["refusal"][0] == Refusal.NO_ROOM
