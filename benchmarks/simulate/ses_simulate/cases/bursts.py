"""Many files at one moment: storms, checkpoints, users side by side."""

from __future__ import annotations

from functools import partial

from ses_simulate.cases.scenario import GB, Scenario

_Product = partial(Scenario, interval=1.0, constant=2.0, sigma=0.0, mean=2 * GB, close_poll=0.5, nodes=64)

CASES = (
    _Product("bursts-500", "bursts of 500 files from 63 nodes, load 0.6", rho=0.6, burst=500, ranks=8,
        files=6_000,
    ),
    _Product(
        "checkpoint-1-node", "a 64-rank checkpoint from one node, nothing else", rho=0.2, burst=64, ranks=64,
        files=2_560, regular=True, judged="last",
    ),
    _Product(
        "checkpoint-8-nodes", "a 64-rank checkpoint from 8 nodes, nothing else", rho=0.2, burst=64, ranks=8,
        files=2_560, regular=True, judged="last",
    ),
    _Product(
        "checkpoint-64-nodes", "a 64-rank checkpoint from 64 nodes, nothing else", rho=0.2, burst=64, ranks=1,
        files=2_560, regular=True, judged="last",
    ),
    _Product(
        "checkpoint-busy", "a 64-rank checkpoint from 8 nodes, 30 strangers", rho=0.2, burst=64, ranks=8,
        files=2_560, regular=True, strangers=30, judged="last",
    ),
    _Product(
        "rows-of-files", "20 files of a node in a row, written out late", rho=0.5,
        burst=20, users=1, spaced=0.2, ranks=20, mean=1 * GB, files=2_000, behind=0.9,
    ),
    _Product(
        "collision", "eight users of a node, 0.1 s apart, on eight elements", rho=0.2, elements=8, burst=8,
        users=8, spaced=0.1, regular=True, nodes=1, ranks=8, mean=0.5 * GB, files=800, judged="last",
    ),
)  # fmt: skip
