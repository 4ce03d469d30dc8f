"""What the agent of each node learns of the elements: the table its programs choose from.

A node gets up to 64 elements of each storage system that is mounted there, in an order of its own, so that
nodes that learn of each other late do not all prefer the same.  What does not change often is sent once for
each revision, loads as rows that changed since the version the node has.

Not safe for use from several threads; its owner holds a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
import ses_core
from ses_core import Query, Records, State
from ses_state import _state

from ses_service.decision.node_order import first_of_own, order_of_own, start_of
from ses_service.decision.rows import Rows
from ses_service.model.columns import Bools, Codes, ElementTable, Floats

MAX_ELEMENTS = 64
CHOSEN_FOR = 10.0  # seconds for which it holds what elements a need accepts, where there are more

# Elements of a node are chosen anew where there are more, on Lustre as often as this (elsewhere each user has
# a directory on each of them, which is to be made first), if a need does not accept this part of its part any
# more, or if the node creates so many files a second and each of its elements has so many times the streams
# of one that its needs accept.
CHOSEN_AGAIN = 0.5  # seconds
_STILL_GOOD = 0.75
CREATES = 0.2
CROWDED = 1.1
_TABLES = 1000  # tables of nodes above which those are forgotten that nobody asked for recently
_FORGOTTEN_AFTER = 600.0


@dataclass(frozen=True, slots=True)
class TableAsked:
    """A node asks for the table of a storage system, of which it has this version of this revision."""

    system: str
    revision: str = ""
    version: int = 0


@dataclass(slots=True)
class _NodeRows:
    """The rows that one node has of one system, in its order."""

    rows: Codes
    facts: int
    number: int
    chosen_at: float
    asked_at: float


@dataclass(frozen=True, slots=True)
class _Acceptable:
    """The rows of a system that take files of a need: as good as the best, along a line of their widths.

    ``among`` says of each row of the site whether it is one of them.
    """

    rows: Codes
    among: Bools
    widths: Floats
    until: float


class NodeTables:
    """The tables of all nodes.  ``name`` is another one with each start of the service."""

    def __init__(self, rows: Rows, arrivals: _state.SystemArrivals, name: str, window: float) -> None:
        self.window = window
        self._rows = rows
        self._arrivals = arrivals
        self._name = name
        self._starts: dict[str, float] = {}
        self._of_nodes: dict[tuple[str, str], _NodeRows] = {}
        self._acceptable: dict[tuple[int, bytes], _Acceptable] = {}
        self._facts: dict[int, bytes] = {}
        self._facts_of: Codes = np.zeros(0, dtype=np.int64)
        self._numbers: Codes = np.zeros(0, dtype=np.int64)
        self._table: object = None
        self._policy = {name: rows.policy[name][0].item() for name in rows.policy.dtype.names or ()}

    def update_for(self, node: str, asked: TableAsked, needs: Sequence[Records], now: float) -> bytes | None:
        """Return what a node gets of a system, as JSON; ``None``: nothing, there is no such system for it.

        ``needs`` are those in use there.
        """
        table = self._rows.table
        if table is None or asked.system not in table.system_names:
            return None
        mounted = table.environment.node_access.get(node)
        if mounted is not None and asked.system not in mounted:
            return None
        self._follow()
        code = table.system_names.index(asked.system)
        of_system = self._rows.of_system[code]
        own = self._node_rows(node, asked.system, code, of_system, needs, now)
        revision = f"{self._name}.{own.facts}.{own.number}"
        whole = revision != asked.revision
        head = orjson.dumps(
            {
                "system": asked.system,
                "revision": revision,
                "version": self._rows.version,
                "sent_at": round(now, 3),
                "total": len(of_system),
                "rate": round(self._arrivals.of_other_nodes(asked.system, node, now), 4),
                "max_age_seconds": self._rows.max_ages[code],
                "rate_window_seconds": self.window,
                "stated": self._rows.stated,
                "policy": self._policy,
            }
        )[:-1]
        elements = b"[%b]" % b",".join(map(self._fact, own.rows.tolist())) if whole else b"null"
        rows, since = self._rows, -1 if whole else asked.version
        loads = _state.loads(rows.elements, rows.sampled_at, rows.changed, own.rows, since, now)
        return b'%b,"elements":%b,"loads":[%b]}' % (head, elements, loads)

    def systems_of_nodes(self) -> dict[str, frozenset[str]]:
        """Return the storage systems of which each node got its table."""
        by_node: dict[str, set[str]] = {}
        for node, system in self._of_nodes:
            by_node.setdefault(node, set()).add(system)
        return {node: frozenset(systems) for node, systems in by_node.items()}

    def forget(self, now: float) -> None:
        """Forget tables nobody asked for recently, if there are many."""
        if len(self._of_nodes) > _TABLES:
            kept = {
                key: rows for key, rows in self._of_nodes.items() if now - rows.asked_at < _FORGOTTEN_AFTER
            }
            self._of_nodes = kept
        self._acceptable = {
            key: acceptable for key, acceptable in self._acceptable.items() if now < acceptable.until
        }

    def _follow(self) -> None:
        """Drop what was made of rows that are another site's."""
        rows = self._rows
        if self._table is not rows.table:
            self._table = rows.table
            self._facts.clear()
            self._numbers = _numbers(rows.table)
            self._facts_of = np.zeros(len(rows.elements), dtype=np.int64)
            self._acceptable.clear()
            self._of_nodes.clear()

    def _node_rows(
        self, node: str, system: str, code: int, of_system: Codes, needs: Sequence[Records], now: float
    ) -> _NodeRows:
        facts = int(self._rows.revisions[code])
        own = self._of_nodes.get((node, system))
        again = CHOSEN_AGAIN if self._is_lustre(system) else CHOSEN_FOR
        if own is None:
            rows = self._chosen(node, code, of_system, needs, now)
            own = self._of_nodes[node, system] = _NodeRows(rows, facts, 0, now, now)
        elif len(of_system) > MAX_ELEMENTS and not 0 <= now - own.chosen_at < again:
            own.chosen_at = now
            creates = self._arrivals.of_node(system, node, now) >= CREATES
            accepted = [self._accepted(code, of_system, need, now) for need in needs]
            if (creates and self._are_crowded(own.rows, accepted)) or not all(
                _still_good(own.rows, acceptable, len(needs)) for acceptable in accepted
            ):
                rows = self._chosen(node, code, of_system, needs, now)
                if not np.array_equal(rows, own.rows):
                    own.rows, own.number = rows, own.number + 1
        own.facts, own.asked_at = facts, now
        return own

    def _is_lustre(self, system: str) -> bool:
        table = self._rows.table
        return table is not None and table.environment.systems[system].backend == "lustre"

    def _chosen(self, node: str, code: int, of_system: Codes, needs: Sequence[Records], now: float) -> Codes:
        start = self._starts.setdefault(node, start_of(len(self._starts)))
        if len(of_system) <= MAX_ELEMENTS:
            return of_system[order_of_own(self._widths(of_system), start)]
        part = max(1, MAX_ELEMENTS // max(1, len(needs)))
        orders = []
        for need in needs:
            rows, widths = (accepted := self._accepted(code, of_system, need, now)).rows, accepted.widths
            orders.append(rows[first_of_own(widths, self._streams(rows), start, MAX_ELEMENTS)].tolist())
        chosen: dict[int, None] = {}
        for limit in (part, MAX_ELEMENTS):  # equal parts first, then what is left over
            for place in range(limit):
                for order in orders:
                    if place < len(order) and len(chosen) < MAX_ELEMENTS:
                        chosen.setdefault(order[place])
        return np.array(list(chosen), dtype=np.int64)

    def _streams(self, rows: Codes) -> Floats:
        elements = self._rows.elements
        streams: Floats = elements["own"][rows] + elements["foreign"][rows]
        return streams

    def _are_crowded(self, rows: Codes, accepted: Sequence[_Acceptable]) -> bool:
        """Whether there are more streams on these rows than on all that needs accept."""
        all_of_them = np.concatenate([acceptable.rows for acceptable in accepted])
        if not len(rows) or not len(all_of_them):
            return False
        return bool(self._streams(rows).mean() > CROWDED * self._streams(all_of_them).mean())

    def _accepted(self, code: int, of_system: Codes, need: Records, now: float) -> _Acceptable:
        key = (code, need.tobytes())
        known = self._acceptable.get(key)
        if known is not None and known.until - CHOSEN_FOR <= now < known.until:
            return known
        query = Query(self._rows.elements[of_system], need, self._rows.policy)
        verdicts = query.verdicts
        query.judge()
        good = verdicts["refusal"] == ses_core.Refusal.ACCEPTED
        if good.any():
            roomy = good & (verdicts["low_space"] == 0)
            good = roomy if roomy.any() else good
            nearest = verdicts["distance"][good].min()
            good &= verdicts["distance"] <= nearest + self._rows.policy["equal_distance"][0]
        rows = of_system[good]
        among = np.zeros(len(self._rows.elements), dtype=np.bool_)
        among[rows] = True
        acceptable = self._acceptable[key] = _Acceptable(rows, among, self._widths(rows), now + CHOSEN_FOR)
        return acceptable

    def _widths(self, rows: Codes) -> Floats:
        """Return how fast elements are; those of which it is not known are taken for average ones."""
        rates = self._rows.elements["write_rate"][rows].astype(np.float64)
        known = rates[~np.isnan(rates)]
        return np.where(np.isnan(rates), np.median(known) if len(known) else 1.0, rates)

    def _fact(self, row: int) -> bytes:
        table, elements = self._rows.table, self._rows.elements
        assert table is not None
        revision = int(self._rows.revisions[table.system[row]])
        if self._facts_of[row] != revision:
            self._facts_of[row] = revision
            element = elements[row]
            self._facts[row] = orjson.dumps(
                {
                    "element": table.elements[row].id,
                    "target": table.elements[row].target,
                    "file_system": table.elements[row].file_system,
                    "number": int(self._numbers[row]),
                    "server": int(element["server"]),
                    "scarce": bool(int(element["state"]) & State.SCARCE),
                    "kept_for": float(element["kept_for"]),
                    "read_rate": float(element["read_rate"]),
                    "write_rate": float(element["write_rate"]),
                    "size": float(element["size"]),
                    "server_rate": float(element["server_rate"]),
                    "stated": element["stated"][: len(self._rows.stated)].tolist(),
                }
            )
        return self._facts[row]


def _numbers(table: ElementTable | None) -> Codes:
    """Return the place of each element among those of its storage system, in the site's own order."""
    systems = np.zeros(0, dtype=np.int64) if table is None else table.system
    numbers = np.zeros(len(systems), dtype=np.int64)
    for code in np.unique(systems):
        of_system = np.flatnonzero(systems == code)
        numbers[of_system] = np.arange(len(of_system))
    return numbers


def _still_good(rows: Codes, acceptable: _Acceptable, parts: int) -> bool:
    """Return whether a need, one of ``parts``, still accepts enough of these rows."""
    part = min(MAX_ELEMENTS // parts, len(acceptable.rows))
    return bool(np.count_nonzero(acceptable.among[rows]) >= _STILL_GOOD * part)
