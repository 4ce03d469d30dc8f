"""What a result depends on besides what was asked for: machine, versions, load, what was built."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from ses.demo.parts import Parts, find_parts
from ses.demo.tools import tool

_SHOWN = 12  # characters of a hash


def machine(version: Sequence[str] = ("mergerfs", "--version")) -> dict[str, Any]:
    """Return the machine, as far as it matters here, and what a program says of its version."""
    return {
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        version[0]: tool(*version).splitlines()[0].rpartition(" ")[2],
    }


def load() -> float:
    """Return the load average over the last minute."""
    return os.getloadavg()[0]


def processor_seconds(pid: int) -> float:
    """Return what the threads of a process have used of the processors, to the nanosecond; 0 of none."""
    used = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat") if pid else ():
        with suppress(OSError):  # a thread that has just ended
            used += int(task.read_text().split()[0])
    return used / 1e9


def settings(plan: Any, **more: Any) -> dict[str, Any]:
    """Return what a result depends on: the plan, ``more``, and the product as it is built."""
    return {**asdict(plan), "build": None, **more, "product": product(find_parts(plan.build))}


def product(parts: Parts) -> str:
    """Return a hash of the product as it is built: library, agent, service, monitor."""
    return _hash([parts.preload, parts.agent, *_sources("ses_service"), *_sources("smed_monitor")])


def sources(package: str) -> str:
    """Return a hash of a Python package."""
    return _hash(_sources(package))


def _sources(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:_SHOWN]
