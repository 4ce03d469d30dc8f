"""Generated questions about tables: sensible ones, with everything that may be unknown, and any bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import ses_core
from hypothesis import strategies as st
from ses_core import Kind, Query, State

MB, GB = 1e6, 1e9
NAN = float("nan")


@dataclass
class Question:
    table: Any
    need: Any
    policy: Any
    claims: Any
    excluded: list[bool]
    few: int = 0
    first: int = 0
    keeps_place: bool = False

    def query(self) -> Query:
        words = np.zeros((len(self.table) + 63) // 64, np.uint64)
        for place, out in enumerate(self.excluded):
            words[place // 64] |= np.uint64(int(out) << place % 64)
        return Query(
            self.table,
            self.need,
            self.policy,
            claims=self.claims,
            excluded=words,
            few=self.few,
            first=self.first,
            keeps_place=self.keeps_place,
        )

    def rows(self, places: list[int]) -> Question:
        """The same question about these rows, in this order."""
        excluded = [self.excluded[place] for place in places]
        return Question(
            self.table[places].copy(),
            self.need,
            self.policy,
            self.claims[places].copy(),
            excluded,
            self.few,
            self.first,
            self.keeps_place,
        )


_rates = st.sampled_from([NAN, 0.0, 20 * MB, 90 * MB, 100 * MB, 110 * MB, 500 * MB, 2 * GB, 1e15])
_sizes = st.sampled_from([NAN, 0.0, 1e6, 50 * GB, 100 * GB, 1e12, 1e18])
_parts = st.sampled_from([NAN, 0.0, 0.03, 0.5, 0.96, 0.97, 1.0])
_streams = st.sampled_from([0.0, 0.25, 1.0, 1.5, 7.0])
_states = st.sampled_from([State(0)] * 6 + list(State) + [State.SCARCE, State.SCARCE, State.DEGRADED])

_row = st.fixed_dictionaries(
    {
        "read_rate": _rates,
        "write_rate": _rates,
        "size": _sizes,
        "free": _sizes,
        "reserved": st.sampled_from([0.0, 1e6, 40 * GB]),
        "server_rate": st.sampled_from([NAN, NAN, 150 * MB, 3 * GB]),
        "last_placed": st.integers(0, 3),
        "busy": _parts,
        "busy_average": _parts,
        "others": _streams,
        "others_average": _streams,
        "own": st.sampled_from([0.0, 0.0, 1.0, 3.0]),
        "server_streams": _streams,
        "promised": st.sampled_from([0.0, 0.0, 30 * MB, 100 * MB]),
        "promised_hard": st.sampled_from([0.0, 0.0, 50 * MB]),
        "promises": st.sampled_from([0.0, 1.0, 3.0]),
        "kept_for": st.sampled_from([0.0, 20 * MB, 60 * MB, 500 * MB]),
        "state": _states.map(int),
        "server": st.integers(0, 3),
    }
)
_requirement = st.tuples(
    st.sampled_from([*Kind, Kind.STATED_FIRST + 3]),
    st.booleans(),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([0.0, 1.0, 30 * MB, 100 * MB, 700 * MB, 1e11]),
    st.sampled_from([0.5, 1.0, 3.0]),
)
sizes = st.sampled_from([-1.0, -1.0, 0.0, 1e6, 600 * MB, 60 * GB])


@st.composite
def questions(draw: st.DrawFn, most: int = 12) -> Question:
    count = draw(st.integers(0, most))
    table = ses_core.table(count)
    for place in range(count):
        for name, value in draw(_row).items():
            table[name][place] = value
        table["stated"][place] = draw(st.sampled_from([NAN, 0.5, 40 * MB]))
    asked = draw(st.lists(_requirement, max_size=3))
    need = ses_core.need(
        *asked, size=draw(sizes), room=draw(sizes), stripes=draw(st.sampled_from([0, 0, 1, 3, 9]))
    )
    policy = ses_core.defaults()
    policy["kept_share"] = draw(st.sampled_from([0.0, 0.4, 1000.0]))
    policy["most_stripes"] = draw(st.sampled_from([1, 2, 8, 100]))
    policy["overrule_hints"] = draw(st.booleans())
    claims = np.array(
        draw(st.lists(st.sampled_from([0, 0, 1, 4]), min_size=count, max_size=count)), np.uint32
    )
    excluded = draw(st.lists(st.sampled_from([False] * 5 + [True]), min_size=count, max_size=count))
    first = draw(st.integers(0, max(0, count - 1)))
    few, keeps_place = draw(st.sampled_from([0, 0, 1, 3])), draw(st.booleans())
    return Question(table, need, policy, claims, excluded, few, first, keeps_place)


@st.composite
def arbitrary(draw: st.DrawFn) -> Question:
    """Any bytes as table, need and claims; the policy is a site's own."""
    count = draw(st.integers(0, 6))
    table = np.frombuffer(
        draw(st.binary(min_size=128 * count, max_size=128 * count)), ses_core.ELEMENT
    ).copy()
    size = ses_core.NEED.itemsize
    need = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), ses_core.NEED).copy()
    claims = np.frombuffer(draw(st.binary(min_size=4 * count, max_size=4 * count)), np.uint32).copy()
    return Question(table, need, ses_core.defaults(), claims, [False] * count, draw(st.integers(0, 3)))
