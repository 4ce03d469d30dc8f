"""What a result depends on besides what was asked for: machine, versions, load, what was built."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from ses.demo.parts import Parts
from ses.demo.tools import tool

_SHOWN = 12  # characters of a hash


def machine() -> dict[str, Any]:
    """Return the machine, as far as it matters here."""
    return {
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "mergerfs": tool("mergerfs", "--version").splitlines()[0].rpartition(" ")[2],
    }


def load() -> float:
    """Return the load average over the last minute."""
    return os.getloadavg()[0]


def product(parts: Parts) -> str:
    """Return a hash of the product as it is built: library, agent, service, monitor."""
    files = [parts.preload, parts.agent]
    for package in ("ses_service", "smed_monitor"):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            files += sorted(Path(place).rglob("*.py"))
    return _hash(files)


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:_SHOWN]
