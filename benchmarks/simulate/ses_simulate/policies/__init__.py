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


def make(name: str, world: World) -> Policy:
    """Return a rule by name for a world, one per decider where there are several."""
    maker = POLICIES[name]
    if maker is Ours and world.deciders > 1:
        return OursApart(world)
    if world.deciders > 1 and name != "ours-few":
        return Apart(world, maker)
    return maker(world)
