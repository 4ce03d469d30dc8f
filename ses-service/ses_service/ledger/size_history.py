"""How large files become: the history of sizes by user, application and pattern of the path.

A path pattern is a path with what changes from run to run replaced by ``#``: runs of digits, numbers in
hex, UUIDs and random names as ``mkstemp`` makes them (``/data/run-17/out.0003.h5`` becomes
``/data/run-#/out.#.h5``); a short ending is left as it is (``libses/state/pattern.h``).  What is not
recognised costs a pattern of its own; their number is bounded.

A file should find the room that few of the last ``KEPT`` files like it exceeded (:attr:`Sizes.high`), which
follows when a program changes its habit: as soon as an open file is larger than all of them, the room
is a multiple of what that one has.  A decision is never wrong without a history, only less well
informed.

Not safe for use from several threads; its owner holds a lock.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from ses_state import _state

KEPT = 31
PLACE = "(place)"
FADED = 0.99  # of what was larger, with each file that ends
GROWS = 4.0  # times as large may an open file become that is larger than the last that ended
PATTERNS_OF_A_USER = 256
PATTERNS = 100_000


class SizeKey(NamedTuple):
    """Whose files.  ``pattern`` is empty for all of an application, ``application`` for none named."""

    user: str
    application: str
    pattern: str = ""

    @property
    def digest(self) -> str:
        """32 hex digits, other ones for each key."""
        joined = "\x00".join((self.user, self.application, self.pattern))
        return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def keys_of(user: str, application: str | None, path: str | None) -> tuple[SizeKey, ...]:
    """Return the keys of a file, the most particular last."""
    return keys_of_pattern(user, application, None if path is None else _state.pattern_of(path))


def keys_of_pattern(user: str, application: str | None, pattern: str | None) -> tuple[SizeKey, ...]:
    """Return the keys of a file whose path has this pattern."""
    general = SizeKey(user, application or "")
    return (general,) if pattern is None else (general, SizeKey(user, application or "", pattern))


def keys_of_place(user: str, application: str | None) -> tuple[SizeKey, ...]:
    """Return the keys of a place: no path has this pattern."""
    return tuple(dict.fromkeys((SizeKey(user, "", PLACE), SizeKey(user, application or "", PLACE))))


@dataclass(slots=True)
class Sizes:
    """Sizes in bytes, the last ``KEPT`` of ``count``; ``last_at`` is seconds since the epoch.

    ``peak`` is the largest of all, ``growing`` that of files still open as last reported; both fade.
    """

    count: int = 0
    last_at: float = 0.0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    peak: float = field(default=0.0, compare=False)
    growing: float = field(default=0.0, compare=False)

    def add(self, sizes: Collection[float], now: float) -> None:
        """Note some more."""
        self.count += len(sizes)
        self.last_at = now
        self.recent.extend(sizes)
        for size in sizes:
            self.peak = max(size, FADED * self.peak)
            self.growing *= FADED

    def copy(self) -> Sizes:
        """Return the same, which stays as it is."""
        return Sizes(self.count, self.last_at, deque(self.recent, KEPT), self.peak)

    @property
    def median(self) -> float:
        """The median of the sizes that are kept, the lower one of an even number."""
        return sorted(self.recent)[(len(self.recent) - 1) // 2]

    @property
    def high(self) -> float:
        """A size that few files like these exceed.

        After ``n`` sizes the next is larger than all with the chance ``1 / (n + 1)``: the largest one that is
        kept is a high quantile where there are many, and says little where there are few, so that a part of
        it is added that shrinks as they become more.  Where one in many is large, ``peak`` remembers it.
        """
        largest = max(self.recent)
        grows = GROWS * self.growing if self.growing > largest else 0.0
        return max(largest * (1.0 + 2.0 / len(self.recent)), self.peak, grows)

    @property
    def last(self) -> float:
        """The last size."""
        return self.recent[-1]


class SizeHistory:
    """Sizes by key.  The patterns learned last are kept, up to a number of each user and of all.

    ``learned``, if set, collects the sizes that ``learn`` takes; the reader empties it.
    """

    def __init__(self) -> None:
        self._of_user: OrderedDict[str, OrderedDict[SizeKey, Sizes]] = OrderedDict()
        self._total = 0
        self._followers: list[set[SizeKey]] = []
        self.learned: dict[SizeKey, deque[float]] | None = None

    def __len__(self) -> int:
        return self._total

    def follow(self) -> set[SizeKey]:
        """Return a set to which every key is added that changes from now on; the caller empties it."""
        changed: set[SizeKey] = set()
        self._followers.append(changed)
        return changed

    def learn(self, keys: Iterable[SizeKey], sizes: Collection[float], now: float) -> None:
        """Note the sizes that files with these keys had in the end."""
        for key in keys:
            known = self.get(key) or Sizes()
            known.add(sizes, now)
            self.put(key, known)
            if self.learned is not None:
                self.learned.setdefault(key, deque(maxlen=KEPT)).extend(sizes)

    def grows(self, keys: Iterable[SizeKey], size: float, now: float, *, closed: bool = False) -> None:
        """Note that an open file with these keys has a size, and still grows unless it is ``closed``."""
        for key in keys:
            known = self.get(key)
            if known is None:
                self.learn((key,), (size,), now)
            elif closed:
                known.peak = max(known.peak, size)
                known.growing = 0.0 if known.growing <= size else known.growing
            else:
                known.growing = max(known.growing, size)

    def learn_from_peer(self, key: SizeKey, sizes: Collection[float], now: float) -> None:
        """Note sizes that another service has learned and stores.

        What we had learned of the key before may have been overwritten there, so that it changed for us, too.
        """
        before = self.get(key)
        known = before or Sizes()
        known.add(sizes, now)
        self.put(key, known, note=before is not None)

    def room(self, keys: Sequence[SizeKey]) -> float | None:
        """Return a size that few files of the last of these keys that is known exceed, or ``None``."""
        for key in reversed(keys):
            known = self.get(key)
            if known is not None:
                return known.high
        return None

    def high(self, user: str) -> dict[str, float]:
        """Return a size that few files of each of a user's applications exceed; ``""``: none is named."""
        mine = self._of_user.get(user, OrderedDict[SizeKey, Sizes]())
        return {key.application: sizes.high for key, sizes in mine.items() if not key.pattern}

    def put(self, key: SizeKey, sizes: Sizes, *, note: bool = True) -> None:
        """Set what is known of a key, and forget what was learned longest ago if that is too much."""
        mine = self._of_user.setdefault(key.user, OrderedDict())
        if key not in mine:
            self._total += 1
        mine[key] = sizes
        mine.move_to_end(key)
        self._of_user.move_to_end(key.user)
        if note:
            self._note(key)
        if len(mine) > PATTERNS_OF_A_USER:
            self._drop(key.user)
        while self._total > PATTERNS:
            self._drop(next(iter(self._of_user)))

    def get(self, key: SizeKey) -> Sizes | None:
        """Return what is known of a key."""
        mine = self._of_user.get(key.user)
        return None if mine is None else mine.get(key)

    def entries(self, user: str | None = None) -> list[tuple[SizeKey, Sizes]]:
        """Return what is known, of one user or of all, what was learned last first."""
        users = self._of_user.values() if user is None else [self._of_user.get(user, OrderedDict())]
        entries = [entry for mine in users for entry in mine.items()]
        return sorted(entries, key=lambda entry: (-entry[1].last_at, entry[0].pattern, entry[0].application))

    def _drop(self, user: str) -> None:
        mine = self._of_user[user]
        key, _ = mine.popitem(last=False)
        self._total -= 1
        self._note(key)
        if not mine:
            del self._of_user[user]

    def _note(self, key: SizeKey) -> None:
        for follower in self._followers:
            follower.add(key)
