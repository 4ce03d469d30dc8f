"""The core agrees with the service's own decision where the rules of both are the same.

Fresh samples, no files of ours, one requirement of a rate, the queue not visible: both take an equal part,
and measure by the same distance.
"""

from typing import Any

import numpy as np
import pytest
import ses_core
from hypothesis import given
from hypothesis import strategies as st

Site = Any
MB = 1e6

elements = st.lists(
    st.tuples(st.sampled_from([40.0, 100.0, 250.0, 900.0]), st.floats(0, 0.96)), min_size=1, max_size=8
)


@given(elements, st.sampled_from([1.0, 30.0, 100.0, 600.0]), st.booleans())
def test_prediction_distance_and_choice_are_the_services(
    site: Site, described: list[tuple[float, float]], bound: float, hard: bool
) -> None:
    made = [site.element(f"b{place}", read=rate, write=rate) for place, (rate, _) in enumerate(described)]
    whole = site(*made)
    table = ses_core.table(len(described))
    samples = np.zeros(len(described), ses_core.SAMPLE)
    samples["queue"] = np.nan
    for place, (rate, busy) in enumerate(described):
        whole.see(f"b{place}", read=0, write=busy * rate)
        table["write_rate"][place] = table["read_rate"][place] = rate * MB
        samples["busy"][place] = samples["busy_average"][place] = busy
    decision = whole.decide(site.write(bound, hard=hard))

    policy = ses_core.defaults()
    ses_core.observe(table, samples, policy)
    asked = ses_core.need((ses_core.Kind.CURRENT_WRITE, hard, False, bound * MB, 1.0))
    query = ses_core.Query(table, asked, policy)
    chosen = query.choose()

    by_name = {candidate.element.label: candidate for candidate in decision.candidates}
    accepted = np.flatnonzero(query.verdicts["refusal"] == ses_core.Refusal.ACCEPTED)
    assert {f"b{place}" for place in accepted} == set(by_name)
    for place in accepted:
        candidate = by_name[f"b{place}"]
        assert query.verdicts["share"][place] == pytest.approx(candidate.available_write, rel=1e-5)
        assert query.verdicts["distance"][place] == pytest.approx(candidate.distance, abs=1e-5)
    if by_name:
        # Equals come in another order: the service's steps are counted from 0, the core's from the best.
        best = decision.candidates[0]
        assert abs(query.verdicts["distance"][chosen] - best.distance) <= 0.04
    else:
        assert chosen < 0
