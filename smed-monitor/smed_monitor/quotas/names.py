"""Names of users, groups and projects, as this machine knows them; asked once for each number."""

from __future__ import annotations

import grp
import pwd
from pathlib import Path

from smed_monitor.core.quotas import Kind

PROJECTS = Path("/etc/projid")  # lines "name:number", as xfs_quota reads them


class Names:
    """Remembers what it was asked; a number without a name is its own name."""

    def __init__(self, projects: Path = PROJECTS) -> None:
        self._projects = projects
        self._known: dict[tuple[Kind, int], str] = {}

    def __call__(self, kind: Kind, number: int) -> str:
        """Return the name of a user, group or project."""
        key = kind, number
        if key not in self._known:
            self._known[key] = _text(self._find(kind, number)) or str(number)
        return self._known[key]

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
