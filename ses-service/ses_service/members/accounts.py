"""Which VO the accounts of portals are of, as the portals report it; kept in a file over a restart.

A portal reports all of its accounts at once, in place of what it reported before.  Answers from memory, and
never waits.  Where two portals know a user, the one whose name comes first counts.
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

import structlog

from ses_service.members.memberships import Home
from ses_service.security.whole_file import write_whole

_log = structlog.get_logger("ses_service")

SOURCE = "portal account"


class Accounts:
    """All methods may be called from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._of_portals: dict[str, dict[str, str]] = {}
        self._homes: dict[str, str] = {}
        self._recall()

    def home(self, user: str) -> Home | None:
        """Return where a user belongs, if a portal has reported it."""
        vo = self._homes.get(user)
        return None if vo is None else Home(vo, SOURCE)

    def take(self, portal: str, homes: Mapping[str, str]) -> None:
        """Take the VO of each account of a portal that has one.

        A file that cannot be written is logged and no more: the portal reports it again.
        """
        with self._lock:
            if self._of_portals.get(portal, {}) == dict(homes):
                return
            self._of_portals = {**self._of_portals, portal: dict(homes)}
            self._index()
            self._write()

    def _index(self) -> None:
        homes: dict[str, str] = {}
        for portal in sorted(self._of_portals, reverse=True):
            homes.update(self._of_portals[portal])
        self._homes = homes

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            write_whole(self._path, json.dumps(self._of_portals).encode())
        except OSError as error:
            _log.warning("accounts of portals cannot be written", detail=str(error))

    def _recall(self) -> None:
        if self._path is None:
            return
        try:
            held = json.loads(self._path.read_text("utf-8"))
            self._of_portals = {
                str(portal): {str(user): str(vo) for user, vo in homes.items()}
                for portal, homes in held.items()
            }
        except FileNotFoundError:
            return
        except (OSError, ValueError, AttributeError) as error:
            _log.warning("accounts of portals cannot be read", path=str(self._path), detail=str(error))
            return
        self._index()
