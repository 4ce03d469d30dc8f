"""Price and performance of running near and here, as DiSC compares them.  Pure.

DiSC, section 3.4: the price-performance ratio is 1 / (execution time x hardware cost), and the costs of all
hardware of a case are summed.  Prices are the user's; the unit does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prices:
    """What a desktop (the node that computes otherwise) and an endpoint (a node that holds data) cost."""

    desktop: float
    endpoint: float

    @classmethod
    def of(cls, text: str) -> Prices:
        """Read ``desktop=300,endpoint=60``; raises ValueError."""
        parts = dict(part.split("=", 1) for part in text.split(","))
        prices = cls(**{name: float(value) for name, value in parts.items()})
        if prices.desktop <= 0 or prices.endpoint <= 0:
            raise ValueError("prices are positive")
        return prices


def ratio(seconds: float, cost: float) -> float:
    """Return the price-performance ratio."""
    return 1 / (seconds * cost)


def near_over_here(prices: Prices, endpoints: int, near_seconds: float, here_seconds: float) -> float:
    """Return the ratio near the data over that of a desktop with the same endpoints as plain storage.

    More than 1: near is the better buy.  Near, the endpoints are all there is; here, desktop and endpoints.
    """
    near = ratio(near_seconds, endpoints * prices.endpoint)
    return near / ratio(here_seconds, prices.desktop + endpoints * prices.endpoint)
