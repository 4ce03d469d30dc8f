"""Which nodes suit a task best: those where a stream of it gets most of what it needs.

Pure: the same question, view, nodes and streams give the same answer, and change nothing.
"""

from collections.abc import Iterator

import numpy as np

from ses_service.decision.explain import amount, known
from ses_service.decision.node_groups import Judged, NodeGroups
from ses_service.decision.node_spread import NodeSpread
from ses_service.decision.nodes import LimitedBy, NodeCandidate, NodeDecision, NodeRefusal
from ses_service.ledger.node_decisions import Offered, predictions
from ses_service.ledger.placement import Reason
from ses_service.model.columns import Codes


def rank_nodes(groups: NodeGroups, now: float) -> NodeDecision:
    """Rank the nodes a question is about.

    They are ordered by distance, in the steps in which elements are; then by the rate a stream would get;
    then those with fewer open files, and those the site names first.  The nodes of one job are chosen one
    after the other, and each counts what the ones before it were given: elements, servers and shared links.
    """
    asked, judged = groups.asked, groups.judge()
    refused = tuple(_refused(groups, judged))
    candidates = tuple(_spread(groups) if asked.count > 1 else _listed(groups, judged))
    return NodeDecision(
        decided_at=now,
        requirements=asked.question.requirements,
        candidates=candidates,
        refused=refused,
        notes=tuple(_notes(groups, len(candidates))),
        total=groups.looked_at,
    )


def _order(groups: NodeGroups, judged: Judged) -> Codes:
    """Return the groups that may be used, the best first."""
    usable = np.flatnonzero(judged.places >= 0)
    verdicts = judged.verdicts[usable]
    step = groups.policy["equal_distance"][0]
    near = np.floor((verdicts["distance"] - verdicts["distance"].min(initial=1.0)) / step + 1e-6)
    share = np.nan_to_num(verdicts["share"], nan=-1.0)
    first = groups.groups.first[usable]
    return usable[np.lexsort((first, groups.groups.streams[usable], -share, near, verdicts["low_space"]))]


def _listed(groups: NodeGroups, judged: Judged) -> Iterator[NodeCandidate]:
    """Yield nodes in order, as many as are asked for."""
    limit = groups.asked.question.limit or len(groups.fleet.names)
    rank = 0
    for group in _order(groups, judged).tolist():
        for member in groups.groups.members(group):
            if rank == limit:
                return
            rank += 1
            offered = Offered(*map(known, judged.offers[group].tolist()))
            row, distance = int(judged.rows[group]), float(judged.verdicts["distance"][group])
            yield _candidate(rank, member, row, distance, offered, judged.limits[group], groups)


def _spread(groups: NodeGroups) -> Iterator[NodeCandidate]:
    """Yield the nodes of one job, each chosen after the one before it was given its element."""
    for rank, given in enumerate(NodeSpread(groups).nodes(), 1):
        offered = Offered(*map(known, given.offer))
        yield _candidate(rank, given.member, given.row, given.distance, offered, given.limit, groups)


def _candidate(
    rank: int,
    member: int,
    row: int,
    distance: float,
    offered: Offered,
    limited_by: LimitedBy,
    groups: NodeGroups,
) -> NodeCandidate:
    fleet, element = groups.fleet, groups.table.elements[row]
    return NodeCandidate(
        rank=rank,
        node=fleet.names[member],
        node_class=fleet.classes[fleet.of_class[member]].name or None,
        element=element,
        distance=distance,
        read=offered.read,
        write=offered.write,
        free=offered.free,
        predicted=predictions(groups.asked.question.requirements, offered, element),
        limited_by=limited_by,
        open_files=int(groups.streams[member]),
    )


def _refused(groups: NodeGroups, judged: Judged) -> Iterator[NodeRefusal]:
    """Yield the nodes that cannot be used, those of one class and reason together."""
    fleet = groups.fleet
    refused: dict[tuple[int, Reason, str], list[int]] = {}
    for member in np.flatnonzero(groups.excluded).tolist():
        key = int(fleet.of_class[member]), Reason.EXCLUDED, "The request excludes them."
        refused.setdefault(key, []).append(member)
    for group in np.flatnonzero(judged.places < 0).tolist():
        reached = groups.reach[int(groups.access[group])]
        why = (reached.reason, reached.detail)
        if len(reached.rows):
            why = _why_limited(groups, judged, group)
        key = int(groups.groups.of_class[group]), *why
        refused.setdefault(key, []).extend(groups.groups.members(group))
    for (of_class, reason, detail), members in refused.items():
        names = tuple(fleet.names[member] for member in sorted(members))
        node_class = fleet.classes[of_class]
        hosts = node_class.hosts if len(names) == len(node_class.nodes) else ""
        yield NodeRefusal(names, hosts, node_class.name or None, reason, detail)


def _why_limited(groups: NodeGroups, judged: Judged, group: int) -> tuple[Reason, str]:
    """Return which hard requirement the links of nodes do not let through."""
    asked = groups.asked.question.requirements[int(judged.verdicts["unmet"][group])]
    node_class = groups.fleet.classes[groups.groups.of_class[group]]
    link = "own link"
    if judged.limits[group] is LimitedBy.UPLINK and node_class.uplink is not None:
        link = f"shared link {node_class.uplink.name}"
    offered = Offered(*[known(value) for value in judged.offers[group].tolist()])
    element = groups.table.elements[judged.rows[group]]
    (best,) = predictions((asked,), offered, element)
    return Reason.HARD_REQUIREMENT, (
        f"Their {link} leaves a stream a {best.kind.value} of {amount(best.kind, best.value)}; the hard "
        f"minimum is {amount(best.kind, best.bound)}."
    )


def _notes(groups: NodeGroups, usable: int) -> Iterator[str]:
    asked, fleet = groups.asked, groups.fleet
    if not fleet.names:
        yield "No nodes are known: the site describes none, and no agent reports."
    elif not any(node_class.name for node_class in fleet.classes):
        yield "The site describes no classes of nodes: links are not known, and nodes only by name."
    if fleet.names and asked.count > max(1, usable):
        yield f"{asked.count} nodes are wanted, {usable} may be used."
    unknown = sorted(name for name in {*asked.exclude, *(asked.among or ())} if name not in fleet.index)
    if unknown:
        yield f"Not known: {', '.join(unknown[:5])}{' and others' if len(unknown) > 5 else ''}."
