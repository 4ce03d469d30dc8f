"""Regions and items: :class:`Region`, :class:`Item`; each call is one of ses/share.h."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ses import native
from ses.share.library import Model, check, ffi, library


@dataclass(frozen=True)
class Value:
    """A value and its version, 1 for the first put."""

    data: bytes
    version: int


@dataclass(frozen=True)
class RegionFacts:
    """A region as the kernel and its head describe it; sizes in bytes."""

    name: str
    owner: int
    group: int
    mode: int
    opened: int
    bytes: int
    bytes_free: int
    items: int
    items_most: int


@dataclass(frozen=True)
class ItemFacts:
    """An item; sizes in bytes, ages in seconds; version 0: nothing was put yet."""

    name: str
    model: Model
    bytes: int
    keep: int
    versions: int
    age: float
    version: int
    value_bytes: int
    value_age: float
    holder: int | None


class Item:
    """A value of a region; one thread at a time."""

    def __init__(self, region: Region, name: str, item: Any) -> None:
        self.name = name
        self._region = region  # must live as long
        self._item = ffi.gc(item, library().ses_share_let_go)
        self._room = ffi.new("char[]", self.facts().bytes)

    def __repr__(self) -> str:
        facts = self.facts()
        return (
            f"Item({self.name!r}, {facts.bytes} bytes, {facts.model.name.lower()}, version {facts.version})"
        )

    def put(self, value: bytes | bytearray | memoryview) -> int:
        """Put a value and return its version.  Raises TimeoutError, OSError."""
        version = ffi.new("uint64_t *")
        data = ffi.from_buffer(value)
        check(library().ses_share_put(self._handle(), data, len(data), version), self.name)
        return int(version[0])

    def get(self) -> Value | None:
        """Return the value as the item's model allows; None: nothing was put yet.

        Raises OSError with ETIME where the value is older than a temporal item's age.
        """
        size, version = ffi.new("size_t *"), ffi.new("uint64_t *")
        status = library().ses_share_get(self._handle(), self._room, len(self._room), size, version)
        return self._value(status, size, int(version[0]))

    def copy(self, version: int) -> Value | None:
        """Return that version; None: it was not put yet.  Raises OSError (ESTALE): not kept any more."""
        size = ffi.new("size_t *")
        status = library().ses_share_copy(self._handle(), version, self._room, len(self._room), size)
        return self._value(status, size, version)

    @property
    def version(self) -> int:
        """The number of the last put; 0: none yet."""
        return self.facts().version

    def wait(self, version: int) -> bool:
        """Wait until there is a later version; False: the region's patience is at an end."""
        status = library().ses_share_await(self._handle(), version)
        if status != errno.ETIMEDOUT:
            check(status, self.name)
        return bool(status == 0)

    def refresh(self) -> None:
        """Forget what this process has got, so that the next get asks the region."""
        library().ses_share_refresh(self._handle())

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Hold the item's lock; gives True where who held it died, so that its work may be half done."""
        status = library().ses_share_lock(self._handle())
        if status != errno.EOWNERDEAD:
            check(status, self.name)
        try:
            yield status == errno.EOWNERDEAD
        finally:
            check(library().ses_share_unlock(self._handle()), self.name)

    def free(self) -> None:
        """Free it for everybody."""
        check(library().ses_share_free(self._handle()), self.name)
        ffi.gc(self._item, None)
        self._item = None

    def facts(self) -> ItemFacts:
        """Return what is known of the item."""
        facts = ffi.new("ses_share_item_facts *")
        check(library().ses_share_look(self._handle(), facts), self.name)
        return _item_facts(facts)

    def _handle(self) -> Any:
        if self._item is None or self._region.closed:
            raise ValueError(f"{self.name}: the item was freed, or its region is closed")
        return self._item

    def _value(self, status: int, size: Any, version: int) -> Value | None:
        if status == errno.ENOENT:
            return None
        check(status, self.name)
        return Value(bytes(ffi.buffer(self._room, size[0])), version)


class Region(native.Closable):
    """A region that is open; a context that closes it."""

    def __init__(self, name: str, share: Any) -> None:
        self.name = name
        self._share = share

    @classmethod
    def create(
        cls, name: str, size: int = 0, items: int = 0, mode: int = 0o600, group: int | None = None
    ) -> Region:
        """Make a region of ``size`` bytes for values (0: 1 MiB).  Raises FileExistsError, OSError."""
        options: Any = ffi.new("ses_share_options *")
        options.bytes, options.items, options.mode = size, items, mode
        options.grouped, options.group = group is not None, group or 0
        share = ffi.new("ses_share **")
        check(library().ses_share_create(os.fsencode(name), options, share), name)
        return cls(name, share[0])

    @classmethod
    def open(cls, name: str) -> Region:
        """Open ``[USER:]NAME``.  Raises FileNotFoundError, PermissionError, OSError."""
        share = ffi.new("ses_share **")
        check(library().ses_share_open(os.fsencode(name), share), name)
        return cls(name, share[0])

    @classmethod
    def open_or_create(cls, name: str, size: int = 0, items: int = 0, mode: int = 0o600) -> Region:
        """Open it, or make it if there is none."""
        while True:
            try:
                return cls.open(name)
            except FileNotFoundError:
                pass
            try:
                return cls.create(name, size, items, mode)
            except FileExistsError:
                continue

    @staticmethod
    def remove(name: str) -> None:
        """Remove it; programs that have it open keep it."""
        check(library().ses_share_remove(os.fsencode(name)), name)

    def __repr__(self) -> str:
        return f"Region({self.name!r})"

    def close(self) -> None:
        """Close it; its items must not be used any more."""
        library().ses_share_close(self._share)
        self._share = ffi.NULL

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return bool(self._share == ffi.NULL)

    def patience(self, seconds: float) -> None:
        """Set how long a call waits for other processes; 5 seconds at first."""
        library().ses_share_patience(self._handle(), seconds)

    def alloc(
        self,
        name: str,
        size: int,
        model: Model = Model.READ,
        *,
        keep: int = 1,
        versions: int = 0,
        age: float = 0,
    ) -> Item:
        """Make an item for values of up to ``size`` bytes.  Raises FileExistsError, OSError."""
        return self._item(library().ses_share_alloc, name, size, model, keep, versions, age)

    def have(
        self,
        name: str,
        size: int,
        model: Model = Model.READ,
        *,
        keep: int = 1,
        versions: int = 0,
        age: float = 0,
    ) -> Item:
        """Find an item, or make it."""
        return self._item(library().ses_share_have, name, size, model, keep, versions, age)

    def find(self, name: str) -> Item:
        """Find an item that exists.  Raises FileNotFoundError."""
        item = ffi.new("ses_share_item **")
        check(library().ses_share_find(self._handle(), os.fsencode(name), item), name)
        return Item(self, name, item[0])

    def facts(self) -> RegionFacts:
        """Return what is known of the region."""
        facts = ffi.new("ses_share_facts *")
        check(library().ses_share_facts_of(self._handle(), facts), self.name)
        return _region_facts(facts)

    def items(self) -> list[ItemFacts]:
        """Return what is known of each item, by name."""
        items, number = [], 0
        facts = ffi.new("ses_share_item_facts *")
        while (status := library().ses_share_item_at(self._handle(), number, facts)) != errno.EINVAL:
            if status != errno.ENOENT:
                check(status, self.name)
                items.append(_item_facts(facts))
            number += 1
        return sorted(items, key=lambda item: item.name)

    def _handle(self) -> Any:
        if self.closed:
            raise ValueError(f"{self.name}: the region is closed")
        return self._share

    def _item(
        self, make: Any, name: str, size: int, model: Model, keep: int, versions: int, age: float
    ) -> Item:
        kind: Any = ffi.new("ses_share_kind *")
        kind.bytes, kind.model, kind.keep = size, model, keep
        kind.versions, kind.age_seconds = versions, age
        item = ffi.new("ses_share_item **")
        check(make(self._handle(), os.fsencode(name), kind, item), name)
        return Item(self, name, item[0])


def regions() -> list[RegionFacts]:
    """Return the regions of this node that the caller may read, by owner and name."""
    listed: list[RegionFacts] = []

    @ffi.callback("int(const ses_share_facts *, void *)")
    def see(facts: Any, _: Any) -> int:
        listed.append(_region_facts(facts))
        return 0

    check(library().ses_share_each(see, ffi.NULL), "regions")
    return sorted(listed, key=lambda region: (region.owner, region.name))


def _region_facts(facts: Any) -> RegionFacts:
    names = ("owner", "group", "mode", "opened", "bytes", "bytes_free", "items", "items_most")
    return RegionFacts(native.text(ffi, facts.name), *(int(getattr(facts, name)) for name in names))


def _item_facts(facts: Any) -> ItemFacts:
    return ItemFacts(
        name=native.text(ffi, facts.name),
        model=Model(facts.kind.model),
        bytes=int(facts.kind.bytes),
        keep=int(facts.kind.keep),
        versions=int(facts.kind.versions),
        age=float(facts.kind.age_seconds),
        version=int(facts.version),
        value_bytes=int(facts.value_bytes),
        value_age=float(facts.age_seconds),
        holder=int(facts.holder) or None,
    )
