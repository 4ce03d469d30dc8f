"""Where the files of ``ses map-near`` lie, and whether running there pays."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ses_client.errors import NotFoundError, SesError

from ses.near.cost import Decision, Here, Holder, Work, decide
from ses.near.execution.connection import LostError, NotStartedError
from ses.near.history import Seen, recall, remember
from ses.near.placing import NowhereError, Site
from ses.near.run_near import Wanted, sampled
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


def files_of(patterns: Sequence[str]) -> dict[Path, str]:
    """Return the regular files that patterns or names stand for, each once, and how a shell would write them.

    Raises NotFoundError.
    """
    files: dict[Path, str] = {}
    for pattern in patterns:
        base = Path("/") if pattern.startswith("/") else Path()
        named = [Path(pattern)] if Path(pattern).exists() else sorted(base.glob(pattern.lstrip("/")))
        regular = [path for path in named if path.is_file()]
        if not regular:
            raise NotFoundError(f"{pattern}: no such file.")
        shown = "./" if pattern.startswith("./") else ""
        files |= {path: shown + str(path) for path in regular if path not in files}
    return files


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
            located = _extents(file, node, wanted, known, piece)
        except SesError as error:
            reasons[f"from here: {error}"] = None
            extents.append(Extent(file, 0, file.stat().st_size, HERE))
            continue
        for extent, holder in located:
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
        return [(Extent(file, start, end, part.node, False), part.holder) for start, end, part in parts]
    return [(Extent(file, 0, size, node or place.node), place.holder)]


def _together(parts: Sequence[Holder], wanted: Wanted) -> Holder:
    size = sum(part.bytes for part in parts)
    seconds = sum(part.bytes / part.disk_rate for part in parts)
    return replace(
        parts[0],
        bytes=size,
        disk_rate=wanted.disk_rate or (size / seconds if seconds else parts[0].disk_rate),
        link_rate=wanted.link_rate or parts[0].link_rate,
        clients=wanted.clients or parts[0].clients,
    )


def decided(
    wanted: Wanted, where: Spread, per_endpoint: int | None, reasons: list[str]
) -> tuple[Decision | None, int]:
    """Return the decision and how many tasks a node runs at once; ``None``: nothing is known of the program.

    Why it could not be tried on a node is added to ``reasons``.
    """
    seen = _seen(wanted, where, reasons)
    if seen is None:
        return None, per_endpoint or 1
    at_once = per_endpoint or wanted.limits.at_once(seen.cores, seen.memory)
    cores = wanted.limits.cores(seen.cores, at_once)
    holders = [replace(holder, cores=cores, slowdown=seen.slowdown) for holder in where.holders.values()]
    work = Work(seen.returned, seen.cpu_seconds_per_byte, at_once)
    return decide(work, holders, where.here, seen.start_seconds), at_once


def _seen(wanted: Wanted, where: Spread, reasons: list[str]) -> Seen | None:
    """Return what is known of the program on a node, or shown by the first one where it can be tried."""
    largest: dict[str, Extent] = {}
    for extent in sorted(where.extents, key=lambda extent: extent.start - extent.end):
        if extent.node != HERE:
            largest.setdefault(extent.node, extent)
    for node in largest:
        if (known := recall(wanted.argv, node)) is not None:
            return known
    for node, most in largest.items():
        if wanted.sampled and most.end > most.start:
            try:
                seen = sampled(wanted, node, most.file)
            except (NotStartedError, LostError) as error:
                reasons.append(f"not tried on {node}: {error}")
                continue
            remember(wanted.argv, node, seen)
            return seen
    return None
