"""A whole site for a test."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ses.demo.chain import add_portal_account, start_chain
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts
from ses.demo.storage import set_up

sys.path.insert(0, str(Path(__file__).parent))

from running_site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    """Mergerfs over eight throttled branches, exporter, monitor, service, agent and portal, all real."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a union")
    work = Path(tempfile.mkdtemp(prefix="qstorman-story-"))
    work.chmod(0o755)
    try:
        with ExitStack() as undo, Interrupts() as interrupts:
            storage = set_up(work, undo, lambda _step: None)
            parts = find_parts(None)
            chain = start_chain(work, parts, storage, undo, interrupts)
            yield Site(storage, chain, add_portal_account(parts, chain, "root"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
