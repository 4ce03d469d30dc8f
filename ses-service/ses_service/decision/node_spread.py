"""The nodes of one job, one after the other: each counts what the ones before it were given.

Of the nodes of a class those with the fewest open files are never worse than the others: they share their
links with fewer.  So for each node of the job one group of each class is looked at, and only what the node
before it changed is worked out again.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import ses_core
from ses_core import Query, Records

from ses_service.decision.node_groups import LIMITS, NodeGroups, Reach
from ses_service.decision.nodes import LimitedBy

Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Given:
    """A node of the job, by its place in the fleet, and the element it is given, by its row of the site.

    ``offer`` is what a stream gets there, as the core predicts it.
    """

    member: int
    row: int
    distance: float
    offer: tuple[float, ...]
    limit: LimitedBy


@dataclass(slots=True)
class _Class:
    """Nodes of a class: ``groups`` with nodes left, the one with the fewest files first.

    ``link`` is the rate of a node's link, ``uplink`` the place of the shared one, -1: none; ``nan`` is not
    known.
    """

    access: int
    groups: list[int]
    link: float
    uplink: int
    uplink_rate: float


class _Mounts:
    """What nodes with the same mounts reach, and the places of their classes."""

    def __init__(self, reached: Reach, places: slice) -> None:
        elements = reached.query.elements
        self.reached, self.bytes, self.places = reached, _bytes_of(elements), places
        self.own, self.reserved = elements["own"], elements["reserved"]
        self.server_rate, self.server_streams = elements["server_rate"], elements["server_streams"]
        self.of_row = {row: place for place, row in enumerate(reached.rows.tolist())}
        self.best = 0


class NodeSpread:
    """Chooses the nodes of a job, once."""

    def __init__(self, groups: NodeGroups) -> None:
        self._groups = groups
        of_groups = groups.groups
        self._left = np.bincount(of_groups.numbers + 1, minlength=len(of_groups.streams) + 1)[1:].tolist()
        self._streams: list[int] = of_groups.streams.tolist()
        self._first: list[int] = of_groups.first.tolist()
        self._uplink_streams: list[float] = groups.uplink_streams.tolist()
        self._bytes = max(0.0, float(groups.need["bytes"][0]))
        self._step = float(groups.policy["equal_distance"][0])
        self._members: dict[int, Iterator[int]] = {}
        self._classes = _classes(groups)
        size = len(self._classes)
        access = [node_class.access for node_class in self._classes]
        self._mounts = {
            code: _Mounts(
                groups.reach[code], slice(access.index(code), access.index(code) + access.count(code))
            )
            for code in dict.fromkeys(access)
        }
        # What each class reaches, as it is and as servers and links limit it.
        plain, limited = ses_core.table(size), ses_core.table(size)
        self._plain, self._limited = _bytes_of(plain), _bytes_of(limited)
        self._own, self._reserved = plain["own"], plain["reserved"]
        self._on_server = plain["server_streams"]
        self._server_rate, self._server_streams = limited["server_rate"], limited["server_streams"]
        self._query = Query(limited, groups.need, groups.policy)
        verdicts = self._query.verdicts
        self._columns = [verdicts[name] for name in ("refusal", "low_space", "distance", "share")]
        self._server_share = [0.0] * size
        # The tighter link of each class: what it leaves a newcomer, its rate and streams, and which it is.
        self._tighter = [(math.inf, math.nan, 0.0, 0)] * size

    def nodes(self) -> list[Given]:
        """Return the nodes in order, as many as are asked for and may be used."""
        for mount in self._mounts.values():
            self._reach(mount)
        for each in range(len(self._classes)):
            self._connect(each)
        most = self._groups.asked.count
        plain, limited = ses_core.table(most), ses_core.table(most)
        plain_bytes, limited_bytes = _bytes_of(plain), _bytes_of(limited)
        chosen: list[tuple[int, int, float, int]] = []
        while len(chosen) < most and (place := self._best()) is not None:
            plain_bytes[len(chosen)], limited_bytes[len(chosen)] = self._plain[place], self._limited[place]
            distance = float(self._query.verdicts["distance"][place])
            limit = self._tighter[place][3] if self._by_link(place) else 0
            chosen.append((*self._give(place), distance, limit))
        before, after = (
            Query(elements, self._groups.need, self._groups.policy).predict() for elements in (plain, limited)
        )
        slower = ((after["write"] < before["write"]) | (after["read"] < before["read"])).tolist()
        return [
            Given(member, row, distance, offer, LIMITS[limit if limited else 0])
            for (member, row, distance, limit), offer, limited in zip(
                chosen, after.tolist(), slower, strict=False
            )
        ]

    def _reach(self, mounts: _Mounts) -> None:
        """Find the best element that nodes with these mounts reach by now."""
        place = mounts.best = max(0, mounts.reached.query.choose())
        claims = int(mounts.reached.claims[place])
        at = mounts.places
        self._plain[at] = mounts.bytes[place]
        self._own[at] = mounts.own[place] + claims
        streams = mounts.server_streams[place].item() + int(mounts.reached.on_server[place])
        self._on_server[at] = streams
        self._reserved[at] = mounts.reserved[place] + claims * self._bytes
        share = _share(mounts.server_rate[place].item(), streams)
        self._server_share[at] = [share] * (at.stop - at.start)

    def _connect(self, place: int) -> None:
        """Find the tighter of the links of the next node of a class."""
        node_class = self._classes[place]
        streams = float(self._streams[node_class.groups[0]])
        tighter = _share(node_class.link, streams), node_class.link, streams, 1
        if node_class.uplink >= 0:
            streams = self._uplink_streams[node_class.uplink]
            share = _share(node_class.uplink_rate, streams)
            if share < tighter[0]:
                tighter = share, node_class.uplink_rate, streams, 2
        self._tighter[place] = tighter

    def _by_link(self, place: int) -> bool:
        return self._tighter[place][0] < self._server_share[place]

    def _best(self) -> int | None:
        """Return the class whose next node is the best one, ``None`` when there is none."""
        self._limited[:] = self._plain
        for place, (_, rate, streams, _) in enumerate(self._tighter):
            if self._by_link(place):
                self._server_rate[place], self._server_streams[place] = rate, streams
        self._query.judge()
        columns = zip(self._classes, *[column.tolist() for column in self._columns], strict=True)
        usable = [
            (low_space, distance, -1.0 if share != share else share, node_class.groups[0], place)
            for place, (node_class, refusal, low_space, distance, share) in enumerate(columns)
            if node_class.groups and not refusal
        ]
        if not usable:
            return None
        nearest = min(1.0, *(distance for _, distance, *_ in usable))
        return min(
            (
                low_space,
                math.floor((distance - nearest) / self._step + 1e-6),
                -share,
                self._streams[group],
                self._first[group],
                place,
            )
            for low_space, distance, share, group, place in usable
        )[-1]

    def _give(self, place: int) -> tuple[int, int]:
        """Give the next node of a class its element; return the node and the element's row."""
        node_class = self._classes[place]
        mounts, group = self._mounts[node_class.access], node_class.groups[0]
        row = int(mounts.reached.rows[mounts.best])
        if group not in self._members:
            self._members[group] = iter(self._groups.groups.members(group))
        self._left[group] -= 1
        if not self._left[group]:
            del node_class.groups[0]
        if node_class.uplink >= 0:
            self._uplink_streams[node_class.uplink] += 1.0
        for other, changed in enumerate(self._classes):
            if changed.groups and (changed is node_class or changed.uplink == node_class.uplink >= 0):
                self._connect(other)
        for mount in self._mounts.values():
            at = mount.of_row.get(row)
            if at is not None:
                mount.reached.give(at)
                self._reach(mount)
        return next(self._members[group]), row


def _classes(groups: NodeGroups) -> list[_Class]:
    """Return the classes that reach any element, those with the same mounts together.

    Groups come by class, and then by their open files.
    """
    fleet = groups.fleet
    by_mounts: dict[tuple[int, int], _Class] = {}
    for group, (of_class, code) in enumerate(
        zip(groups.groups.of_class.tolist(), groups.access.tolist(), strict=True)
    ):
        if not len(groups.reach[code].rows):
            continue
        if (of_class, code) not in by_mounts:
            uplink = int(fleet.uplink[of_class])
            rate = float(fleet.uplink_rate[uplink]) if uplink >= 0 else math.nan
            by_mounts[of_class, code] = _Class(code, [], float(fleet.link[of_class]), uplink, rate)
        by_mounts[of_class, code].groups.append(group)
    return sorted(by_mounts.values(), key=lambda node_class: node_class.access)


def _bytes_of(elements: Records) -> Bytes:
    """Return the bytes of each element: copying these takes a tenth of the time of copying its fields."""
    view: Bytes = elements.view(np.uint8).reshape(len(elements), elements.itemsize)
    return view


def _share(rate: float, streams: float) -> float:
    """Return what a newcomer gets of a link, infinite where its rate is not known."""
    return math.inf if rate != rate else rate / (streams + 1.0)
