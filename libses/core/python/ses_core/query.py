"""Questions about a table of elements, asked of the core as the arrays lie in memory.

Nothing is copied: a caller may change a table, a need or a policy between two calls, and the next answer
heeds it. Calls release the interpreter's lock; nobody may change the arrays of a call while it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ses_core._core import ffi, lib
from ses_core.layout import ELEMENT, NEED, OFFER, POLICY, SAMPLE, VERDICT, Cause

# A structured array of one dimension; its dtype is checked where it is taken.
Records = NDArray[Any]
Rows = NDArray[np.uint32]
Words = NDArray[np.uint64]

_WORD, _BY, _KEY = map(np.dtype, (np.uint64, np.uint8, np.float64))


def _pointer(array: NDArray[Any], dtype: np.dtype[Any], kind: str, *, least: int, write: bool = False) -> Any:
    """Return where the values of ARRAY lie, which holds at least LEAST of them."""
    if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
        raise TypeError(f"not an array of {kind} in one piece: {array.dtype}, shape {array.shape}")
    if len(array) < least:
        raise ValueError(f"{least} values of {kind} are needed, {len(array)} are there")
    return ffi.from_buffer(f"{kind}[]", array, require_writable=write)


def defaults() -> Records:
    """Return the policy that holds where a site changes nothing, as an array of one."""
    policy = np.zeros(1, POLICY)
    lib.ses_core_defaults(_pointer(policy, POLICY, "struct ses_core_policy", least=1, write=True))
    return policy


def table(count: int) -> Records:
    """Return COUNT elements of which nothing is known: no load, no rate, no size."""
    elements = np.zeros(count, ELEMENT)
    for name in ("read_rate", "write_rate", "size", "free", "server_rate", "busy", "busy_average", "stated"):
        elements[name] = np.nan
    return elements


def need(
    *requirements: tuple[int, bool, bool, float, float],
    size: float = -1.0,
    room: float = -1.0,
    stripes: int = 0,
) -> Records:
    """Return what one file needs, as an array of one.

    A requirement is its kind, whether it is hard, whether it is the most that is allowed, its bound and
    its weight. SIZE and ROOM are bytes; negative where they are not known. STRIPES is the number the
    program asks for.
    """
    asked = np.zeros(1, NEED)
    if len(requirements) > asked["requirements"].shape[1]:
        raise ValueError(f"more than {asked['requirements'].shape[1]} requirements of one file")
    asked["bytes"] = size
    asked["room"] = room
    asked["stripes"] = stripes
    asked["count"] = len(requirements)
    for place, entry in enumerate(requirements):
        asked["requirements"][0, place] = entry
    return asked


def observe(elements: Records, samples: Records, policy: Records) -> None:
    """Take ``samples[i]`` of ``elements[i]``, where ``busy`` is NaN for an element that was not seen."""
    lib.ses_core_observe_all(
        _pointer(elements, ELEMENT, "struct ses_core_element", least=0, write=True),
        _pointer(samples, SAMPLE, "struct ses_core_sample", least=len(elements)),
        len(elements),
        _pointer(policy, POLICY, "struct ses_core_policy", least=1),
    )


class Query:
    """A question about a table; holds the arrays it is made of, and the pointers to them.

    CLAIMS: a uint32 per row; SERVER_CLAIMS: their sum on the server of each row, for one who keeps it, else
    it is found. EXCLUDED: a bit per row, in words of 64. CANDIDATE_LIMIT: compare only so many of the
    nearest rows. FIRST: the row at which the order of the table begins; IGNORES_LAST_PLACED: `last_placed`
    does not count.
    ``verdicts``, one per row, are those of the last :meth:`judge` or :meth:`choose`.
    """

    def __init__(
        self,
        elements: Records,
        need: Records,
        policy: Records,
        *,
        claims: Rows | None = None,
        server_claims: Rows | None = None,
        excluded: Words | None = None,
        candidate_limit: int = 0,
        first: int = 0,
        ignores_last_placed: bool = False,
    ) -> None:
        count = len(elements)
        self.elements = elements
        self.verdicts: Records = np.zeros(count, VERDICT)
        self._rows: Rows = np.zeros(count, np.uint32)
        self._scratch: Rows = np.zeros(count, np.uint32)
        self._query = ffi.new("struct ses_core_query *")
        held = {
            "elements": _pointer(elements, ELEMENT, "struct ses_core_element", least=count),
            "need": _pointer(need, NEED, "struct ses_core_need", least=1),
            "policy": _pointer(policy, POLICY, "struct ses_core_policy", least=1),
        }
        if claims is not None:
            held["claims"] = _pointer(claims, np.dtype(np.uint32), "uint32_t", least=count)
        if server_claims is not None:
            held["server_claims"] = _pointer(server_claims, np.dtype(np.uint32), "uint32_t", least=count)
        if excluded is not None:
            held["excluded"] = _pointer(excluded, _WORD, "uint64_t", least=(count + 63) // 64)
        for name, pointer in held.items():
            setattr(self._query, name, pointer)
        self._held = held  # keeps the arrays alive
        self._query.count = count
        self.candidate_limit = candidate_limit
        self.first = first
        self.ignores_last_placed = ignores_last_placed
        self._verdicts = _pointer(self.verdicts, VERDICT, "struct ses_core_verdict", least=count, write=True)
        self._rows_pointer = ffi.from_buffer("uint32_t[]", self._rows, require_writable=True)
        self._scratch_pointer = ffi.from_buffer("uint32_t[]", self._scratch, require_writable=True)
        self._cause = ffi.new("enum ses_core_cause *")

    def __repr__(self) -> str:
        return f"<Query of {len(self.elements)} elements>"

    def ask(self, need: Records, excluded: Words | None = None) -> None:
        """Ask for another need, and leave other rows out."""
        self._query.need = self._held["need"] = _pointer(need, NEED, "struct ses_core_need", least=1)
        self._held["excluded"] = ffi.NULL
        if excluded is not None:
            least = (len(self.elements) + 63) // 64
            self._held["excluded"] = _pointer(excluded, _WORD, "uint64_t", least=least)
        self._query.excluded = self._held["excluded"]

    @property
    def candidate_limit(self) -> int:
        """How many of the nearest rows are compared; 0: all."""
        return int(self._query.candidate_limit)

    @candidate_limit.setter
    def candidate_limit(self, candidate_limit: int) -> None:
        self._query.candidate_limit = candidate_limit

    @property
    def first(self) -> int:
        """The row at which the order of the table begins."""
        return int(self._query.first)

    @first.setter
    def first(self, first: int) -> None:
        if not 0 <= first < max(1, len(self.elements)):
            raise ValueError(f"there is no row {first}")
        self._query.first = first

    @property
    def ignores_last_placed(self) -> bool:
        """Whether `last_placed` does not count."""
        return bool(self._query.ignores_last_placed)

    @ignores_last_placed.setter
    def ignores_last_placed(self, keeps: bool) -> None:
        self._query.ignores_last_placed = keeps

    def judge(self) -> int:
        """Filter and judge every row; return how many are accepted."""
        return int(lib.ses_core_judge(self._query, self._verdicts))

    def choose(self) -> int:
        """Judge, and return the first row in order; negative when every element is refused."""
        return lib.ses_core_choose(self._query, self._verdicts)  # type: ignore[no-any-return]

    def rank(self, most: int | None = None) -> Rows:
        """Return the first MOST accepted rows in order, of the last verdicts; the next call changes them."""
        most = len(self._rows) if most is None else min(most, len(self._rows))
        return self._rows[: lib.ses_core_rank(self._query, self._verdicts, self._rows_pointer, most)]

    def rank_by(self, most: int | None = None) -> tuple[Rows, NDArray[np.uint8], NDArray[np.float64]]:
        """Return what ``rank()`` does, and what puts each of these rows after the one before it (``Order``).

        And the numbers that are compared of each, the smaller first, in columns from ``Order.ROOM`` on.
        """
        most = len(self._rows) if most is None else min(most, len(self._rows))
        by, keys = np.zeros(most, np.uint8), np.zeros((most, lib.SES_CORE_KEYS), np.float64)
        count = lib.ses_core_rank_by(
            self._query,
            self._verdicts,
            self._rows_pointer,
            most,
            _pointer(by, _BY, "uint8_t", least=0, write=True),
            _pointer(keys.reshape(-1), _KEY, "double", least=0, write=True),
        )
        return self._rows[:count], by[:count], keys[:count]

    def stripe(self, most: int | None = None) -> tuple[Rows, Cause]:
        """Return the rows one file is spread over, of the last verdicts, and what decided how many."""
        most = len(self._rows) if most is None else min(most, len(self._rows))
        count = lib.ses_core_stripe(
            self._query, self._verdicts, self._scratch_pointer, self._rows_pointer, most, self._cause
        )
        return self._rows[:count], Cause(self._cause[0])

    def predict(self, rows: NDArray[np.int64] | None = None) -> Records:
        """Return what a stream that starts now would get of each row, or of each of ROWS without claims."""
        offers = np.zeros(len(self.elements) if rows is None else len(rows), OFFER)
        into = _pointer(offers, OFFER, "struct ses_core_offer", least=0, write=True)
        if rows is None:
            lib.ses_core_predict_all(self._query, into)
            return offers
        at = rows.tolist()
        if at and not 0 <= min(at) <= max(at) < len(self.elements):
            raise IndexError(f"rows from {min(at)} to {max(at)} of {len(self.elements)}")
        elements = self._query.elements
        for place, row in enumerate(at):
            lib.ses_core_predict(elements + row, 0.0, into + place)
        return offers
