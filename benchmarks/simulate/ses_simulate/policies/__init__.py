"""Placement rules by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from ses_simulate.policies.apart import Apart
from ses_simulate.policies.blind import RandomChoice
from ses_simulate.policies.buckets import Buckets
from ses_simulate.policies.clairvoyant import Clairvoyant, LeastWork
from ses_simulate.policies.flow import MinCostFlow
from ses_simulate.policies.interface import Policy, World
from ses_simulate.policies.lustre import FreeSpace, RoundRobin
from ses_simulate.policies.ours import Ours
from ses_simulate.policies.ours_apart import OursApart
from ses_simulate.policies.stale import LoadInterpretation, ObservedThroughput, StaleArgmin, TwoChoices

Maker: TypeAlias = Callable[[World], Policy]

POLICIES: Mapping[str, Maker] = {
    "random": RandomChoice,
    "roundrobin": RoundRobin,
    "free-space": FreeSpace,
    "observed-throughput": ObservedThroughput,
    "stale-first": partial(StaleArgmin, first=True),
    "stale-argmin": StaleArgmin,
    "two-choices": TwoChoices,
    "load-interpretation": LoadInterpretation,
    "buckets": Buckets,
    "min-cost-flow": MinCostFlow,
    "convex-flow": partial(MinCostFlow, convex=True),
    "ours": Ours,
    "ours-few": partial(OursApart, few=True),
    "clairvoyant": Clairvoyant,
    "least-work": LeastWork,
}

SAYS: Mapping[str, str] = {
    "random": "any element, each as likely",
    "roundrobin": "Lustre's turns",
    "free-space": "Lustre's draw by free space; turns while that is even",
    "observed-throughput": "the highest observed rate, as the paper can be read",
    "stale-first": "the best of the last sample, the first of equals",
    "stale-argmin": "the best of the last sample, any of equals",
    "two-choices": "the better of two drawn at random, by the last sample",
    "load-interpretation": "drawn by the last sample, more evenly as it ages",
    "buckets": "AIOT's buckets of utilisation, first in first out",
    "min-cost-flow": "a flow solved at each sample, with linear costs",
    "convex-flow": "the same with the cost of sharing",
    "ours": "the decision and the ledger of the selection service",
    "ours-few": "the same among a few random elements, as if cut off",
    "clairvoyant": "the best true share; slowdowns are compared with it",
    "least-work": "the element done with the file first; sees all, too",
}
"""What each rule does, for people."""


def make(name: str, world: World) -> Policy:
    """Return a rule by name for a world, one per decider where there are several."""
    maker = POLICIES[name]
    if maker is Ours and world.deciders > 1:
        return OursApart(world)
    if world.deciders > 1 and name != "ours-few":
        return Apart(world, maker)
    return maker(world)
