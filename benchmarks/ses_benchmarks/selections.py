"""How long the service takes to rank N elements: POST /v1/selections on loopback, one client."""

from __future__ import annotations

import json

from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.site_description import Facts
from ses_benchmarks.summary import Measurement, summarise

MB = 1e6

QUESTION = {
    "subject": {"user": "bench", "application": "bench"},
    "requirements": [
        {"kind": "average-write-rate", "minimum": 50.0, "unit": "MB/s"},
        {"kind": "free-capacity", "minimum": 1.0, "unit": "GB"},
    ],
}


def elements(count: int) -> list[Facts]:
    """``count`` elements of one system, unlike each other: 20 to 139 MB/s, 100 to 199 GB."""
    return [
        Facts(
            name=f"e{i}",
            target=f"/srv/bench/e{i}",
            read_rate=(20 + i * 7 % 120) * MB,
            write_rate=(20 + i * 11 % 120) * MB,
            capacity=(100 + i * 13 % 100) * 1e9,
        )
        for i in range(count)
    ]


def measure(name: str, port: int, rounds: int, calls: int, note: str) -> Measurement:
    """``rounds`` times ``calls`` questions, each followed by a GET /healthz on the same connection."""
    question = request_bytes("POST", "/v1/selections", QUESTION)
    with Connection(port) as connection:
        for _ in range(max(5, calls // 10)):
            _, body = connection.call(question)
        considered = json.loads(body)
        if not considered["candidates"]:
            raise BenchmarkError(f"{name}: the service found no candidate: {considered['refused'][:3]}")
        pairs = connection.beside_health(question, rounds, calls)
    return summarise(name, "us", pairs, baseline_is="GET /healthz, same server", note=note)
