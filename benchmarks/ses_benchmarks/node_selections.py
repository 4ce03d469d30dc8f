"""How long the service takes to rank nodes for a task: POST /v1/nodes/selections on loopback, one client.

There are as many nodes as elements, in ten classes that share four links; a third of them have files open.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator

from ses_benchmarks.announcements import opened
from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.selections import QUESTION
from ses_benchmarks.site_description import NodeFacts
from ses_benchmarks.site_service import Served
from ses_benchmarks.summary import Measurement, summarise

COUNTS = (1, 64)
_CLASSES, _LINKS = 10, 4
_MAX_OPEN = 8  # files of a node


def classes(nodes: int) -> list[NodeFacts]:
    """``nodes`` nodes, or a few less."""
    each = nodes // _CLASSES
    return [
        NodeFacts(
            name=f"c{number}",
            nodes=f"n[{number * each:05}-{(number + 1) * each - 1:05}]",
            link_rate=1e9 * (1 + number % 3),
            uplink=f"leaf{number % _LINKS}",
            uplink_rate=2e10,
        )
        for number in range(_CLASSES)
    ]


def open_files(served: Served, nodes: int, elements: int) -> None:
    """Let every third node announce that it has files open, one to eight."""
    with Connection(served.port) as connection:
        for node in range(0, nodes, 3):
            files = [
                opened(secrets.token_hex(8), f"bench/e{(node + number) % elements}")
                for number in range(1 + node // 3 % _MAX_OPEN)
            ]
            message = {"incarnation": "a" * 16, "opened": files, "ended": []}
            path = f"/v1/nodes/n{node:05}/announcements"
            _, body = connection.call(request_bytes("POST", path, message, served.node_token))
            if refused := json.loads(body)["refused"]:
                raise BenchmarkError(f"the service refused files: {refused[:3]}")


def measure(served: Served, rounds: int, calls: int, note: str) -> Iterator[Measurement]:
    """``rounds`` times ``calls`` questions for each number of nodes, each followed by a GET /healthz."""
    for count in COUNTS:
        question = request_bytes("POST", "/v1/nodes/selections", {**QUESTION, "count": count})
        name = f"node-selection-{count}"
        with Connection(served.port) as connection:
            _, body = connection.call(question)
            if len(json.loads(body)["candidates"]) < count:
                raise BenchmarkError(f"{name}: the service found too few nodes")
            pairs = connection.beside_health(question, rounds, calls)
        yield summarise(name, "us", pairs, baseline_is="GET /healthz, same server", note=note)
