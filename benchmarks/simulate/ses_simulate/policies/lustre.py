"""What Lustre does by itself for one stripe: round robin, or by free space when that is uneven.

The rules of ``lod_ost_alloc_rr`` and ``lod_ost_alloc_qos`` (lustre-release, ``lod_qos.c`` and
``lu_tgt_descs.c``), for elements that are all up and files of one stripe.  Neither knows load.
"""

from __future__ import annotations

from ses_simulate.policies.interface import File, Policy, World

PRIORITY_WIDE = 26 / 256  # 256 less the 90 % (230 of 256) that free space weighs
THRESHOLD = 43 / 256  # imbalance of free space from which it decides (17 %)
MAX_AGE = 5.0  # seconds the server trusts its knowledge of free space


def interleaved(groups: list[int]) -> list[int]:
    """Return the elements in round-robin order: those of one machine as far apart as they can be.

    Element ``j`` of a machine with ``n`` of the ``N`` elements takes slot ``j N / n``, or the next
    free one.
    """
    total = len(groups)
    slots: list[int | None] = [None] * total
    for group in dict.fromkeys(groups):
        members = [element for element, entry in enumerate(groups) if entry == group]
        for place, element in enumerate(members):
            slot = place * total // len(members)
            while slots[slot % total] is not None:
                slot += 1
            slots[slot % total] = element
    return [element for element in slots if element is not None]


class RoundRobin(Policy):
    """The next in turn; the turn starts anew at a random place every ``(2000 / N + 30) N`` files."""

    def __init__(self, world: World) -> None:
        self._order = interleaved([device.group for device in world.devices])
        self._random = world.random("round robin")
        self._until_reseed = 0
        self._next = 0

    def choose(self, now: float, file: File) -> int:
        """Return the next element in turn."""
        total = len(self._order)
        self._until_reseed -= 1
        if self._until_reseed <= 0:
            self._next = self._random.randrange(total)
            self._until_reseed = (2000 // total + 30) * total
        element = self._order[self._next % total]
        self._next += 1
        return element


class NodesTurns(Policy):
    """Each node takes turns of its own from a place of its own, as clients of PVFS do; hears of no other."""

    def __init__(self, world: World) -> None:
        self._order = interleaved([device.group for device in world.devices])
        random = world.random("turns")
        self._next = [random.randrange(len(self._order)) for _ in range(world.nodes)]

    def choose(self, now: float, file: File) -> int:
        """Return the next element in the node's turn."""
        self._next[file.node] += 1
        return self._order[self._next[file.node] % len(self._order)]


class FreeSpace(Policy):
    """Weighted by free space less penalties for recent use; round robin while space is even."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers
        self._group = [device.group for device in world.devices]
        self._random = world.random("free space")
        self._even = RoundRobin(world)
        count = len(world.devices)
        self._penalty = [0.0] * count
        self._per_object = [0.0] * count
        self._used = [0.0] * count
        groups = set(self._group)
        self._group_penalty = dict.fromkeys(groups, 0.0)
        self._group_per_object = dict.fromkeys(groups, 0.0)
        self._group_used = dict.fromkeys(groups, 0.0)
        self._free: list[float] = []
        self._known_at = 0.0
        self._is_even = True

    def choose(self, now: float, file: File) -> int:
        """Return an element drawn by weight."""
        if not self._free or now - self._known_at >= MAX_AGE:
            self._look(now)
        if self._is_even:
            return self._even.choose(now, file)
        weights = [
            max(0.0, free - penalty - self._group_penalty[group])
            for free, penalty, group in zip(self._free, self._penalty, self._group, strict=True)
        ]
        drawn = self._random.random() * sum(weights)
        element = 0
        for element, weight in enumerate(weights):  # noqa: B007  the last one when all weigh nothing
            drawn -= weight
            if drawn < 0:
                break
        self._use(now, element)
        return element

    def _look(self, now: float) -> None:
        """Learn free space; reckon the penalty of one use, and let old penalties fade."""
        self._known_at = now
        self._free = [server.free for server in self._servers]
        members: dict[int, list[float]] = {}
        for free, group in zip(self._free, self._group, strict=True):
            members.setdefault(group, []).append(free)
        others = max(1, len(self._free) - 1)
        twice = 2.0 if len(members) < 2 else 1.0
        for element, free in enumerate(self._free):
            self._per_object[element] = twice * PRIORITY_WIDE * free / others / 2
            self._penalty[element] *= self._faded(now - self._used[element])
        for group, frees in members.items():
            apart = len(frees) * max(1, len(members) - 1)
            self._group_per_object[group] = PRIORITY_WIDE * sum(frees) / apart / 2
            self._group_penalty[group] *= self._faded(now - self._group_used[group])
        self._is_even = max(self._free) * (1 - THRESHOLD) < min(self._free)
        if self._is_even:
            self._penalty = [0.0] * len(self._penalty)
            self._group_penalty = dict.fromkeys(self._group_penalty, 0.0)

    @staticmethod
    def _faded(idle: float) -> float:
        """Return what is left of a penalty: half of it for each 8 * maxage seconds without use."""
        turns = idle // (8 * MAX_AGE)
        return 0.0 if turns > 32 else 0.5**turns

    def _use(self, now: float, element: int) -> None:
        group = self._group[element]
        self._used[element] = self._group_used[group] = now
        self._penalty[element] = self._penalty[element] / 2 + self._per_object[element] * len(self._free)
        self._group_penalty[group] = self._group_penalty[group] / 2 + self._group_per_object[group] * len(
            self._group_penalty
        )
        for entry in self._group_penalty:
            self._group_penalty[entry] = max(0.0, self._group_penalty[entry] - self._group_per_object[entry])
        self._penalty = [
            max(0.0, penalty - per) for penalty, per in zip(self._penalty, self._per_object, strict=True)
        ]
