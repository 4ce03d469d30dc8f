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
    Scenario(
        "room-changed", "the last tenth of the files 50 times larger", rho=0.1, mean=20 * GB, sigma=0.3,
        elements=16, files=1_000, interval=1.0, constant=2.0, nodes=16, close_poll=0.5, capacity=0.95,
        judged="room", large=50.0, large_from=0.9,
    ),
    Scenario(
        "room-two-kinds", "one of 25 files ten times larger", rho=0.4, mean=20 * GB, sigma=0.3,
        elements=16, files=1_000, interval=1.0, constant=2.0, nodes=16, close_poll=0.5, capacity=0.95,
        judged="room", large=10.0, large_part=0.04,
    ),
    Scenario(
        "added-empty", "14 of 16 elements 96 % full, 2 empty, sizes not told", rho=0.6, mean=2 * GB,
        elements=16, files=3_000, interval=1.0, constant=2.0, nodes=32, close_poll=0.5, full=0.96,
    ),
)  # fmt: skip
