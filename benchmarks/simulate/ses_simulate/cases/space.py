"""Room: files of unknown size, elements that fill."""

from __future__ import annotations

from ses_simulate.cases.scenario import GB, Scenario

CASES = (
    Scenario(
        "room", "elements of 4:1 size fill to 95 %, sizes not told", rho=0.5, mean=20 * GB, sigma=1.0,
        elements=16, files=1_000, interval=1.0, constant=2.0, nodes=16, close_poll=0.5, capacity=0.95,
        judged="room",
    ),
    Scenario(
        "room-pareto", "the same, Pareto sizes, exponent 1.5", rho=0.5, mean=20 * GB, tail=1.5,
        elements=16, files=1_000, interval=1.0, constant=2.0, nodes=16, close_poll=0.5, capacity=0.95,
        judged="room",
    ),
)  # fmt: skip
