"""The site as the decision core sees it (``ses/core.h``): one row for each element, kept up to date.

Row ``i`` is about ``table.elements[i]``.  Facts change with the description of the site, loads with each
sample of the monitor, and what we placed with each change of the ledger.  Each row has the version at which
it changed last, so that a node with a version gets what changed since.

Not safe for use from several threads; its owner holds a lock.
"""

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt
import ses_core
from ses_core import Query, Records, State, top_speed
from ses_state import _state

from ses_service.ledger.counts import LedgerCounts
from ses_service.model.columns import STATES, Bools, Codes, ElementTable, Floats, ObservationTable
from ses_service.model.entities import ElementState
from ses_service.model.policies import Policies

STATED = int(ses_core.ELEMENT["stated"].shape[0])

# The numbers that nodes get of each element, in this order. After them come its age, state
# and last placement, and then PROMISES.
LOADS = (
    "busy",
    "busy_average",
    "foreign",
    "foreign_average",
    "own",
    "server_streams",
    "free",
    "reserved",
)
PROMISES = ("promises", "promised", "promised_hard")
_BITS = {
    ElementState.INACTIVE: State.INACTIVE,
    ElementState.READ_ONLY: State.READ_ONLY,
    ElementState.DRAINING: State.DRAINING,
    ElementState.DEGRADED: State.DEGRADED,
}
_BY_STATE = np.array([_BITS.get(state, 0) for state in STATES], dtype=np.uint32)


def policy_of(policies: Policies) -> Records:
    """Return the numbers of the decision as the core takes them."""
    policy = ses_core.defaults()
    policy["saturation"] = policies.saturation
    policy["saturated_foreign"] = policies.saturated_prior
    policy["unseen_foreign"] = policies.unseen_streams
    policy["equal_distance"] = policies.distance_step
    policy["equal_share"] = policies.equal_share
    policy["equal_foreign"] = policies.equal_foreign
    policy["kept_share"] = policies.kept_share
    policy["harm_weight"] = policies.harm_weight
    policy["room_fraction"] = policies.room_fraction
    policy["minimum_free"] = policies.min_free_bytes
    policy["stripe_bytes"] = policies.stripe_bytes
    policy["max_stripes"] = policies.max_stripes
    policy["overrule_hints"] = policies.overrule_stripe_hints
    return policy


def oldest_ages(observations: ObservationTable, policies: Policies) -> Floats:
    """Return the age in seconds after which each observation counts as unknown."""
    intervals = np.nan_to_num(observations.interval, nan=0.0)
    return np.maximum(policies.max_data_age, policies.sample_intervals * intervals)


class Rows:
    """The rows of a site.  Without a site there are none.

    ``elements`` is the array the core reads, and ``query`` asks it about them.  ``version`` grows with every
    change, and ``changed`` is the version of each row's last one.  ``sampled_at`` is when each was seen last,
    and ``oldest`` the age after which that counts as unknown.  ``unseen`` are the rows without a usable
    sample.  By code of a storage system in the table, ``of_system`` are its rows, ``revisions`` the version
    of the last change of their facts, and ``max_ages`` the largest of their ``oldest``.
    """

    def __init__(self, policies: Policies) -> None:
        self.policy = policy_of(policies)
        self.version = 0
        self.elements: Records = ses_core.table(0)
        self.query = Query(self.elements, ses_core.need(), self.policy)
        self.changed: Codes = np.zeros(0, dtype=np.int64)
        self.revisions: Codes = np.zeros(0, dtype=np.int64)
        self.sampled_at: Floats = np.zeros(0)
        self.oldest: Floats = np.zeros(0)
        self.average_window = 60.0  # seconds, where the monitor does not say
        self.of_system: list[Codes] = []
        self.max_ages: list[float] = []
        self.stated: tuple[str, ...] = ()
        self.table: ElementTable | None = None
        self._policies = policies
        self.unseen: Codes = np.zeros(0, dtype=np.int64)
        self._seen: Bools = np.zeros(0, dtype=np.bool_)
        self._seen_states: npt.NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._of_server: dict[int, Codes] = {}  # rows of each server that has a limit
        self._own_average: Floats = np.zeros(0)
        self._required = np.zeros(0, np.float32)  # rates of writing, the lowest first
        self._next_over = np.inf  # when the next state that the site describes ends by itself

    def bind(
        self,
        table: ElementTable,
        wanted: Collection[str],
        observations: ObservationTable,
        counts: LedgerCounts,
        now: float,
    ) -> None:
        """Begin anew with a site.  ``wanted`` are the kinds that anybody requires."""
        size = len(table)
        self.table, self.sampled_at, self._own_average = table, np.zeros(0), np.zeros(0)
        self.elements = ses_core.table(size)
        self.query = Query(self.elements, ses_core.need(), self.policy)
        self.stated = stated_kinds(table, wanted)
        self.elements["size"] = table.capacity
        self.elements["server"] = table.server
        self.elements["server_rate"] = table.server_rate
        self._of_server = {
            code: np.flatnonzero(table.server == code)
            for code in np.unique(table.server[~np.isnan(table.server_rate)]).tolist()
        }
        for place, kind in enumerate(self.stated):
            self.elements["stated"][:, place] = table.stated[kind]
        self.version += 1
        self.changed = np.full(size, self.version, dtype=np.int64)
        self.revisions = np.full(len(table.system_names), self.version, dtype=np.int64)
        self.of_system = [np.flatnonzero(table.system == code) for code in range(len(table.system_names))]
        self.observe(observations, counts, now)

    def require(self, rates: Iterable[float]) -> None:
        """Keep elements for the largest of the rates of writing that anybody requires, bytes per second."""
        asked = np.fromiter(rates, np.float64)
        rounded = asked.astype(np.float32)  # down, so that a question for one asks for no less
        self._required = np.unique(np.where(rounded > asked, np.nextafter(rounded, np.float32(0)), rounded))
        if self.table is not None and (kept := self._keep(self.table)).any():
            self._mark(kept)
            self.revisions[np.unique(self.table.system[kept])] = self.version

    def observe(self, observations: ObservationTable, counts: LedgerCounts, now: float) -> None:
        """Take a sample of all elements.  ``counts`` are the ledger's, of the same samples."""
        elements, table = self.elements, self.table
        if table is None:
            return
        before, sampled_before = _loads(elements), self.sampled_at
        self.sampled_at = observations.sampled_at
        self.oldest = oldest_ages(observations, self._policies)
        self.max_ages = [float(self.oldest[rows].max()) for rows in self.of_system]
        self._take_facts(table, observations)
        elements["free"] = observations.free
        self._seen_states = self._observed_states(table, observations)
        elements["state"] = self._states(table, now)
        everywhere = np.arange(len(elements))
        _state.take_counts(elements, counts.counted, everywhere, np.zeros_like(everywhere), 0)
        samples = np.zeros(len(elements), ses_core.SAMPLE)
        self._seen = observations.rated & (now - self.sampled_at <= self.oldest)
        samples["busy"] = np.where(
            self._seen, np.minimum(1.0, observations.utilisation / observations.health), np.nan
        )
        samples["busy_average"] = np.minimum(1.0, observations.average_utilisation / observations.health)
        samples["queue"] = observations.queue_depth
        samples["own"] = counts.averaged
        samples["own_average"] = self._averaged_own(counts, sampled_before)
        ses_core.observe(elements, samples, self.policy)
        self._seen &= ~np.isnan(elements["busy"])
        self.unseen = np.flatnonzero(~self._seen)
        self._count_on_servers(self._of_server)
        changed = (_loads(elements) != before).any(axis=0)
        if len(sampled_before) == len(elements):
            changed |= sampled_before.view(np.int64) != self.sampled_at.view(np.int64)
        if changed.any():
            self._mark(changed)

    def follow(self, counts: LedgerCounts, at: Codes) -> None:
        """Take the rows that changed in the ledger since the last call, or sample."""
        if len(at):
            self.version += 1
            _state.take_counts(self.elements, counts.counted, at, self.changed, self.version)
            for rows in self._count_on_servers(self._servers_of(at)):
                self.changed[rows] = self.version

    def grow_old(self, now: float) -> None:
        """Take elements whose sample is too old by now for unseen, and end states that are over."""
        if now >= self._next_over and self.table is not None:
            before = self.elements["state"].copy()
            self.elements["state"] = self._states(self.table, now)
            self._mark(self.elements["state"] != before)
        gone = self._seen & ~(now - self.sampled_at <= self.oldest)
        if not gone.any():
            return
        self._seen &= ~gone
        self.unseen = np.flatnonzero(~self._seen)
        together = ses_core.table(int(gone.sum()) + 1)  # the last stands for all others
        together[:-1] = self.elements[gone]
        samples = np.zeros(len(together), ses_core.SAMPLE)
        samples["busy"] = np.nan
        samples["busy"][-1] = 0.0 if self._seen.any() else np.nan
        ses_core.observe(together, samples, self.policy)
        self.elements[gone] = together[:-1]
        at = np.flatnonzero(gone)
        self._mark(np.concatenate([at, *self._count_on_servers(self._servers_of(at))]))

    def ages(self, now: float, rows: Codes | slice) -> Floats:
        """Return how old the samples of some rows are; ``nan`` where there is none."""
        return np.maximum(0.0, now - self.sampled_at[rows])

    def _averaged_own(self, counts: LedgerCounts, sampled_before: Floats) -> Floats:
        """Return our streams over the monitor's long window: an exponential mean, as the monitor's own."""
        if len(sampled_before) != len(self.sampled_at):
            sampled_before = np.full(len(self.sampled_at), np.nan)
            self._own_average = counts.averaged.copy()
        passed = np.nan_to_num(self.sampled_at - sampled_before, nan=np.inf)  # the first counts whole
        kept = np.exp(-np.maximum(0.0, passed) / self.average_window)
        self._own_average = kept * self._own_average + (1 - kept) * counts.averaged
        return self._own_average

    def _take_facts(self, table: ElementTable, observations: ObservationTable) -> None:
        """Take capabilities, where they differ from those that nodes have."""
        different = np.zeros(len(self.elements), dtype=np.bool_)
        capabilities = (observations.read_capability, observations.write_capability)
        for name, capability in zip(("read_rate", "write_rate"), capabilities, strict=True):
            known, effective = self.elements[name], capability * observations.health
            with np.errstate(invalid="ignore"):
                moved = np.abs(effective - known) > top_speed.ALIKE * known
            moved |= np.isnan(effective) != np.isnan(known)
            self.elements[name][moved] = effective[moved]
            different |= moved
        unsized = np.isnan(self.elements["size"])
        for row in np.flatnonzero(unsized).tolist():
            seen = observations.by_row[row]
            if seen is not None and seen.size_bytes:
                self.elements["size"][row] = seen.size_bytes
                different[row] = True
        different |= self._keep(table)
        if different.any():
            self.revisions[np.unique(table.system[different])] = self.version + 1

    def _keep(self, table: ElementTable) -> Bools:
        """Note what elements are kept for; return which rows that is another rate for."""
        kept = np.zeros(len(table), dtype=np.float32)
        for rows in self.of_system:
            rates = self.elements["write_rate"][rows]
            given = self._required[self._required <= rates.max(where=~np.isnan(rates), initial=0.0)]
            kept[rows] = given.max(initial=0.0)
        changed: Bools = kept != self.elements["kept_for"]
        self.elements["kept_for"] = kept
        return changed

    def _states(self, table: ElementTable, now: float) -> npt.NDArray[np.uint32]:
        """Return the states the site describes, but those that are over, with what is seen."""
        over = table.state_until <= now
        self._next_over = float(table.state_until[~over].min(initial=np.inf))
        described: npt.NDArray[np.uint32] = np.where(over, 0, _BY_STATE[table.state]).astype(np.uint32)
        return described | self._seen_states

    def _observed_states(self, table: ElementTable, observations: ObservationTable) -> npt.NDArray[np.uint32]:
        bits = np.where(observations.closed, State.READ_ONLY, 0)
        bits |= np.where(observations.degraded, State.DEGRADED, 0)
        scarce = [name in self._policies.scarce_tiers for name in table.tier_names]
        bits |= np.where(np.array(scarce, dtype=np.bool_)[table.tier], State.SCARCE, 0)
        return bits.astype(np.uint32)

    def _servers_of(self, rows: Codes) -> set[int]:
        """Return the servers of some rows that have a limit."""
        if not self._of_server:
            return set()
        return self._of_server.keys() & set(self.elements["server"][rows].tolist())

    def _count_on_servers(self, servers: Iterable[int]) -> list[Codes]:
        """Count the streams on all elements of some servers; return the rows of those where they changed."""
        elements, changed = self.elements, []
        for rows in map(self._of_server.__getitem__, servers):
            devices = np.unique(self.table.device[rows]) if self.table is not None else rows
            streams = elements["own"][devices].sum() + elements["foreign"][devices].sum()
            if elements["server_streams"][rows[0]] != streams:
                elements["server_streams"][rows] = streams
                changed.append(rows)
        return changed

    def _mark(self, changed: Bools | Codes) -> None:
        self.version += 1
        self.changed[changed] = self.version


def _loads(elements: Records) -> Codes:
    """Return what nodes get of the loads, as bits, so that what is not known equals itself."""
    return np.stack(
        [elements[name].astype(np.float64) for name in (*LOADS, *PROMISES, "state", "last_placed")]
    ).view(np.int64)


def stated_kinds(table: ElementTable, wanted: Collection[str]) -> tuple[str, ...]:
    """Return the kinds the site states that rows have room for, those that anybody requires first."""
    return tuple(sorted(table.stated, key=lambda kind: (kind not in wanted, kind))[:STATED])
