"""The nodes of a job are those that looking at every node anew for each of them would give."""

import random
from typing import Any

import numpy as np
import pytest
from ses_service.decision.node_groups import NodeGroups
from ses_service.decision.node_spread import NodeSpread
from ses_service.decision.nodes import Fleet, LimitedBy, NodesQuestion, fleet
from ses_service.model.entities import Environment
from ses_service.model.nodes import NetworkLink, NodeClass

MB = 1e6


def random_site(site: Any, chance: random.Random) -> tuple[Any, Fleet, dict[str, int]]:
    limits = [chance.choice((None, None, 150 * MB, 600 * MB)) for _ in range(4)]
    elements = [
        site.element(
            f"{chance.choice('ab')}/e{number}",
            server=f"s{number % 4}",
            server_rate=limits[number % 4],
            write=chance.choice((50, 100, 200)),
        )
        for number in range(chance.randint(1, 12))
    ]
    there = site(*elements).see_all()
    for element in elements:
        there.see(element.id, write=chance.choice((0, 20)), free=chance.choice((50, 500)))
    uplinks = [NetworkLink("left", chance.choice((None, 300 * MB))), NetworkLink("right", 500 * MB)]
    classes = [
        NodeClass(
            f"c{number}",
            "",
            tuple(f"n{number}-{index}" for index in range(chance.randint(1, 5))),
            chance.choice((None, frozenset("a"), frozenset("b"), frozenset())),
            chance.choice((None, 100 * MB, 400 * MB)),
            chance.choice((None, *uplinks)),
        )
        for number in range(chance.randint(1, 4))
    ]
    nodes = fleet(Environment(node_classes=tuple(classes)), {})
    return there, nodes, {name: chance.randint(1, 3) for name in nodes.names if chance.random() < 0.4}


def all_anew(groups: NodeGroups) -> list[tuple[int, int, float, LimitedBy]]:
    """Choose the nodes of a job, looking at all of them for each."""
    left = [groups.groups.members(group) for group in range(len(groups.groups.streams))]
    step = groups.policy["equal_distance"][0]
    chosen = []
    for _ in range(groups.asked.count):
        judged = groups.judge()
        usable = [group for group, nodes in enumerate(left) if nodes and judged.places[group] >= 0]
        if not usable:
            break
        distance, share = judged.verdicts["distance"], np.nan_to_num(judged.verdicts["share"], nan=-1.0)
        nearest = min(1.0, *(distance[group] for group in usable))
        best = min(
            usable,
            key=lambda group: (
                judged.verdicts["low_space"][group],
                np.floor((distance[group] - nearest) / step + 1e-6),
                -share[group],
                groups.groups.streams[group],
                groups.groups.first[group],
            ),
        )
        row = int(judged.rows[best])
        chosen.append((left[best].pop(0), row, float(distance[best]), judged.limits[best]))
        for reach in groups.reach.values():
            for place in np.flatnonzero(reach.rows == row).tolist():
                reach.give(place)
        uplink = groups.fleet.uplink[groups.groups.of_class[best]]
        if uplink >= 0:
            groups.uplink_streams[uplink] += 1
    return chosen


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost_by_looking_only_at_what_changed(site: Any, seed: int) -> None:
    chance = random.Random(seed)
    there, nodes, streams = random_site(site, chance)
    hard = chance.random() < 0.3
    wanted = chance.choice(([], [site.write(100, hard=hard)], [site.write(60), site.free(200)]))
    asked = NodesQuestion(there.question(*wanted), chance.randint(2, 12))
    expected, chosen = (
        choose(NodeGroups(asked, there.view, nodes, streams, there.policies))
        for choose in (all_anew, lambda groups: NodeSpread(groups).nodes())
    )
    assert [(node.member, node.row, node.distance, node.limit) for node in chosen] == expected


def test_sites_by_chance_have_nodes_and_links_that_limit(site: Any) -> None:
    limits = set()
    for seed in range(60):
        there, nodes, streams = random_site(site, random.Random(seed))
        asked = NodesQuestion(there.question(), 8)
        limits |= {
            node.limit
            for node in NodeSpread(NodeGroups(asked, there.view, nodes, streams, there.policies)).nodes()
        }
    assert limits == set(LimitedBy)
