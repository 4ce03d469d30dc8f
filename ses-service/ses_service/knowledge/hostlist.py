"""Names of many nodes in one text, as Slurm and ClusterShell write them: ``n[0001-4096],login1``.

Reads plain lists and ranges only: no groups and no operators, which would look into files of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

from ClusterShell.NodeSet import (  # type: ignore[import-untyped]
    RESOLVER_NOGROUP,
    NodeSet,
    NodeSetException,
)

MOST_NODES = 100_000
"""Nodes in one text: a slip of the pen in a range must not take the memory of the service."""

_TEXT = re.compile(r"[A-Za-z0-9._,\[\]/-]+")
_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?:/([0-9]{1,6}))?")


class HostlistError(ValueError):
    """Not a list of nodes; the message says why."""


def expanded(text: str) -> tuple[str, ...]:
    """Return the names of a list, in order, each once.  Raises ``HostlistError``."""
    if not _TEXT.fullmatch(text):
        raise HostlistError(f"{text[:80]!r} is not a list of nodes such as n[0001-4096],login1")
    count = sum(prod(map(_size_of, _RANGES.findall(part))) for part in _PART.findall(text))
    if count > MOST_NODES:
        raise HostlistError(f"{text[:80]!r} names {count} nodes; {MOST_NODES} are allowed")
    try:
        names = tuple(str(name) for name in NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise HostlistError(f"{text[:80]!r} is not a list of nodes: {error}") from None
    if not names:
        raise HostlistError(f"{text[:80]!r} names no node")
    return names


def folded(names: Iterable[str]) -> str:
    """Return names of nodes in as few characters as ranges allow; names nobody can fold stand as they are."""
    kept = list(names)
    plain = [name for name in kept if _TEXT.fullmatch(name) and not set(name) & set(",[]/")]
    try:
        text = str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(kept)
    return ",".join([*([text] if text else []), *(name for name in kept if name not in set(plain))])


def _size_of(ranges: str) -> int:
    found = 0
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one)
        if match is None:
            raise HostlistError(f"[{ranges[:80]}] is not a list of ranges such as [0001-4096,5000]")
        first, last = int(match[1]), int(match[2] or match[1])
        found += max(0, last - first) // max(1, int(match[3] or 1)) + 1
    return found
