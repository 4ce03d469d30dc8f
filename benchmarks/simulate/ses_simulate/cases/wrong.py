"""What is known is wrong, late or missing.

The monitor is the product's: each second, exponential means over two.
"""

from __future__ import annotations

from functools import partial

from ses_simulate.cases.scenario import Scenario

_Product = partial(Scenario, rho=0.7, interval=1.0, constant=2.0, nodes=64, close_poll=0.5, files=6_000)

CASES = (
    _Product("wrong-rates", "nominal rates wrong by up to 50 %, queues not visible", rho=0.6, wrong=0.5),
    _Product("wrong-rates-seen", "the same, queues visible", rho=0.6, wrong=0.5, depth=True),
    _Product(
        "slow-after",
        "6 of 64 elements five times slower after a minute",
        slow=6 / 64,
        slow_speed=0.2,
        slow_from=60.0,
    ),
    _Product(
        "slow-after-seen", "the same, queues visible", slow=6 / 64, slow_speed=0.2, slow_from=60.0, depth=True
    ),
    _Product("flapping", "15 % of the elements at 5 % speed for 20 s in 80", flapping=0.15),
    _Product("monitor-late", "half placed by others, samples 30 s late", managed=0.5, delay=30.0),
    _Product("monitor-away", "half placed by others, no samples after a third", managed=0.5, away=1 / 3),
    _Product("strangers", "40 strangers that come and go", rho=0.5, strangers=40),
    _Product("strangers-seen", "the same, queues visible", rho=0.5, strangers=40, depth=True),
    _Product("old-files", "files that exist are read, load 0.3, unevenly", rho=0.4, old_files=0.3),
    _Product("old-files-seen", "the same, queues visible", rho=0.4, old_files=0.3, depth=True),
)
