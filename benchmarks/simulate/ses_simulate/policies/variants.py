"""The product with one term of its rule switched: what a term is worth is the difference.

By name, with the words of what is switched.  What the rule has is switched off (``no-``); what it does
without is switched on (``with-``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ses_simulate.policies.table import Terms

VARIANTS: Mapping[str, tuple[Terms, str]] = {
    "no-monitor": (Terms(monitor=False), "samples"),
    "no-others": (Terms(others=False), "streams of others"),
    "no-seen-writes": (Terms(seen_writes=False), "what agents see others write, by free space"),
    "no-averaged-own": (Terms(own_averaged=False), "our own streams averaged over the monitor's window"),
    "no-health": (Terms(health=False), "what is learned of slow elements"),
    "no-idle": (Terms(idle_seconds=float("inf")), "idle open files left out"),
    "no-reading": (Terms(reading=False), "closed files that are read again"),
    "no-writing-out": (Terms(writing_out=False), "closed files that are still in a cache"),
    "no-spread": (Terms(spread=False), "comparing fewer elements the less a node knows"),
    "no-own-streams": (Terms(own_streams=False), "an element more for each own stream"),
    "with-two-drawn": (Terms(two_drawn=True), "where few are compared, the better of two drawn at random"),
    "with-share-drawn": (Terms(share_drawn=True), "where few are compared, a draw by predicted rates"),
    "no-orders": (Terms(orders=False), "an order of each node's own"),
    "no-kept": (Terms(kept_share=1000.0), "fast elements kept for those who ask for more"),
    "no-harm": (Terms(harm=0.0), "harm"),
    "no-ranks": (Terms(ranks=False), "ranks of a job"),
    "no-recency": (Terms(recency=False), "least recently used"),
    "no-idle-recency": (Terms(idle_recency=False), "least recently used, for idle elements"),
    "no-room": (Terms(room=False), "room"),
    "no-server-rate": (
        Terms(server_rate=False),
        "what the link of a server carries, where the site states it",
    ),
    "with-recency-of-all": (
        Terms(recency_of_all=True),
        "of idle elements the one that no node used for the longest time",
    ),
    "with-narrow-shares": (Terms(equal_share=0.1), "rates within 10 % as equal (40 %)"),
    "with-whole-others": (Terms(equal_foreign=1.0), "streams of others in whole ones (quarters)"),
}
