"""The product: programs choose at the create from their node's table, by the core that they share.

The service keeps the ledger that agents tell it of and the samples of the monitor, and sends each node a
table; what happened on the node since is counted there.  Rules that fix elements ahead of need, or that
know no monitor, keep the same ledger, told in the same way.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from ses_service.ledger.size_history import SizeHistory, keys_of

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.policies.reports import Change, Reports
from ses_simulate.policies.table import PRODUCT, Tables, Terms

SURELY = 0.9  # of the time that its bytes take: a file that was open for less is still written out
WORTH_FOLLOWING = 1.0  # seconds of reading
LOOK_EVERY = 1.0  # seconds: at the sizes of open files
LONGEST_WRITING_OUT = 30.0  # seconds after which a cache has written out what is left, as Linux does


class _Followed(Policy):
    """A rule whose files are followed by the agents of their nodes."""

    def __init__(self, world: World, idle_seconds: float) -> None:
        self._engine = world.engine
        self._reports = Reports(world)
        self._open: dict[int, Change] = {}
        self._idle_seconds = idle_seconds

    def written(self, now: float, file: File, element: int) -> None:
        """See, some seconds later, that the file does not grow any more."""
        if self._idle_seconds < float("inf"):
            self._engine.at(now + self._idle_seconds, partial(self._ended, file.number))

    def closed(self, now: float, file: File, element: int) -> None:
        """See it as soon as the agent does."""
        self._engine.at(self._reports.closes_at(now), partial(self._ended, file.number))

    def _ended(self, number: int, now: float) -> None:
        opened = self._open.pop(number, None)
        if opened is not None:
            self._reports.ended(now, opened)

    def _placed(self, now: float, file: File, element: int) -> None:
        self._open[file.number] = self._reports.opened(now, file, element)


class Ours(_Followed):
    """What the product does; ``terms`` switch parts of the rule off."""

    def __init__(self, world: World, terms: Terms = PRODUCT) -> None:
        super().__init__(world, terms.idle_seconds)
        self._terms = terms
        self._read: set[int] = set()
        self._rates = [device.write_rate for device in world.devices]
        self._read_rates = [device.read_rate for device in world.devices]
        self._tables = Tables(world, self._reports, terms)
        self._max_age = 6 * world.sampling.interval + world.sampling.delay
        self._taken = 0.0
        self._servers = world.servers
        self._sizes, self._keys = SizeHistory(), keys_of("", None, None)
        self._growing: dict[int, tuple[File, int, float]] = {}  # with what their element had done
        self._looked = 0.0

    def closed(self, now: float, file: File, element: int) -> None:
        """Count the file on while a cache writes it out."""
        self._growing.pop(file.number, None)
        self._sizes.learn(self._keys, (file.size,), now)
        opened = self._open.get(file.number)
        lasts = 0.0 if opened is None or not self._terms.writing_out else self._lasts(now, file, opened)
        if lasts > 0:
            self._engine.at(now + lasts, partial(self._ended, file.number))
        else:
            super().closed(now, file, element)

    def reading(self, now: float, file: File, element: int) -> None:
        """Count it as long as it is read; a file of less than a second is not followed so long."""
        if self._terms.reading and file.size >= WORTH_FOLLOWING * self._read_rates[element]:
            self._read.add(file.number)
            if file.number not in self._open:
                self._open[file.number] = self._reports.read(now, file, element)

    def read(self, now: float, file: File, element: int) -> None:
        """See that it is closed again."""
        self._read.discard(file.number)
        self._engine.at(self._reports.closes_at(now), partial(self._ended, file.number))

    def _ended(self, number: int, now: float) -> None:
        if number not in self._read:
            super()._ended(number, now)

    def _lasts(self, now: float, file: File, opened: Change) -> float:
        """Return for how many seconds a file is still written out that is closed now."""
        alone = file.size / self._rates[opened.row]
        if now - opened.began >= SURELY * alone:
            return 0.0
        streams = max(1.0, self._reports.streams(file, opened.row, now))
        return min(LONGEST_WRITING_OUT, opened.began + streams * alone - now)

    def choose(self, now: float, file: File) -> int:
        """Choose from the node's table, and claim."""
        room = self._room(now) if self._terms.room else None
        element = self._tables.choose(now, file, -1.0 if room is None else room)
        if element < 0:
            return element
        self._placed(now, file, element)
        self._growing[file.number] = file, element, self._servers[element].done
        return element

    def _room(self, now: float) -> float | None:
        """Return a size that few files exceed, with those that grow as the agents saw them."""
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            sizes = (self._written(entry) for entry in self._growing.values())
            self._sizes.grows(self._keys, max(sizes, default=0.0), now)
        return self._sizes.room(self._keys)

    def _written(self, written: tuple[File, int, float]) -> float:
        file, element, done = written
        return min(file.size, (self._servers[element].done - done) * self._rates[element])

    def observe(self, now: float, sample: Sample) -> None:
        """Take the sample; nodes hear of it when their agents next speak with the service."""
        if self._terms.monitor:
            self._engine.at(now + self._reports.pace, partial(self._observe, sample))

    def _observe(self, sample: Sample, now: float) -> None:
        self._tables.observe(now, sample)
        self._taken = sample.taken
        self._engine.at(sample.taken + self._max_age, self._age)

    def _age(self, now: float) -> None:
        if now - self._taken >= self._max_age - 1e-9:
            self._tables.unseen()


class Tickets(Ours):
    """Elements fixed ahead of need: each user of a node holds one, chosen when the user's last file closed.

    A ticket that is held is no stream, so that all who renew theirs before anybody uses one choose alike.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._held: dict[tuple[int, str], int] = {}

    def choose(self, now: float, file: File) -> int:
        """Use the ticket that the user holds, or else choose now."""
        element = self._held.pop((file.node, file.user), None)
        if element is None:
            return super().choose(now, file)
        self._placed(now, file, element)
        return element

    def closed(self, now: float, file: File, element: int) -> None:
        """Fix the element of the user's next file."""
        super().closed(now, file, element)
        self._held[file.node, file.user] = max(0, self._tables.choose(now, file))


class LeastOpen(_Followed):
    """The element with the fewest open files of ours, of equals any, each as likely.

    No monitor, no rates: the ledger alone, told in the same way as the product's.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world, float("inf"))
        self._random = world.random("least open")

    def choose(self, now: float, file: File) -> int:
        """Return the element with the fewest open files, as the node knows them."""
        reports = self._reports
        reports.advance(now)
        own = np.array(reports.ledger.own)
        for change, sign in reports.known_differently(file.node, file.user, now):
            own[change.row] += sign * change.streams
        element = int(self._random.choice(np.flatnonzero(own == own.min())))
        self._placed(now, file, element)
        return element
