"""Nodes that are alike, and what a stream on them would get of the best elements each can reach.

The prediction is the one for files, by the core.  The link of a node, and one it shares with others, limit
it as the network of a server limits its elements: the rate by the streams there and the newcomer.  The work
grows with groups of nodes that are alike, not with nodes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import ses_core
from ses_core import Query, Records, Refusal, State

from ses_service.decision.explain import refusals
from ses_service.decision.needs import need_of
from ses_service.decision.nodes import Fleet, LimitedBy, NodesQuestion
from ses_service.decision.question import Question, View
from ses_service.decision.selection import words
from ses_service.ledger.exclusions import ExcludedOn
from ses_service.ledger.placement import Reason
from ses_service.model.columns import Bools, Codes, Floats
from ses_service.model.policies import Policies

_SHORTLIST = 16  # elements among which the best is looked for where a link limits the stream
_MAX_SHORTLIST = 4096
_MAX_ROWS = 4000  # judged at once, beyond one for each group
LIMITS = (LimitedBy.ELEMENT, LimitedBy.LINK, LimitedBy.UPLINK)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Nodes of one class that exclude the same elements.

    ``of_node`` is the kind of each node of the fleet.  By kind, ``of_class`` is its class, and ``access`` the
    place in ``reached`` of what it mounts (``None``: all) and the elements of this that it excludes.
    """

    of_node: Codes
    of_class: Codes
    access: Codes
    reached: Sequence[tuple[frozenset[str] | None, frozenset[str]]]


@dataclass(slots=True)
class Reach:
    """What nodes that mount and exclude the same reach: rows of the site, the best first.

    ``claims`` are the streams given to each, and ``on_server`` those given to all elements of its server.
    Without any row, ``reason`` and ``detail`` say why.
    """

    rows: Codes
    query: Query
    claims: ses_core.Rows
    on_server: ses_core.Rows
    reason: Reason = Reason.UNREACHABLE
    detail: str = ""

    def give(self, place: int) -> None:
        """Count one more stream on one row."""
        servers = self.query.elements["server"]
        self.claims[place] += 1
        self.on_server[servers == servers[place]] += 1


@dataclass(frozen=True, slots=True)
class Groups:
    """Nodes that are alike: of one class and kind, with as many open files.

    ``first`` is the place in the fleet of the first of each.  By node, ``numbers`` has its group, -1 for a
    node that is not wanted.
    """

    of_class: Codes
    access: Codes
    streams: Codes
    first: Codes
    numbers: Codes

    def members(self, group: int) -> list[int]:
        """Return the places of a group's nodes in the fleet."""
        return np.flatnonzero(self.numbers == group).tolist()


@dataclass(frozen=True, slots=True)
class Judged:
    """By group: the best element, as a place in its shortlist (-1: none may be used), and what is there.

    ``rows`` are those elements' rows of the site; ``limits`` say what each stream waits for.
    """

    places: Codes
    rows: Codes
    verdicts: Records
    offers: Records
    limits: list[LimitedBy]


class NodeGroups:
    """The nodes a question is about, in groups, and what each would get.

    Once made, it holds all it needs: the view may change.
    """

    def __init__(
        self, asked: NodesQuestion, view: View, fleet: Fleet, streams: Mapping[str, int], policies: Policies
    ) -> None:
        self.asked, self.fleet, self.table = asked, fleet, view.table
        self.policy = view.rows.policy
        question = asked.question
        self.need = need_of(
            question.wanted, view.rows.stated, size=question.expected_bytes, room=question.room
        )
        self.streams = np.zeros(len(fleet.names), dtype=np.int64)
        at = np.fromiter(map(fleet.index.get, streams, repeat(-1)), np.int64, len(streams))
        np.add.at(self.streams, at[at >= 0], np.fromiter(streams.values(), np.int64, len(at))[at >= 0])
        self.uplink_streams = np.zeros(len(fleet.uplinks))
        uplink = fleet.uplink[fleet.of_class]
        if len(fleet.uplinks):
            self.uplink_streams += np.bincount(uplink + 1, self.streams, len(fleet.uplinks) + 1)[1:]
        among = np.ones(len(fleet.names), dtype=np.bool_)
        if asked.among is not None:
            among = fleet.places(asked.among)
        self.excluded: Bools = among & fleet.places(asked.exclude)
        self.looked_at = int(among.sum())
        kinds = _kinds(fleet, view.excluded)
        self.groups = _grouped(kinds, self.streams, among & ~self.excluded)
        self.access = self.groups.access
        self.reach = {
            code: self._reach(*kinds.reached[code], view, policies)
            for code in map(int, np.unique(self.access))
        }
        self._ends = np.cumsum([0, *(len(reached.rows) for reached in self.reach.values())])
        self._rows = np.concatenate([np.full(1, -1), *(reached.rows for reached in self.reach.values())])

    def judge(self) -> Judged:
        """Return what a stream would get in each group; claims and streams of shared links count."""
        count = len(self.groups.streams)
        width = 1 if self.asked.count > 1 else max(1, min(_SHORTLIST, _MAX_ROWS // max(1, count)))
        places, table = self._best_rows(count, width)
        before = Query(table, self.need, self.policy).predict()
        limits = self._limit(table, np.repeat(np.arange(count), width))
        query = Query(table, self.need, self.policy)
        query.judge()
        verdicts, offers = query.verdicts, query.predict()
        shape = (count, width)
        worse = np.floor(verdicts["distance"] / self.policy["equal_distance"][0] + 1e-6)
        worse = np.where(verdicts["refusal"] != 0, np.inf, worse + 1e6 * verdicts["low_space"]).reshape(shape)
        first = np.argmin(worse, axis=1)
        chosen = np.arange(count) * width + first
        usable = np.isfinite(worse[np.arange(count), first])
        limited = (offers["write"] < before["write"]) | (offers["read"] < before["read"])
        at = places.ravel()[chosen]
        begin = dict(zip(self.reach, self._ends.tolist(), strict=False))
        begins = np.array([begin[code] for code in self.access.tolist()], dtype=np.int64)
        return Judged(
            places=np.where(usable, at, -1),
            rows=self._rows[np.where(at >= 0, begins + at + 1, 0)],
            verdicts=verdicts[chosen],
            offers=offers[chosen],
            limits=[LIMITS[which] for which in np.where(limited[chosen], limits[chosen], 0).tolist()],
        )

    def _reach(
        self, mounted: frozenset[str] | None, lacking: frozenset[str], view: View, policies: Policies
    ) -> Reach:
        question, table = self.asked.question, view.table
        usable = [
            (mounted is None or name in mounted) and question.is_about(name, table)
            for name in table.system_names
        ]
        left_out: Bools = ~np.array(usable, dtype=np.bool_)[table.system]
        here = [name for name in sorted(lacking) if not left_out[table.index[name]]]
        left_out[[table.index[name] for name in here]] = True
        query = view.rows.query
        query.ask(self.need, words(left_out) if left_out.any() else None)
        query.judge()
        limit = min(_MAX_SHORTLIST, max(_SHORTLIST, 2 * self.asked.count))
        rows = query.rank(limit).astype(np.int64)
        if self.asked.count > 1:
            rows = _servers_round_robin(rows, table.server)
        elements = view.rows.elements[rows]
        elements["state"] &= ~np.uint32(State.DEGRADED)  # heeded among all elements, not among these
        claims, on_server = np.zeros((2, len(rows)), dtype=np.uint32)
        own = Query(
            elements,
            self.need,
            view.rows.policy,
            claims=claims,
            server_claims=on_server,
            ignores_last_placed=True,
        )
        if len(rows):
            return Reach(rows, own, claims, on_server)
        if here and left_out.all():
            why = f"{here[0]} is {view.excluded[here[0]].sentence()}."
            return Reach(rows, own, claims, on_server, Reason.EXCLUDED, why)
        return Reach(rows, own, claims, on_server, *_why_nothing(question, view, left_out, policies))

    def _best_rows(self, count: int, width: int) -> tuple[Codes, Records]:
        """Return for each group the first places of its shortlist, -1 beyond its end, and these elements."""
        places = np.full((count, width), -1, dtype=np.int64)
        table = ses_core.table(count * width)
        table["state"] = State.INACTIVE
        for code, reach in self.reach.items():
            if not len(reach.rows):
                continue
            best = np.arange(min(width, len(reach.rows)))
            if self.asked.count > 1:
                best = np.array([max(0, reach.query.choose())])
            elements = reach.query.elements[best].copy()
            elements["own"] += reach.claims[best]
            elements["server_streams"] += reach.on_server[best]
            elements["reserved"] += reach.claims[best] * max(0.0, float(self.need["bytes"][0]))
            mine = np.flatnonzero(self.access == code)
            places[mine, : len(best)] = best
            table[(mine[:, None] * width + np.arange(len(best))).ravel()] = np.tile(elements, len(mine))
        return places, table

    def _limit(self, table: Records, groups: Codes) -> Codes:
        """Let links limit rows as a server's network would; return which of the limits is the tightest."""
        of_class = self.groups.of_class[groups]
        uplink = self.fleet.uplink[of_class]
        rates = np.stack(
            [table["server_rate"], self.fleet.link[of_class], _by(uplink, self.fleet.uplink_rate)]
        )
        there = np.stack(
            [
                table["server_streams"].astype(np.float64),
                self.groups.streams[groups].astype(np.float64),
                _by(uplink, self.uplink_streams),
            ]
        )
        shares = np.where(np.isnan(rates), np.inf, rates / (there + 1.0))
        tightest: Codes = np.argmin(shares, axis=0)
        at = np.arange(len(table))
        table["server_rate"] = rates[tightest, at]
        table["server_streams"] = np.nan_to_num(there[tightest, at])
        return tightest


def _by(places: Codes, values: Floats) -> Floats:
    """Return the value at each place, ``nan`` for -1."""
    picked: Floats = np.append(values, np.nan)[places]
    return picked


def _servers_round_robin(rows: Codes, servers: Codes) -> Codes:
    """Return rows so that one of each server comes before the second of any."""
    rounds: dict[int, int] = {}
    round_of = []
    for server in servers[rows].tolist():
        rounds[server] = rounds.get(server, -1) + 1
        round_of.append(rounds[server])
    return rows[np.argsort(round_of, kind="stable")]


def _why_nothing(question: Question, view: View, left_out: Bools, policies: Policies) -> tuple[Reason, str]:
    """Return why no element may be used of those that are not left out, and the nearest of them."""
    if left_out.all():
        mounted = question.storage_system or "a storage system that the site describes"
        return Reason.UNREACHABLE, f"They do not mount {mounted}."
    verdicts = view.rows.query.verdicts
    missed = ~left_out & (verdicts["refusal"] == Refusal.REQUIREMENT)
    rows = np.flatnonzero(missed if missed.any() else ~left_out)
    nearest = rows[np.argmin(verdicts["distance"][rows])]
    (refusal,) = refusals(question, view, verdicts, np.array([nearest]), policies)
    return refusal.reason, f"{refusal.element} is the nearest. {refusal.detail}"


def _kinds(fleet: Fleet, excluded: Mapping[str, ExcludedOn]) -> Kinds:
    everywhere = frozenset(name for name, exclusion in excluded.items() if exclusion.everywhere)
    own = defaultdict[int, set[str]](set)
    for name in excluded.keys() - everywhere:
        for place in map(fleet.index.get, excluded[name].nodes):
            if place is not None:
                own[place].add(name)
    of_node, of_class, access = fleet.of_class.copy(), list(range(len(fleet.classes))), fleet.access.tolist()
    reached = [(mounted, everywhere) for mounted in fleet.mounts]
    kinds = dict[tuple[int, frozenset[str]], int]()
    for place, names in own.items():
        kind = int(fleet.of_class[place]), frozenset(names)
        if kind not in kinds:
            kinds[kind] = len(of_class)
            of_class.append(kind[0])
            access.append(len(reached))
            reached.append((fleet.mounts[fleet.access[kind[0]]], everywhere | kind[1]))
        of_node[place] = kinds[kind]
    return Kinds(of_node, np.array(of_class, dtype=np.int64), np.array(access, dtype=np.int64), reached)


def _grouped(kinds: Kinds, streams: Codes, wanted: Bools) -> Groups:
    at = np.flatnonzero(wanted)
    width = int(streams.max(initial=0)) + 1
    keys = kinds.of_node[at] * width + streams[at]
    number = np.full(width * len(kinds.of_class), -1, dtype=np.int64)
    first = np.zeros(len(number), dtype=np.int64)
    first[keys[::-1]] = at[::-1]  # of several the last one written is the first
    occupied = np.flatnonzero(np.bincount(keys))
    number[occupied] = np.arange(len(occupied))
    numbers = np.full(len(wanted), -1, dtype=np.int64)
    numbers[at] = number[keys]
    kind = occupied // width
    return Groups(kinds.of_class[kind], kinds.access[kind], occupied % width, first[occupied], numbers)
