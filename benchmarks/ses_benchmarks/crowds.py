"""Crowds in front of one service: deciders in an open or a closed loop, agents that poll or report files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median

from ses_benchmarks.announcements import decided, ended, opened
from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.open_loop import Crowd, Outcome, with_crowd
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import Usage
from ses_benchmarks.selections import QUESTION
from ses_benchmarks.site_service import Served
from ses_benchmarks.summary import Measurement, summarise

_PAUSE = 0.05  # seconds between two announcements of a node among users
_FILES = 20  # of an announcement: what a busy node places in 0.1 s


def deciders(
    served: Served, count: int, rates: Sequence[float], seconds: float, note: str, among: str = ""
) -> Iterator[Measurement]:
    """``count`` connected clients that ask POST /v1/selections at each rate, against one client alone.

    ``among`` ends the names of the rows.
    """
    question = request_bytes("POST", "/v1/selections", QUESTION)
    with Connection(served.port) as connection:
        alone = [connection.call(question)[0] for _ in range(100)]

    async def work(crowd: Crowd) -> list[tuple[float, Outcome, str]]:
        return [(rate, *await _watched(served, crowd, [question], rate, seconds)) for rate in rates]

    for rate, outcome, used in with_crowd(served.port, count, work):
        details = f"{count} connected, {_shares(outcome)}, {used}"
        name = f"deciders-{rate:g}-per-second{among}"
        yield _row(name, outcome, alone, "one client alone", details, note)


def claims(served: Served, count: int, rate: float, seconds: float, note: str) -> Measurement:
    """``count`` nodes with a connection each that report what programs placed, and receive what changed.

    Each announcement opens ``_FILES`` files and ends those of the node's last one.
    """
    polls = [_announcement(node, [], [], "", 0) for node in range(count)]
    revisions = []
    with Connection(served.port) as connection:
        for poll in polls:
            table = json.loads(connection.call(poll)[1])["tables"][0]
            revisions.append((table["elements"], table["revision"], table["version"]))
        alone = [connection.call(poll)[0] for poll in polls[:100]]
    announcements = []
    last: dict[int, list[str]] = {}
    for number in range(int(rate * seconds) + 1):
        node = number % count
        elements, revision, version = revisions[node]
        ids = [f"{number * _FILES + file + 1:016x}" for file in range(_FILES)]
        files = [
            opened(placement_id, elements[place % len(elements)]["element"], batch=_FILES)
            for place, placement_id in enumerate(ids)
        ]
        announcements.append(_announcement(node, files, last.get(node, []), revision, version))
        last[node] = ids

    async def work(crowd: Crowd) -> tuple[Outcome, str, float]:
        before = Usage.of(served.pid).processor_seconds
        outcome, used = await _watched(served, crowd, announcements, rate, seconds)
        return outcome, used, Usage.of(served.pid).processor_seconds - before

    outcome, used, spent = with_crowd(served.port, count, work)
    reported = len(_good(outcome)) * _FILES
    each = spent / reported * 1e6
    details = (
        f"{reported / outcome.seconds:.0f} files/s, {_FILES} an announcement, {count} connected, "
        f"{_shares(outcome)}, {used}; {each:.0f} us of CPU for the beginning and end of a file, "
        f"so that 20,000 a second take {each * 20_000 / 1e6:.1f} CPUs"
    )
    return _row(f"claims-{count}", outcome, alone, "one node alone that places nothing", details, note)


def listeners(served: Served, count: int, rate: float, seconds: float, note: str) -> Measurement:
    """``count`` nodes with tables in use that only receive what is new, at ``rate`` of all together."""
    polls = []
    with Connection(served.port) as connection:
        for node in range(count):
            first = _announcement(node, [], [], "", 0)
            table = json.loads(connection.call(first)[1])["tables"][0]
            polls.append(_announcement(node, [], [], table["revision"], table["version"]))
        alone = [connection.call(polls[0])[0] for _ in range(100)]

    async def work(crowd: Crowd) -> tuple[Outcome, str]:
        return await _watched(served, crowd, polls, rate, seconds)

    outcome, used = with_crowd(served.port, count, work)
    details = f"{count} connected, {_shares(outcome)}, {used}"
    return _row(f"listeners-{count}", outcome, alone, "one node alone", details, note)


def _announcement(
    node: int, files: list[dict[str, object]], closed: list[str], revision: str, version: int
) -> bytes:
    compared = [f"bench/e{number}" for number in range(10)]
    body = {
        "incarnation": f"{node + 1:016x}",
        "opened": files,
        "ended": ended(closed),
        "decisions": decided("bench", compared, version=version) if files else [],
        "users": ["bench"],
        "tables": [{"system": "bench", "revision": revision, "version": version}],
        "busy": True,
        "in_use": True,
    }
    return request_bytes("POST", f"/v1/nodes/bench{node}/announcements", body)


def agents(served: Served, count: int, rate: float, seconds: float, note: str) -> Iterator[Measurement]:
    """``count`` agents with a connection each whose announcements come at ``rate``, against one alone."""
    nothing = {"opened": [], "ended": [], "complete": True, "users": ["bench"]}
    polls = [
        request_bytes(
            "POST", f"/v1/nodes/bench{node}/announcements", {"incarnation": f"{node + 1:016x}", **nothing}
        )
        for node in range(count)
    ]
    with Connection(served.port) as connection:
        alone = [connection.call(poll)[0] for poll in polls[:100]]
    before = Usage.of(served.pid).resident_mb

    async def work(crowd: Crowd) -> tuple[Outcome, str]:
        return await _watched(served, crowd, polls, rate, seconds)

    outcome, used = with_crowd(served.port, count, work)
    details = f"{count} connected, {_shares(outcome)}, {used}, {before:.0f} MB before"
    yield _row(f"agents-{count}", outcome, alone, "one agent alone", details, note)


def pressing(served: Served, counts: Sequence[int], seconds: float, note: str) -> Iterator[Measurement]:
    """Connections of one user that ask for selections without pause, while a node announces.

    Timed is the node, which is a process of its own; the note says how many selections were answered.
    """
    question = request_bytes("POST", "/v1/selections", QUESTION, served.user_token)
    alone = _announced(served, 1.0)
    for count in counts:
        with ProcessPoolExecutor(1, get_context("spawn")) as node:
            node.submit(_announced, served, 0.0).result()  # it has started
            polling = node.submit(_announced, served, seconds)
            asked = with_crowd(served.port, count, lambda crowd: crowd.press(question, seconds))
        yield summarise(
            f"node-among-{count}",
            "us",
            [(polling.result(), alone)],
            baseline_is="the same node alone",
            note=f"users: {_shares(asked)}" + (f"; {note}" if note else ""),
        )


def _announced(served: Served, seconds: float) -> list[float]:
    """How long the announcements of a node took that has no files, 20 a second."""
    body = {"incarnation": "f" * 16, "opened": [], "ended": [], "users": ["bench"]}
    poll = request_bytes("POST", "/v1/nodes/bench0/announcements", body, served.node_token)
    times: list[float] = []
    until = time.monotonic() + seconds
    with Connection(served.port) as connection:
        while not times or time.monotonic() < until:
            times.append(connection.call(poll)[0])
            time.sleep(_PAUSE)
    return times


async def _watched(
    served: Served, crowd: Crowd, requests: Sequence[bytes], rate: float, seconds: float
) -> tuple[Outcome, str]:
    """One run, and what the service used for it."""
    before, begun = Usage.of(served.pid), time.perf_counter()
    outcome = await crowd.run(requests, rate, seconds)
    after, spent = Usage.of(served.pid), time.perf_counter() - begun
    busy = (after.processor_seconds - before.processor_seconds) / spent
    return outcome, f"{busy:.0%} of a CPU, {after.resident_mb:.0f} MB"


def _row(
    name: str, outcome: Outcome, alone: list[float], baseline_is: str, details: str, note: str
) -> Measurement:
    """The answers of a crowd, against those that one client had alone."""
    details += f"; {note}" if note else ""
    return summarise(name, "us", [(_good(outcome), alone)], baseline_is=baseline_is, note=details)


def _shares(outcome: Outcome) -> str:
    good = len(_good(outcome)) / outcome.seconds
    refused = outcome.times.get(503, [])
    text = f"{good:.0f} answers/s, {outcome.share(503):.1%} refused with 503"
    if refused:
        text += f" after {median(refused) / 1000:.1f} ms"
    return text + (f", {outcome.unsent} found no free client" if outcome.unsent else "")


def _good(outcome: Outcome) -> list[float]:
    times = outcome.times.get(200)
    if not times:
        raise BenchmarkError(f"no answer had status 200; there were {sorted(outcome.times)}")
    return times
