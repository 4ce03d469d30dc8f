"""The core decides as ses/core.h says: compared with the reference, and by what must always hold."""

import itertools
from random import Random

import core_reference as reference
import numpy as np
import pytest
from core_tables import GB, MB, Question, arbitrary, questions
from hypothesis import assume, given
from hypothesis import strategies as st
from ses_core import Cause, Kind, Order, Query, Refusal, defaults, need, table

NAMES = ("distance", "share", "harm", "refusal", "unmet", "low_space")


@given(questions())
def test_offers_are_those_of_the_reference(question: Question) -> None:
    offers = question.query().predict()
    of_servers = reference.claims_by_server(question.table, question.claims)
    names = ("read", "average_read", "write", "average_write", "free")
    for place, row in enumerate(question.table):
        expected = reference.predict(
            row, float(question.claims[place]), of_servers[place], question.policy[0]
        )
        for kind, name in zip(
            expected, ("read", "average_read", "write", "average_write", "free"), strict=False
        ):
            assert offers[name][place] == pytest.approx(expected[kind], nan_ok=True), (place, name)
    assert set(names) == set(offers.dtype.names)


@given(questions())
def test_streams_on_servers_without_a_limit_decide_nothing(question: Question) -> None:
    question.table["server_rate"] = np.nan
    chosen = [question.query().choose()]
    for streams in (0.0, 1000.0):
        question.table["server_streams"] = streams
        chosen.append(question.query().choose())
    assert len(set(chosen)) == 1


@pytest.mark.parametrize("servers", [2, 40])
def test_claims_on_one_element_leave_less_on_all_of_its_server(servers: int) -> None:
    elements = table(2 * servers)
    elements["read_rate"] = elements["write_rate"] = 500 * MB
    elements["server"] = np.arange(2 * servers) // 2
    elements["server_rate"] = 600 * MB
    claims = np.zeros(2 * servers, np.uint32)
    claims[2:] = 1
    claims[0] = 2
    sums = np.bincount(elements["server"], claims)[elements["server"]].astype(np.uint32)
    for known in (None, sums):
        query = Query(elements, need(), defaults(), claims=claims, server_claims=known)
        query.judge()
        assert query.verdicts["share"][:4] / MB == pytest.approx([500 / 3, 200, 200, 200])
        assert query.predict()["write"][:4] / MB == pytest.approx([500 / 3, 200, 200, 200])


def test_stripes_on_one_server_share_its_link() -> None:
    elements = table(4)
    elements["read_rate"] = elements["write_rate"] = 500 * MB
    elements["free"] = elements["size"] = 1e12
    asked = need((Kind.CURRENT_WRITE, False, False, 900 * MB, 1.0))
    query = Query(elements, asked, defaults())
    query.judge()
    assert len(query.stripe()[0]) == 2
    elements["server_rate"] = 500 * MB
    query.judge()
    assert query.stripe()[1] != Cause.RATE


@given(questions())
def test_verdicts_are_those_of_the_reference(question: Question) -> None:
    query = question.query()
    accepted = query.judge()
    expected = reference.judge(
        question.table, question.claims, question.excluded, question.need[0], question.policy[0]
    )
    for verdict, by_reference in zip(query.verdicts, expected, strict=True):
        for name in NAMES:
            assert verdict[name] == pytest.approx(by_reference[name], rel=1e-5, abs=1e-6, nan_ok=True), name
    assert accepted == sum(judged["refusal"] == Refusal.ACCEPTED for judged in expected)


@given(questions())
def test_order_is_that_of_the_reference_and_so_is_what_is_said_to_decide_it(question: Question) -> None:
    query = question.query()
    query.judge()
    keys = reference.keys(
        question.table,
        question.claims,
        query.verdicts,
        question.need[0],
        question.policy[0],
        question.candidate_limit,
        question.first,
        question.ignores_last_placed,
    )
    ranked = query.rank().tolist()
    assert ranked == sorted(keys, key=keys.__getitem__)
    differ = [
        next(by for by, a, b in zip(reference.ORDERED_BY, keys[before], keys[row], strict=True) if a != b)
        for before, row in itertools.pairwise(ranked)
    ]
    distances = query.verdicts["distance"][ranked]
    for place, by in enumerate(differ, 1):
        if by is Order.DISTANCE and distances[place] <= distances[place - 1]:
            differ[place - 1] = Order.HARM
    rows, by, numbers = query.rank_by()
    assert rows.tolist() == ranked
    assert by.tolist() == [Order.FIRST, *differ][: len(ranked)]
    assert numbers.tolist() == sorted(numbers.tolist())


@given(questions())
def test_choice_is_the_first_in_order(question: Question) -> None:
    query = question.query()
    chosen = query.choose()
    ranked = query.rank(1).tolist()
    assert ranked == ([chosen] if chosen >= 0 else [])


@given(questions(), st.integers(0, 12))
def test_shorter_ranking_is_the_start_of_the_whole(question: Question, most: int) -> None:
    query = question.query()
    query.judge()
    whole = query.rank().tolist()
    assert query.rank(most).tolist() == whole[:most]
    accepted = np.flatnonzero(query.verdicts["refusal"] == Refusal.ACCEPTED).tolist()
    assert sorted(whole) == accepted


@given(questions(), st.randoms(use_true_random=False))
def test_order_of_the_table_only_breaks_ties(question: Question, random: Random) -> None:
    assume(not question.candidate_limit and not question.ignores_last_placed)
    question.table["last_placed"] = np.arange(len(question.table))
    places = list(range(len(question.table)))
    random.shuffle(places)
    first, second = question.query(), question.rows(places).query()
    first.judge()
    second.judge()
    assert first.verdicts[places].tobytes() == second.verdicts.tobytes()
    ranked = first.rank().tolist()
    assert [places[row] for row in second.rank().tolist()] == ranked


@given(questions(), st.data())
def test_claim_never_makes_an_element_better(question: Question, data: st.DataObject) -> None:
    assume(len(question.table))
    place = data.draw(st.integers(0, len(question.table) - 1))
    query = question.query()
    query.judge()
    before = query.verdicts[place].copy()
    question.claims[place] += 1
    query.judge()
    after = query.verdicts[place]
    assert not (after["distance"] < before["distance"] - 1e-6 and after["refusal"] == Refusal.ACCEPTED)
    assert not after["share"] > before["share"]
    assert after["low_space"] >= before["low_space"]
    if before["refusal"] not in (Refusal.ACCEPTED, Refusal.DEGRADED):
        assert after["refusal"] not in (Refusal.ACCEPTED, Refusal.DEGRADED)


def tight(*, streams: int, claims: int, room: float = -1.0) -> bool:
    """Whether a file of unknown size has too little room on an element of 1 TB with 100 GB free."""
    elements = table(1)
    elements["size"], elements["free"], elements["own"] = 1e12, 100 * GB, streams
    query = Query(elements, need(room=room), defaults(), claims=np.array([claims], np.uint32))
    query.judge()
    return bool(query.verdicts["low_space"][0])


@pytest.mark.parametrize(("streams", "claims"), [(16, 0), (0, 16), (9, 7)])
def test_files_that_are_being_written_count_alike_whether_told_or_claimed(streams: int, claims: int) -> None:
    """Each takes three tenths of what the next may need: 17 GB are free for each of 5.8, 18 are not."""
    assert not tight(streams=streams, claims=claims, room=17 * GB)
    assert tight(streams=streams, claims=claims, room=18 * GB)


@pytest.mark.parametrize("room", [-1.0, 0.0, 100e3])
def test_a_storm_of_small_files_makes_no_element_tight(room: float) -> None:
    assert not tight(streams=500, claims=500, room=room)


@pytest.mark.parametrize(("room", "last"), [(-1.0, True), (1 * GB, False)])
def test_a_part_of_the_element_is_kept_free_only_while_no_sizes_are_known(room: float, last: bool) -> None:
    """An element with 4 % free of 20 TB has room for a hundred files such as were there before."""
    elements = table(2)
    elements["write_rate"], elements["size"] = 500 * MB, 20_000 * GB
    elements["free"], elements["own"] = (800 * GB, 19_000 * GB), (0, 5)
    assert Query(elements, need(room=room), defaults()).choose() == (1 if last else 0)


@pytest.mark.parametrize(
    ("rates", "own", "asked", "chosen"),
    [
        ((300, 500), (0, 0), 20, 0),  # the fast one is kept for those who ask for 400
        ((300, 500), (0, 0), 400, 1),  # as this file does
        ((300, 500), (0, 0), None, 1),  # nothing is asked for: the faster
        ((300, 500), (0, 0), 310, 1),  # the other does not meet it
        ((190, 500), (0, 0), 20, 1),  # the other gives less than two fifths
        ((300, 500), (1, 0), 20, 1),  # and so does a used one
        ((300, 500), (0, 1), 20, 0),
        ((490, 500), (1, 0), 20, 1),  # both are fast: as among any others
        ((490, 500), (0, 1), 20, 0),
    ],
)
def test_fast_elements_are_kept_for_those_who_ask_for_more(
    rates: tuple[int, int], own: tuple[int, int], asked: int | None, chosen: int
) -> None:
    elements = table(2)
    elements["write_rate"], elements["kept_for"] = np.array(rates) * MB, 400 * MB
    elements["own"], elements["last_placed"] = own, (2, 1)
    wanted = [] if asked is None else [(Kind.CURRENT_WRITE, False, False, asked * MB, 1.0)]
    policy = defaults()
    query = Query(elements, need(*wanted), policy)
    assert query.choose() == chosen
    kept = query.rank_by()[1].tolist()[1] == Order.KEPT
    assert kept == (chosen == 0 and max(rates) != 490 and rates[0] < 400)
    policy["kept_share"] = 1000.0
    assert Query(elements, need(*wanted), policy).choose() == int(own[0] >= own[1])


@given(arbitrary())
def test_any_bytes_have_a_total_order(question: Question) -> None:
    query = question.query()
    chosen = query.choose()
    ranked = query.rank().tolist()
    accepted = np.flatnonzero(query.verdicts["refusal"] == Refusal.ACCEPTED).tolist()
    assert sorted(ranked) == accepted
    assert chosen == (ranked[0] if ranked else -1)
    assert set(query.stripe()[0].tolist()) <= set(accepted)


@given(questions())
def test_stripes_are_those_of_the_reference(question: Question) -> None:
    query = question.query()
    query.judge()
    ranked = query.rank().tolist()
    expected = reference.stripe(question.table, question.claims, ranked, question.need[0], question.policy[0])
    rows, cause = query.stripe()
    if len(ranked) < 2:  # there is nothing to decide
        assert (rows.tolist(), cause) == (ranked, Cause.NOTHING)
    else:
        assert (rows.tolist(), cause) == expected


@given(questions(), st.integers(0, 12))
def test_stripes_keep_within_the_room_for_them(question: Question, most: int) -> None:
    query = question.query()
    chosen = query.choose()
    rows = query.stripe(most)[0].tolist()
    assert len(rows) <= most
    assert len(set(rows)) == len(rows)
    if chosen >= 0 and most:
        assert rows[0] == chosen
