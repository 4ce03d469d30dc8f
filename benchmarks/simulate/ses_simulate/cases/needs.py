"""Users who ask for unequal rates, on elements that give unequal ones: which requirements are met."""

from __future__ import annotations

from functools import partial

from ses_core import Kind

from ses_simulate.cases.scenario import GB, MB, Scenario

_NEEDS = (10 * MB, 20 * MB, 30 * MB, 70 * MB)
# One node that hears of everything at once: what is left is what the rule does with it.
_Site = partial(
    Scenario, rates=(15 * MB, 90 * MB), elements=8, needs=_NEEDS, users=8, mean=1 * GB, sigma=1.0,
    interval=1.0, constant=2.0, files=3_000,
)  # fmt: skip
_SAYS = "8 elements of 15 to 90 MB/s, needs of 10 to 70"

CASES = (
    _Site("needs-0.5", f"{_SAYS}, load 0.5", rho=0.5),
    _Site("needs-0.7", f"{_SAYS}, load 0.7", rho=0.7),
    _Site("needs-0.85", f"{_SAYS}, load 0.85", rho=0.85),
    _Site("needs-two", "the same, needs of 10 and 70, load 0.85", rho=0.85, needs=(10 * MB, 70 * MB)),
    _Site("needs-modest", "the same, half of the users take no more", rho=0.85, modest=True),
    _Site("needs-hard", "the same, half of the needs are hard", rho=0.85, hard=True),
    _Site("needs-average", "the same, of average rates", rho=0.85, kind=Kind.AVERAGE_WRITE),
    _Site("needs-read", "files of load 0.4 are read back", rho=0.4, kind=Kind.CURRENT_READ),
    _Site("needs-nodes", "the same, load 0.7, from 32 nodes", rho=0.7, nodes=32, close_poll=0.5),
    _Site("needs-strangers", "needs of 10 to 70, load 0.5, 2 strangers", rho=0.5, strangers=2),
    _Site(
        "needs-64", "64 elements of 15 to 120 MB/s, load 0.7, 64 nodes", rho=0.7,
        elements=64, rates=(15 * MB, 120 * MB), nodes=64, users=96, close_poll=0.5,
    ),
    _Site("needs-overload", f"{_SAYS}, load 0.98", rho=0.98),
)  # fmt: skip
