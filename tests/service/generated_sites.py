"""Sites of any kind, as hypothesis generates them: facts, what was seen, and what each element carries."""

from typing import Any

from hypothesis import strategies as st
from ses_service.model.entities import ElementState, Requirement, Strictness
from ses_service.model.kinds import PREDICTED

Site = Any

rates = st.none() | st.floats(0, 500)
elements = st.fixed_dictionaries(
    {
        "read": rates,
        "write": rates,
        "state": st.sampled_from([ElementState.ACTIVE] * 4 + list(ElementState)),
        "capacity_bytes": st.none() | st.floats(0, 1e12),
    }
)
observations = st.none() | st.fixed_dictionaries(
    {
        "age": st.sampled_from([0.0, 0.5, 5.0, 9.9, 10.5, 1e6]),
        "read": rates,
        "write": rates,
        "average_write": rates,
        "free": st.none() | st.floats(0, 1000),
        "queue_depth": st.none() | st.floats(0, 50),
        "read_only": st.sampled_from([False, False, False, True]),
    }
)
carried = st.integers(0, 4)
requirements = st.lists(
    st.builds(
        Requirement,
        kind=st.sampled_from(list(PREDICTED)),
        bound=st.sampled_from([0.0, 1e6, 5e7, 1e9]),
        weight=st.floats(0.01, 10),
        strictness=st.sampled_from([Strictness.SOFT, Strictness.SOFT, Strictness.HARD]),
    ),
    max_size=5,
    unique_by=lambda requirement: requirement.kind,
)
sites = st.lists(st.tuples(elements, observations, carried), min_size=1, max_size=7)


def build(site: Site, described: list[tuple[dict[str, Any], dict[str, Any] | None, int]]) -> Any:
    made = [site.element(f"b{place}", **facts) for place, (facts, _, _) in enumerate(described)]
    whole = site(*made)
    for place, (_, seen, count) in enumerate(described):
        if seen is not None:
            whole.see(f"b{place}", **seen)
        whole.carry(f"b{place}", count)
    return whole
