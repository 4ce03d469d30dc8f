"""The tables that programs choose from, filled in as the service and the agents of the product do it."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from ses_core import SAMPLE, Kind, Query, Records, defaults, need, observe, table, top_speed
from ses_service.decision.node_order import first_of_own, order_of_own
from ses_service.decision.node_tables import CHOSEN_AGAIN, CREATES, CROWDED

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, World
from ses_simulate.policies.last_placed import SECOND, LastPlaced, stamp
from ses_simulate.policies.reports import Reports
from ses_simulate.policies.seen_writes import SeenWrites

Moments: TypeAlias = npt.NDArray[np.uint64]

MAX_CANDIDATES = 64
MIN_COMPARED = 3
WORTH_MINDING = 0.5  # files that were not reported, from which fewer candidates are compared


@dataclass(frozen=True, slots=True)
class Terms:
    """Which terms of the rule count, so that each can be switched; the product has the defaults.

    Numbers that are ``None`` are the core's own.
    """

    monitor: bool = True  # samples count
    others: bool = True  # estimated streams of others
    seen_writes: bool = True  # those that agents see write, by free space
    own_averaged: bool = True  # our streams as the monitor averages, not those of the window's middle
    idle_seconds: float = 3.0  # without growth, after which an open file is no stream; inf: never
    health: bool = True  # elements that deliver less than described are learned from queues
    reading: bool = True  # a file that was closed is a stream again while its node reads it
    writing_out: bool = True  # a file that was closed before its bytes can have been written counts on
    spread: bool = True  # fewer candidates are compared the more is unreported
    own_streams: bool = True  # as many more as the node has streams of its own
    two_drawn: bool = False  # two drawn at random instead, wherever not all are compared
    share_drawn: bool = False  # there the choice is drawn in proportion to what is predicted
    orders: bool = True  # candidates lie in an order of the node's own
    ranks: bool = (
        True  # processes of a job that know their rank begin at rows of their own, and mind the rest
    )
    recency: bool = True  # of equals the least recently used: on busy elements by anybody,
    idle_recency: bool = True  # on idle ones by the node itself, unless few are compared
    recency_of_all: bool = False  # on idle ones by anybody
    server_rate: bool = True  # what a server gives together, where the site states it
    room: bool = True  # sizes of files of before, and a part of the element
    equal_share: float | None = None
    equal_foreign: float | None = None
    kept_share: float | None = None
    harm: float | None = None


PRODUCT = Terms()


def policy_of(terms: Terms) -> Records:
    """Return the core's numbers, with those that terms change."""
    policy = defaults()
    changed = (
        ("equal_share", terms.equal_share),
        ("equal_foreign", terms.equal_foreign),
        ("kept_share", terms.kept_share),
        ("harm_weight", terms.harm),
        ("room_fraction", None if terms.room else 0.0),
    )
    for name, value in changed:
        if value is not None:
            policy[name] = value
    return policy


class Tables:
    """The service's table of all elements, and what each node has of it."""

    def __init__(self, world: World, reports: Reports, terms: Terms) -> None:
        size = len(world.devices)
        self.policy = policy_of(terms)
        self._world = world
        self._terms = terms
        self._reports = reports
        self._site = table(size)
        self._count = min(size, MAX_CANDIDATES)
        self._node = table(self._count)
        self._orders = self._orders_of(world.nodes)
        self._places = [_places_in(order) for order in self._orders]
        self._chosen_at = [0.0] * world.nodes
        asked = ((Kind.CURRENT_READ, world.reads), (Kind.CURRENT_WRITE, world.writes))
        self._asked = {kind: bound for kind, bound in asked if bound is not None}
        self._needs: dict[tuple[float | None, Kind, bool], Records] = {}
        self._query = Query(self._node, self._need(File(0, 0.0)), self.policy)
        self._samples = np.zeros(size, SAMPLE)
        self._monitored, self._seen = np.zeros(size), np.zeros(size)
        self._own_average, self._averaged_at = np.zeros(size), -math.inf
        self._top = np.ones(size)
        self._random = world.random("drawn")
        self._last_placed = LastPlaced(world.nodes, self._count)
        self._describe()
        reports.changed = self._mirror
        if terms.others and terms.seen_writes:
            SeenWrites(world, reports, self._saw)

    def choose(self, now: float, file: File, room: float = -1.0) -> int:
        """Return the element that a program chooses on its node; -1: none.

        ``room`` are bytes that a file like it may need, negative where none is known.
        """
        reports, records, node = self._reports, self._node, file.node
        reports.advance(now)
        if self._count < len(self._site) and now - self._chosen_at[node] >= CHOSEN_AGAIN:
            self._choose_candidates(now, node)
        np.take(self._site, self._orders[node], out=records)
        places = self._places[node]
        own, last, promised, hard, promises = (
            records[name] for name in ("own", "last_placed", "promised", "promised_hard", "promises")
        )
        for change, sign in reports.known_differently(node, file.user, now):
            place = places.get(change.row)
            if place is None:
                continue
            own[place] += sign * change.streams
            promises[place] += sign * change.streams * bool(change.promised)
            if sign < 0:
                promised[place], hard[place] = change.promised_before
            elif change.streams > 0:
                promised[place] = max(promised[place], change.promised)
                hard[place] = max(hard[place], change.promised * change.hard)
            if change.streams > 0 and change.placed:
                last[place] = stamp(change.happened if sign > 0 else change.last_before)
        last[:] = self._counted(now, file, last, own)
        self._limit(file, now)
        query = self._query
        query.candidate_limit = self._few(file, now)
        query.first = self._first(file)
        query.ignores_last_placed = self._terms.ranks and file.rank is not None
        needed = self._need(file)
        needed["room"] = room
        query.ask(needed)
        if query.candidate_limit and (self._terms.two_drawn or self._terms.share_drawn):
            place = self._drawn(query)
        else:
            place = query.choose()
        if place < 0:
            return -1
        self._last_placed.placed(now, file, place)
        return int(self._orders[node][place])

    def _choose_candidates(self, now: float, node: int) -> None:
        """Give a node that creates files less used candidates than its own, as the service does."""
        self._chosen_at[node] = now
        streams = self._site["own"] + self._site["foreign"]
        crowded = streams[self._orders[node]].mean() > CROWDED * streams.mean()
        if crowded and self._terms.orders and self._reports.rate_of(node, now) >= CREATES:
            rates = self._site["write_rate"]
            self._orders[node] = first_of_own(rates, streams, _lot(node), self._count)
            self._places[node] = _places_in(self._orders[node])
            self._last_placed.forget(node)

    def _drawn(self, query: Query) -> int:
        """Return a place by chance among those that are as near as the best: tried, and not the product's."""
        query.candidate_limit = 0
        if not query.judge():
            return -1
        missed = query.verdicts["distance"] + query.verdicts["harm"]
        best = missed[query.rank(1)].sum()
        near = [row for row in query.rank() if missed[row] <= best + self.policy["equal_distance"][0]]
        if self._terms.share_drawn:
            return int(self._random.choices(near, query.verdicts["share"][near].tolist())[0])
        two = set(self._random.sample(near, min(2, len(near))))
        return int(next(row for row in near if row in two))

    def _need(self, file: File) -> Records:
        """Return what a file needs: what all do, and the rate of writing that it asks for."""
        key = file.writes, file.kind, file.hard
        if key not in self._needs:
            asked = self._asked | ({} if file.writes is None else {file.kind: file.writes})
            self._needs[key] = need(*((kind, file.hard, False, bound, 1.0) for kind, bound in asked.items()))
        return self._needs[key]

    def _limit(self, file: File, now: float) -> None:
        """Count the streams on each server whose rate the site states, as the node knows them."""
        if not self._limited:
            return
        site, server = self._site, self._site["server"]
        streams = site["own"].astype(np.float64)
        for change, sign in self._reports.known_differently(file.node, file.user, now):
            streams[change.row] += sign * change.streams
        streams = np.maximum(0.0, streams) + site["foreign"]
        self._node["server_streams"] = np.bincount(server, streams)[server][self._orders[file.node]]

    def _counted(self, now: float, file: File, heard: Moments, own: npt.NDArray[Any]) -> Moments:
        """Return when each candidate was last placed on, as far as that counts."""
        if not self._terms.recency:
            return np.zeros_like(heard)
        busy = heard // SECOND * SECOND
        if self._terms.recency_of_all:
            return busy
        if not self._terms.idle_recency:
            return np.where(own > 0, busy, np.zeros_like(busy))
        others = self._reports.rate_of_others(file.node, now)
        return np.where(own > 0, busy, self._last_placed.seen(now, file, others))

    def _first(self, file: File) -> int:
        """Return the row at which a process begins: each rank of a job at one of its own.

        The node's order is a permutation of the rows that are alike on all nodes, so what is looked up is
        the place in it of the row that belongs to the rank.
        """
        if not self._terms.ranks or file.rank is None:
            return 0
        own = zlib.crc32(file.user.encode()) + file.rank
        size = len(self._site)
        return own % self._count if size > self._count else self._places[file.node][own % size]

    def observe(self, now: float, sample: Sample) -> None:
        """Let the service take a sample."""
        self._reports.advance(now)
        samples = self._samples
        samples["own"] = self._reports.sampled(
            self._world.sampling, sample.taken, averaged=self._terms.own_averaged
        )
        samples["queue"] = sample.depth or math.nan
        samples["busy"] = np.minimum(1.0, self._learned(np.array(sample.busy)))
        samples["busy_average"] = np.minimum(1.0, self._averaged_busy(sample))
        samples["own_average"] = self._averaged_own(sample)
        observe(self._site, samples, self.policy)
        self._site["free"] = sample.free
        if not self._terms.others:
            self._site["foreign"] = 0.0
        self._watched()

    def _learned(self, busy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Learn what elements really do; return how busy they are by that."""
        if not self._terms.health:
            return busy
        self._top = top_speed.after_sample(
            self._top, busy, self._samples["queue"], float(self.policy["saturation"][0])
        )
        health = top_speed.health(self._top)
        for name, described in self._described.items():
            rates, learned = self._site[name], described * health
            moved = np.abs(learned - rates) > top_speed.ALIKE * rates
            rates[moved] = learned[moved]
        return busy / health

    def _averaged_busy(self, sample: Sample) -> npt.NDArray[np.float64]:
        """Return how busy elements were over the monitor's long window, by what they are taken to give."""
        if not sample.average_read:
            return np.array(self._samples["busy"])
        read_rate, write_rate = (self._site[name].astype(np.float64) for name in ("read_rate", "write_rate"))
        moved: npt.NDArray[np.float64] = np.array(sample.average_read) / read_rate
        return moved + np.array(sample.average_write) / write_rate

    def _averaged_own(self, sample: Sample) -> npt.NDArray[np.float64]:
        """Return our streams over the long window, as ``ses_service.decision.rows`` does."""
        window = self._world.sampling.long_window
        kept = math.exp(-(sample.taken - self._averaged_at) / window) if window else 0.0
        self._averaged_at = sample.taken
        self._own_average = kept * self._own_average + (1 - kept) * self._samples["own"]
        return self._own_average

    def unseen(self) -> None:
        """Forget the samples: they are too old."""
        self._samples["busy"] = math.nan
        observe(self._site, self._samples, self.policy)
        self._watched()

    def _watched(self) -> None:
        """Note the streams of others that the monitor knows, and count those as well that agents see."""
        self._monitored = self._site["foreign"].copy()
        self._site["foreign"] = np.maximum(self._monitored, self._seen)

    def _saw(self, now: float, others: npt.NDArray[np.float64]) -> None:
        self._seen = others
        self._site["foreign"] = np.maximum(self._monitored, others)

    def _few(self, file: File, now: float) -> int:
        """Return how many candidates are compared; 0: all."""
        if not self._terms.spread:
            return 0
        total, few = len(self._site), 0
        unreported = self._reports.unreported(file.node, now)
        if unreported >= WORTH_MINDING:
            few = min(self._count, max(MIN_COMPARED, round(total / unreported)))
        if not self._terms.ranks or file.rank is None or not file.elsewhere:
            return few and few + self._reports.streams_of(file.node) * self._terms.own_streams
        apart = min(self._count, max(1, round(total / file.elsewhere)))
        return min(few or apart, apart)

    def _orders_of(self, nodes: int) -> list[npt.NDArray[np.int64]]:
        rates = np.array([device.write_rate for device in self._world.devices])
        size = len(rates)
        if not self._terms.orders:
            return [np.arange(size)[: self._count]] * nodes
        if size <= MAX_CANDIDATES:
            return [order_of_own(rates, _lot(node)) for node in range(nodes)]
        return [first_of_own(rates, np.zeros(size), _lot(node), self._count) for node in range(nodes)]

    def _describe(self) -> None:
        site, devices = self._site, self._world.devices
        site["read_rate"] = [device.read_rate for device in devices]
        site["write_rate"] = [device.write_rate for device in devices]
        self._described = {name: site[name].copy() for name in ("read_rate", "write_rate")}
        site["size"] = [device.capacity for device in devices]
        site["free"] = [device.free for device in devices]
        site["server"] = [device.group for device in devices]
        if self._terms.server_rate:
            site["server_rate"] = [device.link_rate for device in devices]
        fastest = site["write_rate"].max()
        site["kept_for"] = max((entry for entry in self._world.required if entry <= fastest), default=0.0)
        self._limited = not np.isnan(site["server_rate"]).all()
        self.unseen()

    def _mirror(self, row: int) -> None:
        ledger, site = self._reports.ledger, self._site
        site["own"][row] = ledger.own[row]
        site["promised"][row], site["promised_hard"][row] = ledger.largest(row)
        site["promises"][row] = ledger.promised[row].total()
        site["last_placed"][row] = stamp(ledger.last_placed[row])


def _places_in(order: npt.NDArray[np.int64]) -> dict[int, int]:
    return {int(row): place for place, row in enumerate(order)}


def _lot(node: int) -> float:
    """Return where a node's order begins, 0 up to 1: those of neighbours lie far apart (van der Corput)."""
    return int(f"{node:016b}"[::-1], 2) / 65536
