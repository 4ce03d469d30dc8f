"""Names of users, groups and projects, as this machine knows them.

Each number is asked for once; one without a name again after a while, since a name service that restarts
knows nobody.
"""

import grp
import pwd
import time
from collections.abc import Callable
from pathlib import Path

from smed_monitor.core.quotas import Kind

_ASK_AGAIN = 300.0  # seconds
PROJECTS = Path("/etc/projid")  # lines "name:number", as xfs_quota reads them


class Names:
    """Remembers what it was asked; a number without a name is its own name."""

    def __init__(self, projects: Path = PROJECTS, clock: Callable[[], float] = time.monotonic) -> None:
        self._projects, self._clock = projects, clock
        self._known: dict[tuple[Kind, int], str] = {}
        self._nameless: dict[tuple[Kind, int], float] = {}  # when it is asked for again

    def __call__(self, kind: Kind, number: int) -> str:
        """Return the name of a user, group or project."""
        key = kind, number
        if key not in self._known and self._clock() >= self._nameless.get(key, 0.0):
            if name := _text(self._find(kind, number)):
                self._known[key] = name
            self._nameless[key] = self._clock() + _ASK_AGAIN
        return self._known.get(key, str(number))

    def _find(self, kind: Kind, number: int) -> str:
        try:
            if kind is Kind.USER:
                return pwd.getpwuid(number).pw_name
            if kind is Kind.GROUP:
                return grp.getgrgid(number).gr_name
            return self._project(number)
        except (KeyError, OSError, OverflowError):
            return ""

    def _project(self, number: int) -> str:
        for line in self._projects.read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if value.strip() == str(number):
                return name.strip()
        return ""


def _text(name: str) -> str:
    """Return a name whose bytes may be no UTF-8 as a page can say it."""
    return name.encode("utf-8", "replace").decode()
