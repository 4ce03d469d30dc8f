"""The simulated elements as the selection service knows them: a site, and observations of it.

The site cannot spread a file over several elements, as the model cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from ses_service.columns import ElementTable, element_table
from ses_service.model import (
    Element,
    Environment,
    Kind,
    Level,
    Observation,
    Requirement,
    ResolvedRequirement,
    StorageSystem,
)
from ses_service.policies import Policies

from ses_simulate.monitor import Sample, Sampling
from ses_simulate.servers import Device

SYSTEM = "simulated"


def table_of(devices: Sequence[Device]) -> ElementTable:
    """Return the description of the site; the row of an element is its number."""
    return element_table(
        Environment(
            systems={SYSTEM: StorageSystem(SYSTEM, "", SYSTEM, "mergerfs", "/simulated")},
            elements=tuple(
                Element(
                    id=f"{SYSTEM}/{number}",
                    iri="",
                    label=str(number),
                    storage_system=SYSTEM,
                    target=str(number),
                    server=str(device.group),
                    capacity_bytes=device.capacity,
                    nominal_read_rate=device.read_rate,
                    nominal_write_rate=device.write_rate,
                )
                for number, device in enumerate(devices)
            ),
        )
    )


def policies_for(sampling: Sampling) -> Policies:
    """Return the service's own numbers, told how often this site is sampled and nothing else.

    Data count until they are six intervals old (section 4 of the design).
    """
    return Policies(max_data_age=6 * sampling.interval + sampling.delay, rate_window=sampling.span)


def observations(table: ElementTable, sample: Sample) -> list[Observation]:
    """Return a sample in the service's terms."""
    unseen: list[float | None] = [None] * len(table)
    depths = sample.depth or unseen
    columns = zip(
        table.elements,
        sample.read_rate,
        sample.write_rate,
        sample.average_read or unseen,
        sample.average_write or unseen,
        depths,
        sample.free,
        strict=True,
    )
    return [
        Observation(
            element=element.id,
            sampled_at=sample.taken,
            current_read_rate=read,
            current_write_rate=write,
            average_read_rate=average_read,
            average_write_rate=average_write,
            queue_depth=depth,
            free_bytes=free,
        )
        for element, read, write, average_read, average_write, depth, free in columns
    ]


def requirements(reads: float | None, writes: float | None) -> tuple[ResolvedRequirement, ...]:
    """Return minimum rates (bytes per second, ``None``: not asked for) as a user's requirements."""
    asked = ((Kind.CURRENT_READ_RATE, reads), (Kind.CURRENT_WRITE_RATE, writes))
    return tuple(
        ResolvedRequirement(Requirement(kind, minimum), Level.USER, "simulated")
        for kind, minimum in asked
        if minimum is not None
    )
