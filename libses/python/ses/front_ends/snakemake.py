"""Places for the jobs of Snakemake: as a prefix of all of them, or of the rules that name one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ses.front_ends import shell


def prefix(where: str, *, size: str | None = None, need: Iterable[str] = ()) -> str:
    """Return what ``shell.prefix`` takes: each shell command and script has a place as ``TMPDIR``."""
    return shell.place(where, "snakemake", size=size, need=need)


def place(where: str, *, need: Iterable[str] = ()) -> Callable[..., str]:
    """Return a function for ``params``, whose text begins the shell command of a rule.

    The place has room for the rule's ``disk_mb``, if it states any.
    """

    def text(wildcards: object, resources: Any) -> str:  # noqa: ARG001  # Snakemake goes by these names
        disk = resources.get("disk_mb")
        return prefix(where, size=f"{disk}MB" if isinstance(disk, int) else None, need=need)

    return text
