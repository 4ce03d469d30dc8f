"""Elements and observations as numpy columns, so that one decision is a few passes over arrays.

The columns of static facts are built once per description of the site, those of observations once
per sample.  Row ``i`` of every column is about ``table.elements[i]``; unknown is ``nan``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ses_service.model.entities import Element, ElementState, Environment, Observation

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
T = TypeVar("T")

STATES = tuple(ElementState)

MIN_GIVEN = 10e6  # bytes per second that an element without a nominal rate is taken to give at least


def _from(least: float, values: Iterable[float | None]) -> Floats:
    """Return a column of what is finite and not less; all else is unknown."""
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    column[~((column >= least) & np.isfinite(column))] = np.nan
    return column


def _coded(values: Iterable[T]) -> tuple[Codes, tuple[T, ...]]:
    """Return values by their places among those there are, and these."""
    listed = list(values)
    names = {name: code for code, name in enumerate(dict.fromkeys(listed))}
    return np.array([names[value] for value in listed], dtype=np.int64), tuple(names)


@dataclass(frozen=True, eq=False)
class ElementTable:
    """Static facts.  A nominal rate or capacity of less than one byte counts as unknown, and a link's.

    ``server_rate`` is what all elements of the server of each give together.

    ``state_until`` is when each state ends by itself, infinite where it does not.
    ``numbered`` are elements whose target is a number, as that of an OST; ``stated`` has the kinds that are
    not predicted, by name.  ``room`` is the row of the first element on the same file system of the same
    server, ``device`` that of the first on the same device of it, which may have several file systems: these
    share room, and load.  ``of_files`` are the systems a question is about that names none: those where files
    are placed, or all where there are none.  ``shared`` are the rows of each device that has several.
    """

    environment: Environment
    elements: tuple[Element, ...]
    index: Mapping[str, int]
    system_names: tuple[str, ...]
    of_files: frozenset[str]
    system: Codes
    server: Codes
    server_names: tuple[str, ...]
    server_rate: Floats
    state: Codes
    state_until: Floats
    read_capability: Floats
    write_capability: Floats
    capacity: Floats
    tier: Codes
    tier_names: tuple[str | None, ...]
    pool: Codes
    pool_names: tuple[str | None, ...]
    numbered: Bools
    stated: Mapping[str, Floats]
    room: Codes
    device: Codes
    shared: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.elements)


def element_table(environment: Environment) -> ElementTable:
    """Build the columns of an environment.  Elements are taken in its order."""
    elements = environment.elements
    systems, names = _coded(element.storage_system for element in elements)
    servers, server_names = _coded(element.server for element in elements)
    tiers, tier_names = _coded(element.tier for element in elements)
    pools, pool_names = _coded(element.pool for element in elements)
    return ElementTable(
        environment=environment,
        elements=elements,
        index={element.id: row for row, element in enumerate(elements)},
        system_names=names,
        of_files=_of_files(names, environment) or frozenset(names),
        system=systems,
        server=servers,
        server_names=server_names,
        server_rate=_from(1.0, (element.server_rate for element in elements)),
        state=np.array([STATES.index(element.state) for element in elements], dtype=np.int64),
        state_until=np.array(
            [np.inf if element.state_until is None else element.state_until for element in elements],
            dtype=np.float64,
        ),
        read_capability=_from(1.0, (element.nominal_read_rate for element in elements)),
        write_capability=_from(1.0, (element.nominal_write_rate for element in elements)),
        capacity=_from(1.0, (element.capacity_bytes for element in elements)),
        tier=tiers,
        tier_names=tier_names,
        pool=pools,
        pool_names=pool_names,
        numbered=np.array([element.target.isdecimal() for element in elements], dtype=np.bool_),
        stated=_stated(elements),
        **_devices(elements),
    )


def _of_files(names: Iterable[str], environment: Environment) -> frozenset[str]:
    systems = environment.systems
    return frozenset(name for name in names if name not in systems or systems[name].takes_files)


def _devices(elements: tuple[Element, ...]) -> dict[str, Any]:
    on: dict[tuple[str, str], list[int]] = {}
    for row, element in enumerate(elements):
        on.setdefault((element.server, element.file_system or f"\0{row}"), []).append(row)
    devices: dict[tuple[str, str], list[int]] = {}
    for (server, file_system), rows in on.items():
        stated = next((device for row in rows if (device := elements[row].device)), f"\0{file_system}")
        devices.setdefault((server, stated), []).extend(rows)
    shared = tuple(tuple(sorted(rows)) for rows in devices.values() if len(rows) > 1)
    return {"room": _firsts(on.values(), elements), "device": _firsts(shared, elements), "shared": shared}


def _firsts(groups: Iterable[Sequence[int]], elements: tuple[Element, ...]) -> Codes:
    """Return of each row the first of those it is grouped with."""
    first = np.arange(len(elements))
    for rows in groups:
        first[list(rows)] = rows[0]
    return first


def _stated(elements: tuple[Element, ...]) -> dict[str, Floats]:
    columns: dict[str, Floats] = {}
    for row, element in enumerate(elements):
        for kind, value in element.stated:
            columns.setdefault(kind, np.full(len(elements), np.nan))[row] = value
    return {kind: _from(0.0, column) for kind, column in columns.items()}


@dataclass(frozen=True, eq=False)
class ObservationTable:
    """The last observation of each element; ``sampled_at`` is ``nan`` where there is none.

    ``closed`` elements take no file: they are mounted read-only, or an administrator closed them.  The
    capabilities are those of the description, or else what the monitor was given or learned.
    ``rated`` marks the observations that have a current rate or a queue at all.  ``most_read`` and
    ``most_write`` are the largest rates seen.  ``utilisation`` is the part of an element that readers and
    writers use together (:func:`seen_to_give`); ``top_speed`` the most it was seen to do recently, and
    ``health`` what to expect of it (:mod:`ses_service.decision.health`), in the same unit.
    ``interval`` is how many seconds samples of it are apart.
    """

    by_row: tuple[Observation | None, ...]
    sampled_at: Floats
    current_read: Floats
    current_write: Floats
    average_read: Floats
    average_write: Floats
    queue_depth: Floats
    free: Floats
    closed: Bools
    degraded: Bools
    read_capability: Floats
    write_capability: Floats
    most_read: Floats
    most_write: Floats
    rated: Bools
    utilisation: Floats
    average_utilisation: Floats
    top_speed: Floats
    health: Floats
    interval: Floats


def _described_first(described: Floats, seen: Iterable[float | None]) -> Floats:
    return np.where(np.isnan(described), _from(1.0, seen), described)


def utilisation_of(
    read_rate: Floats, write_rate: Floats, read_capability: Floats, write_capability: Floats
) -> Floats:
    """Return which part of an element its readers and writers use together, 0 to 1.

    They share one device: a disk that reads at 60 % of its rate has 40 % of its time left to write
    in, however little it was written to.  Elements that do both at once at full rate (duplex links,
    separate limits) are taken for busier than they are.  A direction without a measured or a nominal
    rate counts as unused; both unknown give ``nan``.
    """
    reading, writing = read_rate / read_capability, write_rate / write_capability
    unknown = np.isnan(reading) & np.isnan(writing)
    both = np.where(np.isnan(reading), 0.0, reading) + np.where(np.isnan(writing), 0.0, writing)
    return np.where(unknown, np.nan, np.minimum(1.0, both))


def seen_to_give(observations: ObservationTable, read: Floats, write: Floats) -> ObservationTable:
    """Return the observations of elements that were seen to give so much at most; sets how busy they are.

    A direction without a nominal rate is compared with the largest rate seen, or with ``MIN_GIVEN``: a
    few log files do not make an element busy.  Where there is a queue and no rate, the queue counts.
    """
    capabilities = tuple(
        np.where(np.isnan(nominal), np.fmax(seen, MIN_GIVEN), nominal)
        for nominal, seen in ((observations.read_capability, read), (observations.write_capability, write))
    )
    now = utilisation_of(observations.current_read, observations.current_write, *capabilities)
    queue = np.minimum(1.0, observations.queue_depth)
    return replace(
        observations,
        most_read=read,
        most_write=write,
        utilisation=np.where(np.isnan(now), queue, now),
        average_utilisation=utilisation_of(
            observations.average_read, observations.average_write, *capabilities
        ),
    )


def observation_table(
    table: ElementTable,
    observations: Iterable[Observation],
    between: Callable[[], None] = lambda: None,
) -> ObservationTable:
    """Line observations up with the elements, and take every element for as fast as described.

    Observations of elements the site does not describe are left out; one that the monitor does not know has
    those of another on its device.  A negative or infinite
    number counts as unknown, and an average that is unknown is taken to equal the current rate.  ``between``
    is called before each column.
    """
    rows: list[Observation | None] = [None] * len(table)
    for observation in observations:
        row = table.index.get(observation.element)
        if row is not None:
            rows[row] = observation
    for shared in table.shared:
        seen_there = [(row, observed) for row in shared if (observed := rows[row]) and observed.state == "ok"]
        for row in shared:
            known = next((entry for other, entry in seen_there if table.room[other] == table.room[row]), None)
            if rows[row] is None and known is not None:  # what may be created is the other union's word
                name = table.elements[row].id
                rows[row] = replace(known, element=name, read_only=False, no_create=False)

    def column(read: Callable[[Observation], float | None]) -> Floats:
        between()
        return _from(0.0, (None if row is None else read(row) for row in rows))

    current_read = column(lambda observation: observation.current_read_rate)
    current_write = column(lambda observation: observation.current_write_rate)
    average_read = column(lambda observation: observation.average_read_rate)
    average_write = column(lambda observation: observation.average_write_rate)
    average_read = np.where(np.isnan(average_read), current_read, average_read)
    average_write = np.where(np.isnan(average_write), current_write, average_write)
    queue, unknown = column(lambda observation: observation.queue_depth), np.full(len(table), np.nan)
    seen = ObservationTable(
        by_row=tuple(rows),
        sampled_at=column(lambda observation: observation.sampled_at),
        current_read=current_read,
        current_write=current_write,
        average_read=average_read,
        average_write=average_write,
        queue_depth=queue,
        free=column(lambda observation: observation.free_bytes),
        closed=np.array([row is not None and (row.read_only or row.no_create) for row in rows], np.bool_),
        degraded=np.array([row is not None and row.degraded for row in rows], np.bool_),
        read_capability=_described_first(
            table.read_capability, (row.read_capability if row else None for row in rows)
        ),
        write_capability=_described_first(
            table.write_capability, (row.write_capability if row else None for row in rows)
        ),
        most_read=current_read,
        most_write=current_write,
        rated=~(np.isnan(current_read) & np.isnan(current_write) & np.isnan(queue)),
        utilisation=unknown,
        average_utilisation=unknown,
        top_speed=np.ones(len(table)),
        health=np.ones(len(table)),
        interval=column(lambda observation: observation.interval),
    )
    return seen_to_give(seen, current_read, current_write)
