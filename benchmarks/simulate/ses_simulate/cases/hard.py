"""Old samples, strangers, slow elements: what the rule was made with."""

from __future__ import annotations

from ses_simulate.cases.scenario import GB, Scenario

CASES = (
    Scenario("rho08-t5", "load 0.8, sampled every 5 s"),
    Scenario("rho08-t30", "load 0.8, sampled every 30 s", interval=30.0),
    Scenario(
        "rho08-t60-small", "load 0.8, files of 0.8 GB, sampled each minute", interval=60.0, mean=0.8 * GB
    ),
    Scenario("bursts", "bursts of 96 files of 2 GB, load 0.6", rho=0.6, burst=96, mean=2 * GB, sigma=0.0),
    Scenario("unassisted-t5", "half of the files placed at random by others", rho=0.7, managed=0.5),
    Scenario(
        "unassisted-t30",
        "half placed at random by others, sampled every 30 s",
        rho=0.7,
        managed=0.5,
        interval=30.0,
    ),
    Scenario(
        "secretly-slow",
        "every tenth element at half speed, unknown",
        rho=0.7,
        depth=True,
        slow=0.1,
        slow_speed=0.5,
    ),
    Scenario(
        "known-slow",
        "30 % of the elements at 40 % speed, as described",
        rho=0.7,
        slow=0.3,
        slow_speed=0.4,
        slow_known=True,
    ),
    Scenario("efficiency-loss", "an element loses 5 % per further writer, load 0.5", rho=0.5, loss=0.05),
    Scenario("open-idle", "60 % of the files stay open and idle for 60 s", rho=0.7, idle=0.6),
    Scenario(
        "nodes-64-told-5s",
        "64 nodes that tell and hear every 5 s, 0.8 GB",
        mean=0.8 * GB,
        nodes=64,
        pace=5.0,
    ),
    Scenario(
        "nodes-64-told-1s",
        "64 nodes that tell and hear every second, 0.8 GB",
        mean=0.8 * GB,
        nodes=64,
        pace=1.0,
    ),
    Scenario(
        "nodes-64-told-0.2s",
        "64 nodes that tell and hear every 0.2 s, 0.8 GB",
        mean=0.8 * GB,
        nodes=64,
        pace=0.2,
    ),
    Scenario(
        "file-per-process",
        "bursts of 4,096 files on 1,008 elements, load 0.6",
        rho=0.6,
        burst=4096,
        files=3 * 4096,
        mean=2 * GB,
        sigma=0.0,
        elements=1008,
        nodes=64,
        ranks=64,
    ),
)
