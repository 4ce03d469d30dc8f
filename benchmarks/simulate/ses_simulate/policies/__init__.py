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

RULES: Mapping[str, tuple[Maker, str]] = {
    "random": (RandomChoice, "any element, each as likely; mergerfs's rand"),
    "roundrobin": (RoundRobin, "Lustre's turns"),
    "nodes-turns": (NodesTurns, "turns that each node takes by itself"),
    "free-space": (FreeSpace, "Lustre's draw by free space; turns while that is even"),
    "observed-throughput": (ObservedThroughput, "the highest observed rate, as the paper can be read"),
    "stale-first": (partial(StaleArgmin, first=True), "the best of the last sample, the first of equals"),
    "stale-argmin": (StaleArgmin, "the best of the last sample, any of equals"),
    "two-choices": (TwoChoices, "the better of two drawn at random, by the last sample"),
    "load-interpretation": (LoadInterpretation, "drawn by the last sample, more evenly as it ages"),
    "buckets": (Buckets, "AIOT's buckets of utilisation, first in first out"),
    "min-cost-flow": (MinCostFlow, "a flow solved at each sample, with linear costs"),
    "convex-flow": (partial(MinCostFlow, convex=True), "the same with the cost of sharing"),
    "pfrd": (DrawnByFree, "mergerfs's draw by free space"),
    "mfs": (MostFree, "mergerfs's most free space"),
    "lus": (LeastUsed, "mergerfs's least used space"),
    "wass": (Wass, "dCache's draw by free space and its writers"),
    "xrootd": (Xrootd, "XRootD's least loaded server of the last report"),
    "xrootd-5.7": (partial(Xrootd, drawn=True), "XRootD's draw by the load of the last report"),
    "hdfs": (Hdfs, "any but those with twice the mean of files"),
    "mythtv": (MythTv, "fewest own files, then most free space"),
    "jiq": (JoinIdle, "any element without a file, else any"),
    "two-true": (TwoTrue, "of two at random the one with fewer files"),
    "least-open": (LeastOpen, "fewest own open files, from the ledger alone"),
    "ours": (Ours, "the core that programs, agents and service share"),
    "tickets": (Tickets, "the same, but fixed ahead of need"),
    "clairvoyant": (Clairvoyant, "the best true share; slowdowns are compared with it"),
    "least-work": (LeastWork, "the element done with the file first; sees all, too"),
}
"""What makes each rule, and what it does, for people."""


def make(name: str, world: World) -> Policy:
    """Return a rule by name for a world, or the product with a term switched."""
    if name in VARIANTS:
        return Ours(world, VARIANTS[name][0])
    return RULES[name][0](world)
