"""What a quota is.  Pure."""

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """Whom a quota is of."""

    USER = "user"
    GROUP = "group"
    PROJECT = "project"


class Quota(NamedTuple):
    """What one user, group or project may store in a file system, and has stored.

    ``name`` is that of ``id`` where it has one.  ``filesystem`` is the file system's own name, such as that
    of a Lustre.  ``sampled_at`` is when it was looked at (epoch seconds).
    """

    filesystem: str
    kind: Kind
    id: int
    name: str
    used_bytes: float
    limit_bytes: float
    sampled_at: float
