"""The background load: which branches, started, seen by the monitor, gone again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from ses_client.messages.elements import Element

from ses.demo.chain import Chain
from ses.demo.interrupts import Interrupts
from ses.demo.storage import Storage

BUSY = ("b1", "b3")  # one of the fastest pair, one of the second
_FILE_MB = 16
_PLAIN_PACE = 20.0  # MB/s, where no limit of the kernel holds the writers back
_SEEN_SECONDS = 30.0


def start_load(chain: Chain, storage: Storage) -> None:
    """Start one writer on each busy branch; they end with the chain's other processes, or with this one."""
    for name in BUSY:
        branch = storage.branch(name)
        pace = 0.0 if storage.throttled else _PLAIN_PACE
        target = branch.directory / "work-of-others.bin"
        argv = [sys.executable, "-m", "ses.demo.load", str(target), str(_FILE_MB), str(pace),
                str(os.getpid())]  # fmt: skip
        chain.processes.start(f"load-{name}", argv, target.exists)
    chain.processes.wait_ready()


def wait_until_seen(chain: Chain, storage: Storage, interrupts: Interrupts) -> None:
    """Wait until the monitor sees the busy branches busy and the others idle.

    Without limits there is no speed to be near: then it only waits for data of every branch.
    """
    client = chain.client()

    def seen() -> bool:
        chain.processes.check()
        elements = client.elements().elements
        if any(element.observation is None or element.observation.state != "ok" for element in elements):
            return False
        return not storage.throttled or _as_meant(elements)

    interrupts.until(
        seen,
        _SEEN_SECONDS,
        f"The monitor does not see {' and '.join(BUSY)} busy and the rest idle; "
        f"look at what it does see: {chain.services.monitor_url}/v1/observations",
    )


def _as_meant(elements: Iterable[Element]) -> bool:
    return all(
        (share > 0.6) if element.id.rpartition("/")[2] in BUSY else (share < 0.1)
        for element in elements
        if (share := utilisation(element)) is not None
    )


def utilisation(element: Element) -> float | None:
    """Return the part of its write rate an element gives now, ``None`` when that is not known."""
    seen = element.observation
    if seen is None or seen.write_bytes_per_second.current is None or not element.nominal.write_mb_s:
        return None
    return seen.write_bytes_per_second.current / 1e6 / element.nominal.write_mb_s
