"""The ledger: the service's own record of placements still in use.

A state machine, ``open`` -> ``ended``, with time passed in.  It answers three questions: what became of a
placement, how many placements each element carries (:mod:`ses_service.ledger.counts`), and what is open on a
node.  Records and counts are in native code (``libses/state/ledger.h``); here is what is rare: nodes and
their silence, places, and what other services carry.

A placement lives as long as its node reports: one sign of life (``renew_node``) renews all of them at
once.  One that was stored before a restart, and that its node says nothing of, has a lease.

Placements of other services (:mod:`ses_service.ledger.peer_placements`) are counted beside its own
ones, each file once.

Not safe for use from several threads; its owner holds a lock.  Knows no disk and no network: ``follow``
gives a set that collects the ids that change, for those who store them or pass them on.
"""

from collections.abc import Callable, Collection

import numpy as np
from ses_state import _state

from ses_service.ledger import places
from ses_service.ledger.counts import LedgerCounts
from ses_service.ledger.file_bounds import FileBounds
from ses_service.ledger.nodes import Nodes
from ses_service.ledger.peer_placements import PeerPlacements
from ses_service.ledger.placement import EndReason, Placement, PlacementState
from ses_service.ledger.readers import Readers
from ses_service.model.columns import ElementTable, Floats
from ses_service.model.policies import Policies

MAX_UNTAKEN = 200_000
_ALL = 2**62
_WINDOWS = 5  # before a sample: what ended that early is less than a hundredth of a stream in it


class Ledger(_state.Ledger):
    """All placements not ended, and the last ``Policies.max_records`` that ended.

    Of these, more are kept while a follower has not taken them, up to ``MAX_UNTAKEN``.  ``ended_total``
    counts the ends by reason; ``nodes`` are those that announce files, ``recent`` says what is placed of
    late, ``readers`` what is read.  ``inherited`` collects, if set, ids of files open already when their
    nodes first report them, and ``left`` ids of files that we do not know and another service has open,
    though their node announced to us last; the reader empties them.
    """

    def __init__(self, policies: Policies) -> None:
        bounds = FileBounds(policies.node_files_per_second)
        super().__init__(policies.max_records, MAX_UNTAKEN, bounds)
        self.nodes = Nodes()
        self.readers = Readers(self.counter)
        self.of_peers = PeerPlacements(self, self.is_own)
        self.inherited: set[str] | None = None
        self.left: set[str] | None = None
        self.counts = LedgerCounts.zeros(0)
        self._shared: list[list[int]] = []
        self._lasting = policies.max_data_age
        self._window = policies.rate_window
        self._hook(self.of_peers.settle, self.of_peers.forget_placement, self._left_place, places.reported)

    def bind(self, table: ElementTable, sampled_at: Floats, now: float) -> None:
        """Count along the rows of ``table`` from now on, against ``sampled_at`` (see ``observe``)."""
        self._shared = [list(rows) for rows in table.shared]
        systems = {name: system.backend for name, system in table.environment.systems.items()}
        self._describe(table.elements, systems, dict(table.environment.home_vo))
        self.counts = LedgerCounts.zeros(len(table))
        rows = table.device.astype(np.uint32), table.room.astype(np.uint32)
        self.counter.bind(*rows, [element.id for element in table.elements], self.counts.counted)
        self._count_again()
        for entry in self.of_peers.counted():
            self.counter.count(entry.elements, 1.0, entry.expected_bytes or 0.0)
        for element in self.readers.elements():
            self.counter.count((element,), 1.0, 0.0)
        self.observe(sampled_at, now)

    def observe(
        self, sampled_at: Floats, now: float, lasting: float | None = None, window: float | None = None
    ) -> None:
        """Take new samples: per row, when its last one was taken (``nan``: none).

        ``lasting`` is for how many seconds an observation counts, ``window`` that of the monitor's rates,
        if they are other numbers than before.  Costs a pass over what began or ended recently: within twice
        the age from which an observation is not used any more, and the windows after which a sample shows
        nothing of what ended.
        """
        if lasting is not None:
            self._lasting = lasting
        if window is not None:
            self._window = window
        if self._shared:
            sampled_at = sampled_at.copy()
        for rows in self._shared:
            sampled_at[rows] = np.fmax.reduce(sampled_at[rows])
        horizon = now - 2 * self._lasting - _WINDOWS * self._window
        self.counter.observe(
            horizon, sampled_at.astype(np.float64, copy=False), self._window, self.counts.averaged
        )

    def take(
        self,
        files: _state.Files,
        node: str,
        now: float,
        explain: Callable[[int, str], object],
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """Take what a node reports of files, ends after all that opened.

        ``explain`` gives what the files of a decision share, and where its expected size is from; ``None``:
        it is not known.  Returns ids that the ledger does not know, and those that are refused, with why.
        """
        unknown, refused, inherited = self._take(files, node, now, explain)
        if self.inherited is not None:
            self.inherited.update(inherited)
        return unknown, refused

    def change(self, place: Placement) -> None:
        """Take another record of a place: its lease or claim is another, or it had ended and goes on."""
        if self._change(place):
            self.doubt(place.placement_id)

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
        placement = self.find(placement_id)
        if placement is None or placement.state is PlacementState.ENDED:
            return
        node = placement.subject.node or ""
        if self.nodes.has_announced(node) or (node and places.is_unconfirmed(placement)):
            self.nodes.doubted[node].add(placement_id)

    def take_doubted(self, name: str) -> list[Placement]:
        """Return the open placements that a node is to be asked about now; of a file it is asked once."""
        doubted = [
            placement
            for placement_id in sorted(self.nodes.doubted.pop(name, ()))
            if (placement := self.find(placement_id)) is not None and placement.state is PlacementState.OPEN
        ]
        if unconfirmed := {entry.placement_id for entry in doubted if places.is_unconfirmed(entry)}:
            self.nodes.doubted[name] = unconfirmed
        return doubted

    def open_on(self, name: str) -> list[Placement]:
        """Return what is open on a node."""
        return [self.get(placement_id) for placement_id in self._open_on(name)]

    def end_others(self, name: str, kept: Collection[str], now: float) -> int:
        """End what is open on a node except ``kept`` (reason ``lost``); return how many ended.

        Places that were given meanwhile, and that the node was not asked about, stay.
        """
        lost = [
            placement_id
            for placement_id in self._open_on(name)
            if placement_id not in kept and not places.is_unconfirmed(self.get(placement_id))
        ]
        for placement_id in lost:
            self.end(placement_id, EndReason.LOST, now)
        return len(lost)

    def forget_node(self, name: str, now: float) -> None:
        """Forget a node that announces to another service now, unless something is still open there."""
        if self.nodes.forget(name, whole=not self.count_open_on(name)):
            self.readers.forget(name, now)

    def expire(self, now: float, limit: int | None = None) -> int:
        """End every placement whose lease ran out or whose node fell silent; return how many did.

        With ``limit``, stop after about that number; the next call goes on.
        """
        limit = _ALL if limit is None else limit
        count = self._expire(now, limit)
        while count < limit and (name := self.nodes.next_silent(now)) is not None:
            for placement_id in self._open_on(name)[: limit - count]:
                self.end(placement_id, EndReason.SILENT, now)
                count += 1
            if not self.count_open_on(name):
                self.nodes.give_up(name)
                self.readers.forget(name, now)
        return count

    def _left_place(self, node: str | None, placement_id: str) -> None:
        self.nodes.settle(node or "", placement_id)
