"""Where the programs and files of the chain are: in the checkout, or installed."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ses.demo.faults import DemoError

_CHECKOUT = Path(__file__).resolve().parents[4]
_INSTALLED_LIBRARIES = (
    Path("/usr/local/lib"),
    Path("/usr/lib"),
    Path(f"/usr/lib/{os.uname().machine}-linux-gnu"),
)


@dataclass(frozen=True, slots=True)
class Parts:
    """Files of the parts.  ``api`` is the directory with ``libses.so``, ``headers`` that of ``ses/``."""

    preload: Path
    agent: Path
    api: Path
    headers: Path
    example: Path
    service: Path
    monitor: Path
    portal: Path
    exporter: Path
    site: Path


def find_parts(build: Path | None = None) -> Parts:
    """Find every part; raises DemoError that names the first one missing and how to get it.

    ``build`` is the directory CMake built libses in (default: ``build/libses`` of the checkout).
    """
    folder = built(build)
    native = "Build it: make native"
    return Parts(
        preload=first("the preload library", native, folder / "libses-wrapper.so",
                       *(folder / "libses-wrapper.so" for folder in _INSTALLED_LIBRARIES)),
        agent=first("ses-agent", native, folder / "agent" / "ses-agent", Path("/usr/local/sbin/ses-agent")),
        api=first("libses.so", native, folder / "libses.so",
                   *(folder / "libses.so" for folder in _INSTALLED_LIBRARIES)).parent,
        headers=first("ses/ses.hpp", native, _CHECKOUT / "libses/include/ses/ses.hpp",
                       Path("/usr/local/include/ses/ses.hpp")).parents[1],
        example=first("the example figure3.cpp", "Run the demonstration from a checkout",
                       _CHECKOUT / "examples/figure3.cpp"),
        service=_python_part("ses-service"),
        monitor=_python_part("smed-monitor"),
        portal=_python_part("ses-webface"),
        exporter=_system_part("prometheus-node-exporter", "prometheus-node-exporter", "node_exporter"),
        site=first("the example site", "Run the demonstration from a checkout",
                    _CHECKOUT / "ontology/examples/union-site.ttl"),
    )  # fmt: skip


def find_plugin(build: Path | None = None) -> Path:
    """Find the plugin of Slurm; raises DemoError."""
    how = "Build it: apt-get install libslurm-dev; make native"
    installed = (folder / "qstorman/ses-slurm.so" for folder in _INSTALLED_LIBRARIES)
    return first("ses-slurm.so", how, built(build) / "ses-slurm.so", *installed)


def built(build: Path | None = None) -> Path:
    """Return the directory CMake built libses in: ``build``, or that of the checkout."""
    return (build or _CHECKOUT / "build" / "libses").resolve()


def first(what: str, how: str, *places: Path) -> Path:
    """Return the first place that exists; raises DemoError with ``how`` to get what is missing."""
    for place in places:
        if place.exists():
            return place
    raise DemoError(f"{what} is missing (looked at {places[0]}). {how}.")


def _python_part(name: str) -> Path:
    return first(name, "Install it: make install", Path(sys.executable).parent / name, on_path(name))


def _system_part(package: str, *names: str) -> Path:
    return first(package, f"Install it: apt-get install {package}", *(on_path(name) for name in names))


def on_path(name: str) -> Path:
    """Return where a program is on the path, or would be."""
    return Path(shutil.which(name) or Path("/usr/bin") / name)
