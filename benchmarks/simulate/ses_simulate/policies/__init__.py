"""Placement rules by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from ses_simulate.policies.blind import RandomChoice
from ses_simulate.policies.buckets import Buckets
from ses_simulate.policies.clairvoyant import Clairvoyant, LeastWork
from ses_simulate.policies.flow import MinCostFlow
from ses_simulate.policies.interface import Policy, World
from ses_simulate.policies.lustre import FreeSpace, NodesTurns, RoundRobin
from ses_simulate.policies.managers import Hdfs, JoinIdle, MythTv, TwoTrue, Wass
from ses_simulate.policies.ours import LeastOpen, Ours, Tickets
from ses_simulate.policies.space import DrawnByFree, LeastUsed, MostFree
from ses_simulate.policies.stale import (
    LoadInterpretation,
    ObservedThroughput,
    StaleArgmin,
    TwoChoices,
    Xrootd,
)
from ses_simulate.policies.variants import VARIANTS

Maker: TypeAlias = Callable[[World], Policy]

POLICIES: Mapping[str, Maker] = {
    "random": RandomChoice,
    "roundrobin": RoundRobin,
    "nodes-turns": NodesTurns,
    "free-space": FreeSpace,
    "observed-throughput": ObservedThroughput,
    "stale-first": partial(StaleArgmin, first=True),
    "stale-argmin": StaleArgmin,
    "two-choices": TwoChoices,
    "load-interpretation": LoadInterpretation,
    "buckets": Buckets,
    "min-cost-flow": MinCostFlow,
    "convex-flow": partial(MinCostFlow, convex=True),
    "pfrd": DrawnByFree,
    "mfs": MostFree,
    "lus": LeastUsed,
    "wass": Wass,
    "xrootd": Xrootd,
    "xrootd-5.7": partial(Xrootd, drawn=True),
    "hdfs": Hdfs,
    "mythtv": MythTv,
    "jiq": JoinIdle,
    "two-true": TwoTrue,
    "least-open": LeastOpen,
    "ours": Ours,
    "tickets": Tickets,
    "clairvoyant": Clairvoyant,
    "least-work": LeastWork,
}

SAYS: Mapping[str, str] = {
    "random": "any element, each as likely; mergerfs's rand",
    "roundrobin": "Lustre's turns",
    "nodes-turns": "turns that each node takes by itself",
    "free-space": "Lustre's draw by free space; turns while that is even",
    "observed-throughput": "the highest observed rate, as the paper can be read",
    "stale-first": "the best of the last sample, the first of equals",
    "stale-argmin": "the best of the last sample, any of equals",
    "two-choices": "the better of two drawn at random, by the last sample",
    "load-interpretation": "drawn by the last sample, more evenly as it ages",
    "buckets": "AIOT's buckets of utilisation, first in first out",
    "min-cost-flow": "a flow solved at each sample, with linear costs",
    "convex-flow": "the same with the cost of sharing",
    "pfrd": "mergerfs's draw by free space",
    "mfs": "mergerfs's most free space",
    "lus": "mergerfs's least used space",
    "wass": "dCache's draw by free space and its writers",
    "xrootd": "XRootD's least loaded server of the last report",
    "xrootd-5.7": "XRootD's draw by the load of the last report",
    "hdfs": "any but those with twice the mean of files",
    "mythtv": "fewest own files, then most free space",
    "jiq": "any element without a file, else any",
    "two-true": "of two at random the one with fewer files",
    "least-open": "fewest own open files, from the ledger alone",
    "ours": "the core that programs, agents and service share",
    "tickets": "the same, but fixed ahead of need",
    "clairvoyant": "the best true share; slowdowns are compared with it",
    "least-work": "the element done with the file first; sees all, too",
}
"""What each rule does, for people."""


def make(name: str, world: World) -> Policy:
    """Return a rule by name for a world, or the product with a term switched."""
    if name in VARIANTS:
        return Ours(world, VARIANTS[name])
    return POLICIES[name](world)
