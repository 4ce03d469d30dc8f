"""Skewed ground: some nodes create far more files than others, many at one moment, with no rank."""

from __future__ import annotations

from functools import partial

from ses_simulate.cases.scenario import GB, MB, Scenario

# Files of 80 ms, of which many have ended when another node hears of them.  Closes are seen at once, as
# inotify reports them.
_Short = partial(
    Scenario, rho=0.8, mean=40 * MB, sigma=1.0, interval=1.0, constant=2.0, nodes=64,
    files=6_000,
)  # fmt: skip
_Long = partial(_Short, mean=0.8 * GB)
_Burst = partial(
    _Long, rho=0.2, mean=2 * GB, sigma=0.0, regular=True, unranked=True, files=1_280, judged="last"
)

CASES = (
    _Short("rush", "64 files of a node at once, beside 1,000 nodes", nodes=1000,
        rho=0.1, mean=5 * MB, rush=64, judged="last",
    ),
    _Short("rush-64-nodes", "the same beside 64 nodes", rho=0.1, mean=5 * MB, rush=64, judged="last"),
    _Short("zipf-10", "10 nodes by Zipf's law, 40 MB, load 0.8", nodes=10, zipf=1.0),
    _Short("zipf-64", "64 nodes by Zipf's law, 40 MB, load 0.8", zipf=1.0),
    _Short("zipf-1000", "1,000 nodes by Zipf's law, 40 MB, load 0.8", nodes=1000, zipf=1.0),
    _Long("zipf-64-long", "64 nodes by Zipf's law, 0.8 GB, load 0.8", zipf=1.0),
    _Long("zipf-2000-long", "2,000 nodes by Zipf's law, 0.8 GB, load 0.8", nodes=2000, zipf=1.0),
    _Long("zipf-8-elements", "64 nodes by Zipf's law, 8 elements, 0.8 GB", elements=8, zipf=1.0),
    _Long("zipf-1000-elements", "1,000 elements, 200 nodes by Zipf's law", elements=1000, nodes=200,
        zipf=1.0,
    ),
    _Short("one-10-of-1000", "one of 1,000 nodes makes 10 %, 40 MB, load 0.8", nodes=1000, busiest=0.1),
    _Short("one-20", "one of 64 nodes makes 20 %, 40 MB, load 0.8", busiest=0.2),
    _Short("one-50", "one of 64 nodes makes half, 40 MB, load 0.8", busiest=0.5),
    _Short("one-90", "one of 64 nodes makes 90 %, 40 MB, load 0.8", busiest=0.9),
    _Long("one-50-long", "one of 64 nodes makes half, 0.8 GB, load 0.8", busiest=0.5),
    _Burst("eight-at-once", "8 nodes, a file of each at once, 8 elements", burst=8, nodes=8,
        elements=8, mean=0.5 * GB,
    ),
    _Burst("unranked-1-node", "64 processes of one node without ranks", burst=64, ranks=64),
    _Burst("unranked-8-nodes", "64 processes of 8 nodes without ranks", burst=64, ranks=8),
    _Burst("unranked-64-nodes", "64 processes of 64 nodes without ranks", burst=64),
    _Burst("unranked-half", "128 processes of half of the nodes, no ranks", burst=128, ranks=4),
)  # fmt: skip
