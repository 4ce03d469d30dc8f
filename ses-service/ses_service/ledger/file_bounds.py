"""What a node may report: bounds that a node which reports the truth does not meet.

How many files it may have open and may begin, and of which jobs they are: a job has one user.

A node may begin files faster than its rate for as long as it began fewer before: :data:`AVERAGED_OVER`
seconds' worth at once.  Where a node has too many, those users are refused who have more than their share of
it, and nobody else.  So a node has more than it may, by at most three times as many, if it has many users.

What is kept of a node is a number, and one for each of its users, until it could begin as many again.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

MAX_OPEN = 65_536  # files of one node; its agent follows no more
AVERAGED_OVER = 600.0  # seconds
_FEW = 1000  # nodes below which nobody is forgotten


@dataclass(slots=True)
class Refusals:
    """Files that were not taken because their node has too many open, or began too many, and the last one.

    ``invalid``: what was reported of them cannot be right.
    """

    too_many_open: int = 0
    too_fast: int = 0
    invalid: int = 0
    node: str = ""
    at: float = -math.inf


@dataclass(slots=True)
class _Begun:
    """When the files of a node would all have come at its rate, and those of each user at a part of that."""

    all: float = -math.inf
    of_user: dict[str, float] = field(default_factory=dict)
    at: float = -math.inf


class FileBounds:
    """``rate`` is how many files a second a node may begin.  Not safe for use from several threads."""

    def __init__(self, rate: float) -> None:
        self.refusals = Refusals()
        self._rate = rate
        self._open: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._begun: dict[str, _Begun] = {}
        self._many = _FEW
        self._of_job: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def opened(self, node: str, user: str, job: str | None = None) -> None:
        """Count a file that is open on a node."""
        self._open[node][user] += 1
        if job is not None:
            self._of_job[node, job][user] += 1

    def is_anothers(self, node: str, user: str, job: str) -> bool:
        """Whether all files that a job has open on a node are of other users."""
        users = self._of_job.get((node, job))
        return users is not None and user not in users

    def closed(self, node: str, user: str, job: str | None = None) -> None:
        """Count it no more."""
        if job is not None:
            users = self._of_job[node, job]
            users[user] -= 1
            if not users[user]:
                del users[user]
            if not users:
                del self._of_job[node, job]
        self._open[node][user] -= 1
        if not self._open[node][user]:
            del self._open[node][user]
        if not self._open[node]:
            del self._open[node]

    def refuses(self, node: str, user: str, now: float) -> str:
        """Return why a user may not begin a file on a node; if empty it may, and the file is counted."""
        files = self._open.get(node, {user: 0})
        users = len(files) + (user not in files)
        if files.get(user, 0) >= _share(MAX_OPEN, users, sum(files.values()) // MAX_OPEN):
            self.refusals.too_many_open += 1
            why = f"The node has {MAX_OPEN} files open, as many as it may, many of them this user's."
        elif not self._begins(node, user, now):
            self.refusals.too_fast += 1
            why = (
                f"The node began {self._rate:g} files a second for long, as many as it may: many this user's."
            )
        else:
            return ""
        self.refusals.node, self.refusals.at = node, now
        return why

    def _begins(self, node: str, user: str, now: float) -> bool:
        begun = self._begun.get(node)
        if begun is None:
            begun = self._begun[node] = _Begun()
        if begun.at != now:  # once for many files
            begun.at, begun.of_user = now, {who: paid for who, paid in begun.of_user.items() if paid > now}
        own = begun.of_user.setdefault(user, now)
        users = len(begun.of_user)
        excess = int(max(0.0, begun.all - now) / AVERAGED_OVER)
        if excess > 0 and own - now > _share(AVERAGED_OVER, users, excess - 1):
            return False
        begun.all = max(now, begun.all) + 1.0 / self._rate
        begun.of_user[user] = min(own, now + AVERAGED_OVER) + users / self._rate
        if len(self._begun) > self._many:
            self._begun = {name: begun for name, begun in self._begun.items() if begun.all > now}
            self._many = max(_FEW, 2 * len(self._begun))
        return True


def _share(bound: float, users: int, excess: int) -> float:
    """Return what each of ``users`` may have of a bound that is exceeded ``excess`` times already."""
    return bound / float(users) ** excess
