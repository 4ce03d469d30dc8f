"""The product with one term of its rule switched, by name: what a term is worth is the difference.

What the rule has is switched off (``no-``); what it does without is switched on (``with-``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ses_simulate.policies.table import Terms

VARIANTS: Mapping[str, Terms] = {
    "no-monitor": Terms(monitor=False),
    "no-others": Terms(others=False),
    "no-seen-writes": Terms(seen_writes=False),
    "no-averaged-own": Terms(own_averaged=False),
    "no-health": Terms(health=False),
    "no-idle": Terms(idle_seconds=float("inf")),
    "no-reading": Terms(reading=False),
    "no-writing-out": Terms(writing_out=False),
    "no-spread": Terms(spread=False),
    "no-own-streams": Terms(own_streams=False),
    "with-two-drawn": Terms(two_drawn=True),
    "with-share-drawn": Terms(share_drawn=True),
    "no-orders": Terms(orders=False),
    "no-kept": Terms(kept_share=1000.0),
    "no-harm": Terms(harm=0.0),
    "no-ranks": Terms(ranks=False),
    "no-recency": Terms(recency=False),
    "no-idle-recency": Terms(idle_recency=False),
    "no-room": Terms(room=False),
    "no-server-rate": Terms(server_rate=False),
    "with-recency-of-all": Terms(recency_of_all=True),
    "with-narrow-shares": Terms(equal_share=0.1),
    "with-whole-others": Terms(equal_others=1.0),
}
