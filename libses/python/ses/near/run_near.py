"""``ses run-near``: where one program goes, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ses_client.errors import NotFoundError, SesError

from ses.near.cost import Decision, Here, Holder, Work, decide
from ses.near.execution.connection import Connection
from ses.near.execution.executors import NO_LIMITS, Limits, usual
from ses.near.execution.run import File, Run
from ses.near.history import START_SECONDS, Seen, recall, remember
from ses.near.placing import Place, Site, own_names
from ses.near.sampling import read_rate, sample


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks for.  Rates are bytes per second; ``None``: those of the site.

    ``names``: how files were written, such as ``./-f``, which programs see and may print.  ``at_once``: how
    many tasks fill a node, for which they take turns with those of others; 0: they do not.
    """

    files: tuple[Path, ...]
    argv: tuple[str, ...]
    node: str | None = None
    executor: str | None = None
    rsh: tuple[str, ...] = ()
    limits: Limits = NO_LIMITS
    disk_rate: float | None = None
    link_rate: float | None = None
    clients: int | None = None
    sampled: bool = True
    where: str = "auto"
    path_map: tuple[str, str] | None = None
    names: Mapping[Path, str] = field(default_factory=dict)
    at_once: int = 0

    def name_here(self, file: Path) -> str:
        """Return the name of a file as the program here would be given it."""
        return self.names.get(file, os.fspath(file))

    def name_there(self, file: Path | str) -> str:
        """Return the name of a file on the node."""
        path = os.fspath(Path(file).absolute())
        if self.path_map is not None and Path(path).is_relative_to(self.path_map[0]):
            return os.fspath(self.path_map[1] / Path(path).relative_to(self.path_map[0]))
        return path

    @property
    def executor_used(self) -> str:
        """Return the executor: the one asked for, or this machine's usual one."""
        return self.executor or usual()

    def run(self, node: str) -> Run:
        """Return the run on a node."""
        files = tuple(File.of(file, self.name_there(file)) for file in self.files)
        return Run(self.command(there=True), node, self.executor_used, files, self.limits, self.rsh)

    def trial(self, node: str) -> Run:
        """Return the run on a node with ``{}`` as it is, for a sample."""
        return Run(self.argv, node, self.executor_used, (), self.limits, self.rsh)

    def command(self, there: bool) -> tuple[str, ...]:
        """Return the command with the files in place of ``{}``."""
        mapped = there and self.path_map is not None
        names = [self.name_there(file) if mapped else self.name_here(file) for file in self.files]
        return tuple(word for argument in self.argv for word in (names if argument == "{}" else [argument]))


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the program goes and why.  ``node`` ``None``: here.  ``decision`` ``None``: not predicted."""

    node: str | None
    reason: str
    decision: Decision | None = None
    elements: tuple[str, ...] = ()


def plan(wanted: Wanted, site: Callable[[], Site], connection: Connection | None = None) -> Plan:
    """Decide where the program goes; asks ``site`` for what the user leaves open.  Raises NotFoundError.

    A sample opens the ``connection`` to the node, if that is given, and leaves it open.
    """
    for file in wanted.files:
        if not file.is_file():
            raise NotFoundError(f"{file} is not a regular file that can be read here.")
    if wanted.where == "here":
        return Plan(None, "asked for")
    cores = float(len(os.sched_getaffinity(0)))
    try:
        place, here = _place(wanted, site, cores)
    except SesError as error:
        return Plan(None, str(error))
    if place.node in own_names():
        return Plan(None, "the files are here", elements=place.elements)
    nothing = Work(0.0, 0.0)
    best = decide(nothing, [place.holder], here, START_SECONDS)
    if not best.pays and wanted.where == "auto":
        here = _measured(wanted, here)
        best = decide(nothing, [place.holder], here, START_SECONDS)
    if not best.pays and wanted.where == "auto":
        return Plan(None, f"it cannot pay: {best.lost}", best, place.elements)
    try:
        seen = _seen(wanted, place, connection)
    except SesError as error:
        return Plan(None, f"{place.node}: {error}", elements=place.elements)
    if seen is None:
        if wanted.where == "near":
            return Plan(place.node, "asked for", elements=place.elements)
        return Plan(None, "nothing is known of what the program returns", elements=place.elements)
    holder = replace(place.holder, cores=wanted.limits.cores(seen.cores), slowdown=seen.slowdown)
    work = Work(seen.returned, seen.cpu_seconds_per_byte)
    decision = decide(work, [holder], here, seen.start_seconds)
    if not decision.pays:
        here = _measured(wanted, here)
        decision = decide(work, [holder], here, seen.start_seconds)
    if wanted.where == "near" or decision.pays:
        return Plan(place.node, "asked for" if not decision.pays else "it pays", decision, place.elements)
    return Plan(None, f"it does not pay: {decision.lost}", decision, place.elements)


def _measured(wanted: Wanted, here: Here) -> Here:
    """Return this node with the rate at which the files come here, where that is less than what is stated.

    Asked only when nothing else speaks for going near: what was read is then read here again, from the cache.
    """
    if not wanted.sampled:
        return here
    try:
        return replace(here, link_rate=min(here.link_rate, read_rate(_largest(wanted))))
    except OSError:  # the program will say what is wrong with the file
        return here


def _largest(wanted: Wanted) -> Path:
    return max(wanted.files, key=lambda file: file.stat().st_size)


def _place(wanted: Wanted, site: Callable[[], Site], cores: float) -> tuple[Place, Here]:
    """Return where all files are; raises SesError with the reason when they are not in one place."""
    size = sum(file.stat().st_size for file in wanted.files)
    if size == 0:
        raise SesError("the files are empty")
    if wanted.node is not None and wanted.disk_rate is not None:
        whole = Place(wanted.node, Holder(size, wanted.disk_rate), ())
        here = Here(cores=cores)
    else:
        known = site()
        places = [known.place_of(file) for file in wanted.files]
        nodes = {place.node for place in places}
        if wanted.node is None and len(nodes) > 1:
            raise SesError(
                f"the files lie on {len(nodes)} nodes ({', '.join(sorted(nodes))}); see ses map-near"
            )
        seconds = sum(place.holder.bytes / place.holder.disk_rate for place in places)
        holder = replace(places[0].holder, bytes=size, disk_rate=wanted.disk_rate or size / seconds)
        elements = tuple(dict.fromkeys(name for place in places for name in place.elements))
        whole = Place(wanted.node or places[0].node, holder, elements)
        here = known.here(cores)
    holder = replace(
        whole.holder,
        link_rate=whole.holder.link_rate if wanted.link_rate is None else wanted.link_rate,
        clients=whole.holder.clients if wanted.clients is None else wanted.clients,
    )
    return replace(whole, holder=holder), here


def _seen(wanted: Wanted, place: Place, connection: Connection | None) -> Seen | None:
    known = recall(wanted.argv, place.node)
    if known is not None or not wanted.sampled:
        return known
    seen = sampled(wanted, place.node, _largest(wanted), connection)
    remember(wanted.argv, place.node, seen)
    return seen


def sampled(wanted: Wanted, node: str, file: Path, connection: Connection | None = None) -> Seen:
    """Return what a sample of a file shows.  Raises NotStartedError, LostError."""
    trial, size = wanted.trial(node), file.stat().st_size
    if connection is not None:
        return sample(trial, os.fspath(file), wanted.name_there(file), size, connection)
    with Connection() as own:
        return sample(trial, os.fspath(file), wanted.name_there(file), size, own)
