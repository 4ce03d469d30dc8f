"""The storage of a site: what a mount point is, its description, and what the monitor asks about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from ses_client.errors import NotFoundError, UsageError

from ses.literal import literal
from ses.lustre.description import turtle as lustre_turtle
from ses.lustre.targets import mounted_at
from ses.place.described import DIRECTORIES
from ses.place.described import look as look_at_set
from ses.place.described import turtle as set_turtle
from ses.union.branches import apart, look
from ses.union.branches import turtle as union_turtle
from ses.union.hidden import hidden
from ses.union.unmounted import check_mounted, on_the_root

_SITE = "https://w3id.org/qstorman/site"
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One source of the monitor: an exporter with its ``url``, or files of this machine below ``paths``."""

    name: str
    collector: str
    url: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Storage:
    """One storage system: its description as Turtle, and the targets that show its elements.

    A set of directories has no mount point.  ``warnings``: what may be wrong with it, or keeps the monitor
    from seeing it, and what to do about each.
    """

    name: str
    mount_point: str
    elements: int
    turtle: str
    targets: tuple[Target, ...]
    warnings: tuple[tuple[str, str], ...] = ()

    @property
    def called(self) -> str:
        """What people know it by."""
        return self.mount_point or self.name


def set_of(directories: Sequence[str], exporters: Sequence[str]) -> Storage:
    """Look at plain directories, which make a set; ``exporters`` as in ``storage_at``.

    Raises NotFoundError for one that cannot be looked at.
    """
    directory_set = look_at_set(DIRECTORIES, directories)
    targets = _targets("node_exporter", exporters, directory_set.name)
    paths = tuple(directory.directory for directory in directory_set.directories)
    check_mounted(paths)
    return Storage(
        directory_set.name,
        "",
        len(paths),
        set_turtle(directory_set, bool(targets))
        + _observed(f"{_SITE}/{directory_set.name}/set", directory_set.name, targets),
        targets or (Target(directory_set.name, "directories", paths=paths),),
        () if targets else tuple(hidden(paths)),
    )


def storage_at(mount: Path, exporters: Sequence[str], others: Sequence[Storage] = ()) -> Storage:
    """Look at what is mounted at a directory: a mergerfs union or Lustre.

    A union has another name than ``others`` that are mounted elsewhere.  ``exporters`` are the addresses of
    those that see its elements.  Without any, the monitor looks at the branches of a union itself, on this
    machine.  Raises NotFoundError when it is neither, UsageError for Lustre without exporters, and SesError
    where the disk of a branch is not mounted.
    """
    try:
        union = look(mount)
    except NotFoundError:
        return _lustre(mount, exporters)
    if any(other.name == union.name and other.mount_point != union.mount_point for other in others):
        union = apart(union)
    targets = _targets("node_exporter", exporters, union.name)
    seen = Target(union.name, "mergerfs", paths=(union.mount_point,))
    branches = [branch.directory for branch in union.branches]
    check_mounted(branches)
    return Storage(
        union.name,
        union.mount_point,
        len(union.branches),
        union_turtle(union) + _observed(f"{_SITE}/{union.name}/union", union.name, targets),
        targets or (seen,),
        (*on_the_root(branches), *(() if targets else hidden([union.mount_point, *branches]))),
    )


def _lustre(path: Path, exporters: Sequence[str]) -> Storage:
    try:
        system = mounted_at(path)
    except NotFoundError:
        raise NotFoundError(
            f"{path} is neither the mount point of a mergerfs union nor on a Lustre that is mounted here."
        ) from None
    if not exporters:
        raise UsageError(
            f"{path} is Lustre, whose load is seen on its servers: give --exporter URL for each of them."
        )
    targets = _targets("lustre_whamcloud", exporters, system.name)
    observed = _observed(f"{_SITE}/{system.name}/{system.name}", system.name, targets)
    return Storage(
        system.name, system.mount_point, len(system.targets), lustre_turtle(system) + observed, targets
    )


def _targets(collector: str, exporters: Sequence[str], name: str) -> tuple[Target, ...]:
    """Return a target for each exporter, called by its host.  Raises UsageError."""
    by_name: dict[str, Target] = {}
    for url in dict.fromkeys(exporters):
        called = _NOT_IN_NAME.sub("-", f"{name}-{_host(url)}")
        numbers = count(2)
        unique = called
        while unique in by_name:
            unique = f"{called}-{next(numbers)}"
        by_name[unique] = Target(unique, collector, url=url)
    return tuple(by_name.values())


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0 and not parts.username
    except ValueError:  # the port is no number, or the host no address
        usable = False
    if not usable or not parts.hostname or any(map(str.isspace, url)):
        raise UsageError(f"--exporter {url}: write an address such as http://n1:9100/metrics.")
    return parts.hostname


def _observed(system: str, name: str, targets: Sequence[Target]) -> str:
    """Return the statement that says at which targets of the monitor its elements are seen."""
    seen_at = f"{name}-*" if targets else name
    head = "\n# Where the monitor sees them: the targets of this name in smed.toml.\n"
    return f"{head}<{system}> qsm:observedAt {literal(seen_at)} .\n"
