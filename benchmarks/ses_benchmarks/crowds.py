"""Crowds in front of one service: many deciders in an open loop, many agents that poll, large batches."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from statistics import median

from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.open_loop import Crowd, Outcome, with_crowd
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import Usage
from ses_benchmarks.selections import QUESTION
from ses_benchmarks.site_service import Served
from ses_benchmarks.summary import Measurement, summarise


def batches(
    served: Served, sizes: Sequence[int], rounds: int, calls: int, note: str
) -> Iterator[Measurement]:
    """POST /v1/placements of so many tickets each, with leases that end soon, against GET /healthz."""
    healthz = request_bytes("GET", "/healthz")
    with Connection(served.port) as connection:
        for size in sizes:
            ask = request_bytes("POST", "/v1/placements", {**QUESTION, "count": size, "lease_seconds": 0.5})
            granted = json.loads(connection.call(ask)[1])["placements"]
            if len(granted) != size:
                raise BenchmarkError(f"{len(granted)} of {size} tickets were granted")
            pairs = []
            for _ in range(rounds):
                booked = [connection.call(ask)[0] for _ in range(calls)]
                pairs.append((booked, [connection.call(healthz)[0] for _ in range(calls)]))
            yield summarise(
                f"tickets-{size}", "us", pairs, baseline_is="GET /healthz, same server", note=note
            )


def deciders(
    served: Served, count: int, rates: Sequence[float], seconds: float, note: str
) -> Iterator[Measurement]:
    """``count`` connected clients that ask POST /v1/selections at each rate, against one client alone."""
    question = request_bytes("POST", "/v1/selections", QUESTION)
    with Connection(served.port) as connection:
        alone = [connection.call(question)[0] for _ in range(100)]

    async def work(crowd: Crowd) -> list[tuple[float, Outcome, str]]:
        return [(rate, *await _watched(served, crowd, [question], rate, seconds)) for rate in rates]

    for rate, outcome, used in with_crowd(served.port, count, work):
        said = f"{count} connected, {_shares(outcome)}, {used}" + (f"; {note}" if note else "")
        yield summarise(
            f"deciders-{rate:g}-per-second",
            "us",
            [(_good(outcome, 200), alone)],
            baseline_is="one client alone",
            note=said,
        )


def beside_bookings(served: Served, count: int, rate: float, seconds: float, note: str) -> Measurement:
    """POST /v1/selections while every tenth request books 64 tickets, against one client alone."""
    question = request_bytes("POST", "/v1/selections", QUESTION)
    booking = request_bytes("POST", "/v1/placements", {**QUESTION, "count": 64, "lease_seconds": 2.0})
    with Connection(served.port) as connection:
        alone = [connection.call(question)[0] for _ in range(100)]

    async def work(crowd: Crowd) -> tuple[Outcome, str]:
        return await _watched(served, crowd, [question] * 9 + [booking], rate, seconds)

    outcome, used = with_crowd(served.port, count, work)
    booked = _good(outcome, 201)
    said = (
        f"{64 * len(booked) / outcome.seconds:.0f} tickets/s in batches of 64 that took "
        f"{median(booked) / 1000:.1f} ms, {_shares(outcome)}, {used}"
    )
    return summarise(
        "selection-beside-bookings",
        "us",
        [(_good(outcome, 200), alone)],
        baseline_is="one client alone",
        note=said + (f"; {note}" if note else ""),
    )


def agents(served: Served, count: int, rate: float, seconds: float, note: str) -> Iterator[Measurement]:
    """``count`` agents with a connection each whose announcements come at ``rate``, against one alone."""
    polls = [
        request_bytes(
            "POST",
            f"/v1/nodes/bench{node}/announcements",
            {"incarnation": f"{node + 1:016x}", "opened": [], "ended": [], "complete": True,
             "users": ["bench"], "snapshot": 0},
        )
        for node in range(count)
    ]  # fmt: skip
    with Connection(served.port) as connection:
        alone = [connection.call(poll)[0] for poll in polls[:100]]
    before = Usage.of(served.pid).resident_mb

    async def work(crowd: Crowd) -> tuple[Outcome, str]:
        return await _watched(served, crowd, polls, rate, seconds)

    outcome, used = with_crowd(served.port, count, work)
    said = f"{count} connected, {_shares(outcome)}, {used}, {before:.0f} MB before"
    yield summarise(
        f"agents-{count}",
        "us",
        [(_good(outcome, 200), alone)],
        baseline_is="one agent alone",
        note=said + (f"; {note}" if note else ""),
    )


def announces(served: Served) -> bool:
    """Whether the service takes announcements."""
    with Connection(served.port) as connection:
        contract = json.loads(connection.call(request_bytes("GET", "/openapi.json"))[1])
    return "/v1/nodes/{node}/announcements" in contract["paths"]


async def _watched(
    served: Served, crowd: Crowd, requests: Sequence[bytes], rate: float, seconds: float
) -> tuple[Outcome, str]:
    """One run, and what the service used for it."""
    before, begun = Usage.of(served.pid), time.perf_counter()
    outcome = await crowd.run(requests, rate, seconds)
    after, spent = Usage.of(served.pid), time.perf_counter() - begun
    busy = (after.processor_seconds - before.processor_seconds) / spent
    return outcome, f"{busy:.0%} of a CPU, {after.resident_mb:.0f} MB"


def _shares(outcome: Outcome) -> str:
    good = len(_good(outcome, 200)) / outcome.seconds
    refused = outcome.times.get(503, [])
    said = f"{good:.0f} answers/s, {outcome.share(503):.1%} refused with 503"
    if refused:
        said += f" after {median(refused) / 1000:.1f} ms"
    return said + (f", {outcome.unsent} found no free client" if outcome.unsent else "")


def _good(outcome: Outcome, status: int) -> list[float]:
    found = outcome.times.get(status)
    if not found:
        raise BenchmarkError(f"no answer had status {status}; there were {sorted(outcome.times)}")
    return found
