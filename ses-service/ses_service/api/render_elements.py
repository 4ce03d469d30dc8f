"""Elements, groups of them and what the monitor saw of them, in the shapes of the contract."""

from collections.abc import Mapping

from ses_client.messages import element_groups, elements
from ses_client.messages.message import JSON

from ses_service.api.render import GB, MB, in_units, rates
from ses_service.decision.element_groups import Group, Measure
from ses_service.knowledge.times import written
from ses_service.model.entities import Element, Observation, StorageSystem


def observation(observation: Observation, now: float, *, seen: bool = True) -> elements.Observation:
    """Return what the monitor last saw of an element; what is not ``seen`` any more is stale."""
    at = observation.sampled_at
    return elements.Observation.like(
        observation,
        state=observation.state if seen or observation.state != "ok" else "stale",
        age_seconds=None if at is None else round(max(0.0, now - at), 3),
        read_bytes_per_second=elements.RatePair(
            current=observation.current_read_rate, average=observation.average_read_rate
        ),
        write_bytes_per_second=elements.RatePair(
            current=observation.current_write_rate, average=observation.average_write_rate
        ),
    )


def element(element: Element, system: StorageSystem | None, now: float) -> JSON:
    """Return the static facts of an element; a state that is over is left out."""
    state = element.state_at(now)
    in_effect = state is element.state
    return {
        "id": element.id,
        "iri": element.iri,
        "label": element.label,
        "storage_system": element.storage_system,
        "backend": system.backend if system else "",
        "mount_point": system.mount_point if system else "",
        "target": element.target,
        "file_system": element.file_system,
        "server": element.server,
        "tier": element.tier,
        "pool": element.pool,
        "state": state.value,
        "state_reason": element.state_reason if in_effect else None,
        "state_until": written(element.state_until) if in_effect else None,
        "capacity_bytes": element.capacity_bytes,
        "nominal": rates(element.nominal_read_rate, element.nominal_write_rate),
        "server_link_mb_s": in_units(element.server_rate, MB),
    }


def element_group(
    group: Group, systems: Mapping[str, StorageSystem], measure: Measure
) -> element_groups.ElementGroup:
    """Return a group of elements; ``measure`` is what its sums are of."""
    size = GB if measure is Measure.FREE else MB
    system = systems.get(group.system)
    return element_groups.ElementGroup.like(
        group,
        storage_system=group.system,
        backend=system.backend if system else "",
        usable=sum(group.fifths[1:]),
        now=in_units(group.now, size),
        whole=in_units(group.whole, size),
    )
