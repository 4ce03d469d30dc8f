"""Slurm's weights of nodes, by what a stream would get there: it takes the lightest that suit a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ses_client.messages.nodes import RankedNode

from ses.slurm.nodes import fields_of, folded
from ses.slurm.scontrol import scontrol

LIGHTEST = 1
_STEPS = 20  # of rates: what changes by less than a twentieth changes no weight
_OF_DISTANCE = 1000  # a shortfall counts before any rate


def weights(ranked: Iterable[RankedNode], base: int = LIGHTEST) -> dict[str, int]:
    """Return a weight for each node from ``base`` up: by its distance, then by the lower of its rates.

    Both are taken in steps, so that small changes move no job.
    """
    nodes = list(ranked)
    rates = {
        node.node: min(node.available.read_mb_s or 0.0, node.available.write_mb_s or 0.0) for node in nodes
    }
    best = max(rates.values(), default=0.0)
    return {
        node.node: base
        + round(node.distance * _STEPS) * _OF_DISTANCE
        + (round((1 - rates[node.node] / best) * _STEPS) if best > 0 else 0)
        for node in nodes
    }


def changes(wanted: dict[str, int], shown: str) -> dict[int, list[str]]:
    """Return the nodes that are to get each weight, of those that ``scontrol show nodes`` shows otherwise."""
    nodes_of = defaultdict(list)
    for node, fields in fields_of(shown).items():
        weight = wanted.get(node)
        if weight is not None and str(weight) != fields.get("Weight"):
            nodes_of[weight].append(node)
    return dict(sorted(nodes_of.items()))


def apply(changed: dict[int, list[str]]) -> None:
    """Tell Slurm.  Raises SesError when it refuses."""
    for weight, nodes in changed.items():
        scontrol("update", f"NodeName={folded(nodes)}", f"Weight={weight}")
