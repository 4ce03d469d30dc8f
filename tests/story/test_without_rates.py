"""A site as `ses discover` describes it, without nominal rates: files still go where nobody else writes."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from patience import wait_until
from running_site import Site
from ses.demo.branches import PLANS
from ses.demo.chain import start_chain
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts
from ses.demo.site import SITE_ROOT
from ses.demo.storage import set_up
from ses_client.client import ServiceClient

pytestmark = pytest.mark.root

FILES = 12
BUSY = "b1"


def _has_ended(client: ServiceClient, path: Path) -> bool:
    return any(placement.ended_at for placement in client.placements(path=str(path)))


def test_files_avoid_the_disk_that_others_write_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    placed: Counter[str] = Counter()
    with ExitStack() as undo, Interrupts() as interrupts:
        alike = tuple(replace(PLANS[0], name=name) for name in (BUSY, "b2", "b3"))
        storage = set_up(tmp_path, undo, lambda _step: None, alike)
        if not storage.throttled:
            pytest.skip("no device here that can be kept busy")
        description = tmp_path / "discovered.ttl"
        discover = ["discover", "--mergerfs", storage.union, "--turtle", description]
        subprocess.run([Path(sys.executable).with_name("ses"), *discover], check=True, timeout=60)
        text = description.read_text()
        assert "    qsm:nominal" not in text
        description.write_text(text.replace(str(tmp_path), SITE_ROOT))  # as start_chain() wants it
        chain = start_chain(tmp_path, replace(find_parts(None), site=description), storage, undo, interrupts)
        site, client = Site(storage, chain, ""), chain.client()
        target = storage.branch(BUSY).directory / "work-of-others.bin"
        load = [sys.executable, "-m", "ses.demo.load", str(target), "16", "0", str(os.getpid())]
        chain.processes.start("load", load, target.exists)
        chain.processes.wait_ready()

        def is_seen() -> bool:
            seen = {element.label: element.observation for element in client.elements().elements}
            return bool(seen[BUSY] and (seen[BUSY].write_bytes_per_second.current or 0.0) > 10e6)

        wait_until(is_seen, "the monitor sees the writer")
        for number in range(FILES):
            placed[site.write(f"{number}.dat")] += 1
            wait_until(partial(_has_ended, client, storage.union / f"{number}.dat"), "its end is known")
    assert placed[BUSY] == 0
    assert min(placed["b2"], placed["b3"]) >= FILES // 4
