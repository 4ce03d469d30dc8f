"""The ledger: the service's own record of placements still in use.

A state machine, ``open`` -> ``ended``, with time passed in.  It answers three questions: what became of a
placement, how many placements each element carries (:mod:`ses_service.ledger.counts`), and what is open on a
node.

A placement lives as long as its node reports: one sign of life (``renew_node``) renews all of them at
once.  One that was stored before a restart, and that its node says nothing of, has a lease.

Placements of other services (:mod:`ses_service.ledger.peer_placements`) are counted beside its own
ones, each file once.

Not safe for use from several threads; its owner holds a lock.  Knows no disk and no network: ``follow``
gives a set that collects the ids that change, for those who store them or pass them on.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from ses_service.ledger import places
from ses_service.ledger.achieved import Achieved, FileVerdict
from ses_service.ledger.arrivals import SystemArrivals
from ses_service.ledger.counts import ElementCounter, LedgerCounts, Stream
from ses_service.ledger.file_bounds import FileBounds
from ses_service.ledger.nodes import Nodes
from ses_service.ledger.peer_placements import PeerPlacements
from ses_service.ledger.placement import EndReason, Placement, PlacementState, completed_by, decided_as
from ses_service.ledger.readers import Readers
from ses_service.ledger.reports import (
    MAY_RETURN,
    PlacementReport,
    UnknownPlacementError,
    opened_again,
    refuse_ended,
    refuse_strangers,
)
from ses_service.model.columns import ElementTable, Floats
from ses_service.model.policies import Policies

MAX_UNTAKEN = 200_000
_DROPPED_AT_ONCE = 16  # so that no end waits for the many that were kept meanwhile


class Ledger:
    """All placements not ended, and the last ``Policies.max_records`` that ended.

    Of these, more are kept while a follower has not taken them, up to ``MAX_UNTAKEN``.  ``ended_total``
    counts the ends by reason; ``nodes`` are those that announce files, ``recent`` says what is placed of
    late, ``readers`` what is read.  ``on_size`` takes a placement, its size while it grows and when that is
    known, and whether it is; ``on_end`` one that ended, or when what it achieved is known.  ``inherited``
    collects, if set, ids of files open already when their nodes first report them, and ``left`` ids of files
    that we do not know and another service has open, though their node announced to us last; the reader
    empties them.
    """

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self.on_size: Callable[[Placement, float, bool], object] = lambda _placement, _size, _known: None
        self.on_end: Callable[[Placement], object] = lambda _placement: None
        self._active: dict[str, Placement] = {}
        self._ended: OrderedDict[str, Placement] = OrderedDict()
        self._of_user: defaultdict[str, set[str]] = defaultdict(set)
        self._leases: list[tuple[float, str]] = []
        self.nodes = Nodes()
        self._open_on: defaultdict[str, set[str]] = defaultdict(set)
        self._counter = ElementCounter(policies)
        self.readers = Readers(self._counter)
        self.recent = SystemArrivals()
        self.of_peers = PeerPlacements(self._counter, self.is_own, self.recent)
        self.inherited: set[str] | None = None
        self.left: set[str] | None = None
        self._followers: list[set[str]] = []
        self.ended_total: Counter[EndReason] = Counter()
        self.bounds = FileBounds(policies.node_files_per_second)
        self.places_of: Counter[str] = Counter()  # open ones of each user

    def __len__(self) -> int:
        return len(self._active)

    @property
    def counts(self) -> LedgerCounts:
        """The counts per element."""
        return self._counter.counts

    @property
    def changed(self) -> set[int]:
        """The rows of the counts that changed; the reader empties it."""
        return self._counter.changed

    def follow(self) -> set[str]:
        """Return a set to which the id of every placement is added that changes from now on.

        One that is not found any more was dropped.  The caller empties the set.
        """
        changed: set[str] = set()
        self._followers.append(changed)
        return changed

    def bind(self, table: ElementTable, sampled_at: Floats, now: float) -> None:
        """Count along the rows of ``table`` from now on, against ``sampled_at`` (see ``observe``)."""
        active = [placement for placement in self._active.values() if not placement.idle]
        counted: list[Stream] = [*active, *self.of_peers.counted()]
        self._counter.bind(table, sampled_at, now, counted, self.readers.elements())

    def observe(
        self, sampled_at: Floats, now: float, lasting: float | None = None, window: float | None = None
    ) -> None:
        """Take new samples: per row, when its last one was taken (``nan``: none).

        ``lasting`` is for how many seconds an observation counts, ``window`` that of the monitor's rates,
        if they are other numbers than before.
        """
        if lasting is not None:
            self._counter.lasting = lasting
        if window is not None:
            self._counter.window = window
        self._counter.observe(sampled_at, now)

    def restore(self, placement: Placement) -> None:
        """Take up a placement the ledger does not know, in the state it has.

        Changes nothing when its id is known.
        """
        placement_id = placement.placement_id
        if placement_id in self._active or placement_id in self._ended:
            return
        if placement.state is PlacementState.ENDED:
            self._keep(placement)
        else:
            self._activate(placement)
            self._count(placement)
        self._counter.placed(placement)

    def open(self, report: PlacementReport, now: float, *, node: str | None = None) -> Placement:
        """Note that the file was created; called again, renew the lease and note whether it is idle.

        A placement that ended by itself is taken up again, since the agent that reports it knows
        better; with ``node``, also one that was reported unused.  Raises UnknownPlacementError,
        PlacementEndedError after any other end, and NotYoursError when the placement is another user's
        or node's.
        """
        before = self.get(report.placement_id)
        refuse_strangers(before, report.user, node)
        refuse_ended(before, node)
        announced = node is not None and self.nodes.get(node) is not None
        until = math.inf if announced else now + self._policies.open_lease
        opened = opened_again(before, report, now, node, until)
        if before.held is not None:
            opened = places.reported(opened, before, report)
        if before.state is PlacementState.ENDED:
            del self._ended[before.placement_id]
            self._activate(opened)
        else:
            self._leave(before)
            self._active[opened.placement_id] = opened
            self._enter(opened)
            self._counter.claim(before, opened)
            if opened.idle and not before.idle:
                self._counter.end(before, now)
            elif before.idle and not opened.idle:
                self._counter.begin(opened)
        if report.bytes is not None:
            self.on_size(opened, report.bytes, report.closed)
        self._note(opened.placement_id)
        return opened

    def change(self, place: Placement) -> None:
        """Take another record of a place: its lease or claim is another, or it had ended and goes on."""
        before = self.get(place.placement_id)
        if before.state is PlacementState.ENDED:
            del self._ended[place.placement_id]
            self._activate(replace(place, state=PlacementState.OPEN, ended_at=None, end_reason=None))
            self.doubt(place.placement_id)
        elif place is not before:
            self._leave(before)
            self._active[place.placement_id] = place
            self._enter(place)
            self._counter.claim(before, place)
            self._note(place.placement_id)

    def end(
        self,
        placement_id: str,
        reason: EndReason,
        now: float,
        bytes_written: float | None = None,
        path: str | None = None,
        achieved: Achieved | None = None,
    ) -> Placement:
        """End a placement.  Ending it again changes nothing but a size, path or figure unknown until then.

        Raises UnknownPlacementError.
        """
        placement = self._active.pop(placement_id, None)
        if placement is None:
            before = self.get(placement_id)
            return self._complete(before, completed_by(before, bytes_written, path, achieved))
        if not placement.idle:
            self._counter.end(placement, now)
        ended = placement.copy()
        ended.state, ended.ended_at, ended.end_reason = PlacementState.ENDED, now, reason
        ended.bytes_written, ended.achieved = bytes_written, achieved
        if path is not None:
            ended.path = path
        self._leave(placement)
        self.ended_total[reason] += 1
        self._keep(ended)
        self._note(placement_id)
        self.of_peers.settle(placement_id, now)
        if bytes_written is not None:
            self.on_size(ended, bytes_written, True)
        self.on_end(ended)
        return ended

    def keep_verdict(self, placement: Placement, file_verdict: FileVerdict) -> bool:
        """Keep what came of the requirements of a placement that ended; false if it is another one by now."""
        if self._ended.get(placement.placement_id) is not placement:
            return False
        judged = self._ended[placement.placement_id] = placement.copy()
        judged.file_verdict = file_verdict
        self._note(placement.placement_id)
        return True

    def renew_node(
        self,
        name: str,
        incarnation: str,
        now: float,
        until: float,
        *,
        in_use: bool = False,
        version: str = "",
        number: int = 0,
    ) -> bool:
        """Note a sign of life of a node's agent: what is open there stays open until ``until``.

        ``in_use``: programs choose from its table; ``version`` is that of the agent.  Returns whether this
        incarnation of the agent reports for the first time.
        """
        first = self.nodes.renew(name, incarnation, now, until, in_use, version, number)
        if first:
            self.readers.forget(name, now)
        return first

    def doubt(self, placement_id: str) -> None:
        """Ask the node of a placement of this service whether it is open there, if it reports."""
        placement = self._active.get(placement_id)
        if placement is None:
            return
        node = placement.subject.node or ""
        if self.nodes.has_announced(node) or (node and places.is_unconfirmed(placement)):
            self.nodes.doubted[node].add(placement_id)

    def take_doubted(self, name: str) -> list[Placement]:
        """Return the open placements that a node is to be asked about now; of a file it is asked once."""
        doubted = [
            self._active[placement_id]
            for placement_id in sorted(self.nodes.doubted.pop(name, ()))
            if placement_id in self._active
        ]
        if unconfirmed := {one.placement_id for one in doubted if places.is_unconfirmed(one)}:
            self.nodes.doubted[name] = unconfirmed
        return doubted

    def streams(self) -> dict[str, int]:
        """Return how many placements are open on each node that has any."""
        return dict(zip(self._open_on, map(len, self._open_on.values()), strict=True))

    def open_on(self, name: str) -> list[Placement]:
        """Return what is open on a node."""
        return [self._active[placement_id] for placement_id in sorted(self._open_on.get(name, ()))]

    def count_open_on(self, name: str) -> int:
        """Return how many placements are open on a node."""
        return len(self._open_on.get(name, ()))

    def end_others(self, name: str, kept: Collection[str], now: float) -> int:
        """End what is open on a node except ``kept`` (reason ``lost``); return how many ended.

        Places that were given meanwhile, and that the node was not asked about, stay.
        """
        lost = [
            one.placement_id
            for one in self.open_on(name)
            if one.placement_id not in kept and not places.is_unconfirmed(one)
        ]
        for placement_id in lost:
            self.end(placement_id, EndReason.LOST, now)
        return len(lost)

    def release(self, placement_id: str, now: float) -> None:
        """Leave an open placement to another service: it does not end here, and is not stored by us."""
        placement = self._active.pop(placement_id, None)
        if placement is None:
            return
        if not placement.idle:
            self._counter.end(placement, now)
        self._leave(placement)
        self._drop(placement)
        self.of_peers.settle(placement_id, now)
        for follower in self._followers:
            follower.discard(placement_id)

    def forget_node(self, name: str, now: float) -> None:
        """Forget a node that announces to another service now, unless something is still open there."""
        if self.nodes.forget(name, whole=name not in self._open_on):
            self.readers.forget(name, now)

    def inherit(self, stored: Placement) -> None:
        """Take from its record what another service knew of the decision for a placement of this service."""
        known = self.find(stored.placement_id)
        if known is None:
            return
        records = self._active if known.state is PlacementState.OPEN else self._ended
        inherited = records[stored.placement_id] = decided_as(known, stored)
        if inherited.state is PlacementState.ENDED and self.on_end is not None:
            self.on_end(inherited)

    def store_again(self, placement_id: str) -> None:
        """Let a placement of this service be stored though it did not change."""
        self._note(placement_id)

    def expire(self, now: float, limit: int | None = None) -> int:
        """End every placement whose lease ran out or whose node fell silent; return how many did.

        With ``limit``, stop after about that number; the next call goes on.
        """
        count = 0
        while self._leases and self._leases[0][0] <= now and (limit is None or count < limit):
            _, placement_id = heapq.heappop(self._leases)
            placement = self._active.get(placement_id)
            if placement is not None and placement.lease_until <= now:
                self.end(placement_id, EndReason.EXPIRED, now)
                count += 1
        while (limit is None or count < limit) and (name := self.nodes.next_silent(now)) is not None:
            files = list(islice(self._open_on.get(name, ()), None if limit is None else limit - count))
            for placement_id in files:
                self.end(placement_id, EndReason.SILENT, now)
            count += len(files)
            if name not in self._open_on:
                self.nodes.give_up(name)
                self.readers.forget(name, now)
        return count

    def get(self, placement_id: str) -> Placement:
        """Return a placement, or raise UnknownPlacementError."""
        placement = self._active.get(placement_id) or self._ended.get(placement_id)
        if placement is None:
            raise UnknownPlacementError(f"no placement {placement_id} is known")
        return placement

    def find(self, placement_id: str) -> Placement | None:
        """Return a placement, or ``None``."""
        return self._active.get(placement_id) or self._ended.get(placement_id)

    def known(self, ids: Iterable[str]) -> list[str]:
        """Return those of these ids that are kept."""
        return [
            placement_id
            for placement_id in ids
            if placement_id in self._active or placement_id in self._ended
        ]

    def lease_of(self, placement: Placement) -> float | None:
        """Return until when a placement counts without another announcement, ``None`` when it has ended."""
        if placement.state is PlacementState.ENDED:
            return None
        node = self.nodes.get(placement.subject.node or "")
        return node.until if math.isinf(placement.lease_until) and node else placement.lease_until

    def active(self) -> Iterator[Placement]:
        """Yield every placement that has not ended, in no order."""
        return iter(self._active.values())

    def ids(self) -> list[str]:
        """Return the ids of every placement that is kept, those that ended first, in that order."""
        return [*self._ended, *self._active]

    def records(self, user: str | None = None) -> Iterator[Placement]:
        """Yield every placement that is kept, or every one of a user, in no order."""
        if user is not None:
            yield from map(self.get, self._of_user.get(user, ()))
            return
        yield from self._active.values()
        yield from self._ended.values()

    def _count(self, placement: Placement) -> None:
        node = placement.subject.node
        self.recent.count(placement.element.storage_system, node, placement.placed_at)

    def _activate(self, placement: Placement) -> None:
        self._active[placement.placement_id] = placement
        self._of_user[placement.subject.user].add(placement.placement_id)
        self.of_peers.forget_placement(placement.placement_id, placement.placed_at)
        self._enter(placement)
        if not placement.idle:
            self._counter.begin(placement)
        self._note(placement.placement_id)

    def _enter(self, placement: Placement) -> None:
        if placement.held is not None:
            self.places_of[placement.subject.user] += 1
        node = placement.subject.node
        if node is not None:
            self._open_on[node].add(placement.placement_id)
            self.bounds.opened(node, placement.subject.user, placement.subject.job)
        if math.isfinite(placement.lease_until):
            heapq.heappush(self._leases, (placement.lease_until, placement.placement_id))

    def _leave(self, placement: Placement) -> None:
        if placement.held is not None:
            self.places_of[placement.subject.user] -= 1
            self.nodes.settle(placement.subject.node or "", placement.placement_id)
        node, index = placement.subject.node, self._open_on
        if node is not None and placement.placement_id in index.get(node, ()):
            index[node].discard(placement.placement_id)
            self.bounds.closed(node, placement.subject.user, placement.subject.job)
            if not index[node]:
                del index[node]

    def is_ended_by_node(self, placement_id: str) -> bool:
        """Whether the node of a placement reported that it ended."""
        ended = self._ended.get(placement_id)
        return ended is not None and ended.end_reason not in MAY_RETURN

    def is_own(self, placement_id: str) -> bool:
        """Whether this ledger knows best how a placement stands: not when it ended by itself."""
        return placement_id in self._active or self.is_ended_by_node(placement_id)

    def _note(self, placement_id: str) -> None:
        for follower in self._followers:
            follower.add(placement_id)

    def _complete(self, before: Placement, completed: Placement) -> Placement:
        if completed is not before:
            self._ended[before.placement_id] = completed
            self._note(before.placement_id)
            if completed.bytes_written is not None and before.bytes_written is None:
                self.on_size(completed, completed.bytes_written, True)
            if completed.achieved is not before.achieved:
                self.on_end(completed)
        return completed

    def _keep(self, placement: Placement) -> None:
        self._ended[placement.placement_id] = placement
        self._of_user[placement.subject.user].add(placement.placement_id)
        limit = self._policies.max_records
        for _ in range(min(_DROPPED_AT_ONCE, len(self._ended) - limit)):
            oldest = next(iter(self._ended))
            if len(self._ended) <= limit + MAX_UNTAKEN and any(
                oldest in follower for follower in self._followers
            ):
                return
            self._drop(self._ended.pop(oldest))
            self._note(oldest)

    def _drop(self, placement: Placement) -> None:
        user = placement.subject.user
        self._of_user[user].discard(placement.placement_id)
        if not self._of_user[user]:
            del self._of_user[user]
