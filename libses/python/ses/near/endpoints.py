"""Where the files of ``ses map-near`` lie, and whether running there pays."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ses_client.errors import SesError, UsageError

from ses.near.cost import Decision, Here, Holder, Work, decide
from ses.near.history import Seen, recall, remember
from ses.near.placing import NowhereError, Site
from ses.near.sampling import sample
from ses.near.single import Wanted
from ses.near.tasks import HERE, Extent


@dataclass(frozen=True, slots=True)
class Spread:
    """What lies where, and what each node does for what it holds."""

    extents: tuple[Extent, ...]
    holders: Mapping[str, Holder]
    here: Here

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes that hold files, in order of their names."""
        return tuple(sorted(self.holders))


def files_of(patterns: Sequence[str]) -> list[Path]:
    """Return the regular files that patterns or names stand for, each once; raises UsageError."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        base = Path("/") if pattern.startswith("/") else Path()
        named = [Path(pattern)] if Path(pattern).exists() else sorted(base.glob(pattern.lstrip("/")))
        regular = [one for one in named if one.is_file()]
        if not regular:
            raise UsageError(f"{pattern}: no such file.")
        found |= dict.fromkeys(regular)
    return list(found)


def spread(
    wanted: Wanted,
    held: Sequence[tuple[str, str]],
    site: Callable[[], Site],
    piece: int | None = None,
) -> tuple[Spread, list[str]]:
    """Return where the files are, and why some are on no node: those are read from here.

    ``held``: patterns of names with the node of the files they fit; the service is asked for all others.
    With ``piece`` (bytes) a file may be striped over several nodes.
    """
    cores = float(len(os.sched_getaffinity(0)))
    extents, holders, reasons = list[Extent](), dict[str, list[Holder]](), dict[str, None]()
    asked: list[Site] = []

    def known() -> Site:
        asked.extend([] if asked else [site()])
        return asked[0]

    for file in wanted.files:
        node = next((node for pattern, node in held if fnmatch.fnmatch(str(file), pattern)), None)
        try:
            found = _extents(file, node, wanted, known, piece)
        except SesError as error:
            reasons[str(error)] = None
            extents.append(Extent(file, 0, file.stat().st_size, HERE))
            continue
        for extent, holder in found:
            extents.append(extent)
            holders.setdefault(extent.node, []).append(holder)
    together = {node: _together(parts, wanted) for node, parts in holders.items()}
    return Spread(tuple(extents), together, asked[0].here(cores) if asked else Here(cores=cores)), list(
        reasons
    )


def _extents(
    file: Path, node: str | None, wanted: Wanted, site: Callable[[], Site], piece: int | None
) -> list[tuple[Extent, Holder]]:
    """Return the parts of a file and what their nodes do for them; raises SesError with the reason."""
    size = file.stat().st_size
    if node is not None and wanted.disk_rate is not None:
        return [(Extent(file, 0, size, node), Holder(size, wanted.disk_rate))]
    try:
        place = site().place_of(file)
    except NowhereError:
        if piece is None or node is not None:
            raise
        parts = site().parts_of(file, piece)
        return [(Extent(file, start, end, one.node, False), one.holder) for start, end, one in parts]
    return [(Extent(file, 0, size, node or place.node), place.holder)]


def _together(parts: Sequence[Holder], wanted: Wanted) -> Holder:
    size = sum(one.bytes for one in parts)
    seconds = sum(one.bytes / one.disk_rate for one in parts)
    return replace(
        parts[0],
        bytes=size,
        disk_rate=wanted.disk_rate or (size / seconds if seconds else parts[0].disk_rate),
        link_rate=wanted.link_rate or parts[0].link_rate,
        clients=wanted.clients or parts[0].clients,
    )


def decided(wanted: Wanted, where: Spread, per_endpoint: int | None) -> tuple[Decision | None, int]:
    """Return the decision and how many tasks a node runs at once; ``None``: nothing is known of the program.

    Raises NotStartedError and LostError when the sample cannot be run.
    """
    seen = _seen(wanted, where)
    if seen is None:
        return None, per_endpoint or 1
    at_once = per_endpoint or wanted.limits.at_once(seen.cores, seen.memory)
    cores = wanted.limits.cores(seen.cores, at_once)
    holders = [replace(one, cores=cores, slowdown=seen.slowdown) for one in where.holders.values()]
    work = Work(seen.returned, seen.cpu_seconds_per_byte, at_once)
    return decide(work, holders, where.here, seen.start_seconds), at_once


def _seen(wanted: Wanted, where: Spread) -> Seen | None:
    most = max((one for one in where.extents if one.node != HERE), key=lambda one: one.end - one.start)
    known = recall(wanted.argv, most.node)
    if known is not None or not wanted.sampled or most.end == most.start:
        return known
    run = replace(wanted.run(most.node), argv=wanted.argv)
    found = sample(run, str(most.file), wanted.name_there(most.file), most.file.stat().st_size)
    remember(wanted.argv, most.node, found)
    return found
