"""Weights and limits of the decision, in one place; a site may change them, the formulas stay.

Says no more than numbers: what they mean is told in ``ses/core.h``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policies:
    """Numbers the decision uses.  Times are seconds, sizes bytes.

    Age of data
        ``max_data_age``, ``sample_intervals``: an observation counts as unknown when it is older than the
        first and than so many intervals between samples of its element.  A monitor that is started again
        has rates after some seconds, and its last samples should hold until then; and one sample that is
        late, or lost, must not make an element look unseen.
        ``rate_window``: the monitor's window for current rates, where it does not say which it is; our own
        streams are averaged over the same one.
    Load model (``struct ses_core_policy``)
        ``saturation``: utilisation from which an element counts as saturated.
        ``saturated_prior``: streams of others taken to saturate an element we have nothing on.
        ``unseen_streams``: streams of others an element nobody can see is taken to carry while
        other elements can be seen, so that a dead exporter never looks like an idle disk.
    Order
        ``distance_step``: distances within one step count as equal.
        ``scarce_tiers``: tiers that needs met elsewhere do not spend.
    Stripes
        ``max_stripes``: elements one file is spread over at most.  8 elements are more than one client's
        link carries on most sites, and with more of them a file suffers from every busy server.
        ``stripe_bytes``: what a stripe holds at least, where the size is known.
        ``overrule_stripe_hints``: use the rule even where the program asks for a number of stripes.
    Limits
        ``min_free_bytes``: an element with less free space is full.
        ``open_lease``: how long an open placement counts after the agent last spoke of it.
        ``max_records``: ended placements whose explanation is kept.
        ``listed_refusals``: refused elements an answer lists, unless it lists everything.
    """

    max_data_age: float = 10.0
    sample_intervals: float = 6.0
    rate_window: float = 2.0
    saturation: float = 0.97
    saturated_prior: float = 1.5
    unseen_streams: float = 1.0
    distance_step: float = 0.02
    scarce_tiers: frozenset[str] = frozenset()
    max_stripes: int = 8
    stripe_bytes: float = 256 * 2.0**20
    overrule_stripe_hints: bool = False
    min_free_bytes: float = 4 * 2.0**20
    open_lease: float = 3600.0
    max_records: int = 10_000
    listed_refusals: int = 50
