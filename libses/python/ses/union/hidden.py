"""Paths that the monitor cannot see where it looks itself: its unit is sandboxed, and has a user."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from shlex import quote

from ses.elsewhere import ask_elsewhere

MONITOR = "qstorman-monitor"
_CLOSED = tuple(map(Path, ("/home", "/root", "/run/user")))  # by ProtectHome=yes of smed-monitor.service
_ANYBODY = stat.S_IXOTH


def hidden(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return what hides paths of this machine from the monitor, and what to do about it, once each."""
    advice = {}
    looked_at = [*map(Path, paths)]
    above = {str(parent) for path in looked_at for parent in path.parents}
    shut = ask_elsewhere(sorted(above), _is_shut)
    for path in looked_at:
        closed = next((folder for folder in _CLOSED if path.is_relative_to(folder)), None)
        if closed is not None:
            advice[f"{path} lies below {closed}, which ProtectHome=yes hides from the monitor."] = (
                "Let it look: systemctl edit smed-monitor, with the lines [Service] and "
                "ProtectHome=read-only. Or give --exporter URL of a node_exporter that sees it."
            )
        for parent in path.parents:
            if shut.get(str(parent)):
                advice[f"{parent} lets not everybody in, so the monitor ({MONITOR}) cannot see {path}."] = (
                    f"Let it pass: setfacl -m u:{MONITOR}:x {quote(str(parent))} (or chmod o+x)."
                )
    return list(advice.items())


def _is_shut(directory: str) -> bool:
    """Return whether others may not pass; one with a list of its own may let the monitor, and is not."""
    try:
        mode = Path(directory).stat().st_mode
    except OSError:
        return False
    with suppress(OSError):
        os.getxattr(directory, "system.posix_acl_access")
        return False
    return not mode & _ANYBODY
