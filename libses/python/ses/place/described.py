"""A set of directories, described for the knowledge base: as seen from this machine, and nothing else.

Rates, tiers, links and labels are for an administrator to add.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from ses_client.devices import name_of, server_of
from ses_client.errors import NotFoundError, UsageError
from ses_client.mounts import MOUNTINFO, file_system_at, mount_with

from ses.literal import PREFIXES, element, literal
from ses.place.directories import look_at
from ses.union.branches import names_of

DIRECTORIES = "directories"
"""What a set is called where nobody names it."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
_TAKEN = ("set", "server")
_HEAD = """\
# A set of directories, as seen from {host}.  Add nominal rates (qsm:nominalReadRate,
# qsm:nominalWriteRate) where they are known, and qsm:linkRate of servers; see the vocabulary.
{prefixes}
@base <https://w3id.org/qstorman/site/> .

<{name}/set> a qsm:DirectorySet ;
    rdfs:label "Directories {name}"@en ;
    qsm:name "{name}" .
"""


@dataclass(frozen=True, slots=True)
class Described:
    """One directory: where it is mounted from, and what it shares with others.

    ``server`` is this machine for disks; ``device`` is empty where nothing counts its load.
    """

    name: str
    directory: str
    server: str
    file_system: str
    device: str
    mount_point: str
    capacity_bytes: int
    read_only: bool


@dataclass(frozen=True, slots=True)
class DirectorySet:
    """Directories, under the name of their set."""

    name: str
    directories: tuple[Described, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"name": self.name, "directories": [asdict(directory) for directory in self.directories]}


def look(name: str, given: Sequence[str]) -> DirectorySet:
    """Return the set of some directories; a path with links stays as it is, made absolute.

    Raises NotFoundError for one that cannot be looked at, UsageError for one that is given twice or a
    name that is none.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a set: letters, digits, '.', '_' and '-'.")
    paths = [os.path.abspath(entry) for entry in given]  # noqa: PTH100  # links stay: nodes may differ
    mounts = MOUNTINFO.read_bytes()
    host, seen = socket.gethostname(), dict[str, str]()
    directories = []
    for called, path, entry in zip(names_of(paths, _TAKEN), paths, look_at(paths), strict=True):
        if not entry.path:
            raise NotFoundError(f"{path}: {entry.reason}.")
        if (same := seen.setdefault(entry.identity, path)) != path or paths.count(path) > 1:
            raise UsageError(f"{path} is given twice{'' if same == path else f', also as {same}'}.")
        mount = mount_with(entry.mount, mounts)
        source = mount.source if mount else ""
        directories.append(
            Described(
                called,
                path,
                server_of(source) or host,
                file_system_at(path),
                name_of(entry.device),
                mount.point if mount else "/",
                entry.size,
                entry.read_only,
            )
        )
    return DirectorySet(name, tuple(directories))


def turtle(described: DirectorySet, observed_as_mounted: bool = False) -> str:
    """Return the description; ``observed_as_mounted``: for exporters, which know mount points only."""
    head = _HEAD.format(prefixes=PREFIXES, name=described.name, host=literal(socket.gethostname()))
    servers = _servers(described)
    elements = [
        _element(described.name, directory, observed_as_mounted) for directory in described.directories
    ]
    return "\n".join([head, *servers, *elements])


def _servers(described: DirectorySet) -> Iterable[str]:
    for server in sorted({directory.server for directory in described.directories}):
        yield f"<{_server(described.name, server)}> a qsm:Server ; qsm:name {literal(server)} .\n"


def _server(name: str, server: str) -> str:
    return f"{name}/server/{quote(server, safe='')}"


def _element(name: str, directory: Described, observed_as_mounted: bool) -> str:
    facts = {
        "name": f'"{directory.name}"',
        "elementOf": f"<{name}/set>",
        "servedBy": f"<{_server(name, directory.server)}>",
        "target": literal(directory.directory),
        "state": "qsm:ReadOnly" if directory.read_only else "qsm:Active",
        "fileSystem": literal(directory.file_system),
        "device": directory.device and literal(directory.device),
    }
    if observed_as_mounted and directory.mount_point != directory.directory:
        facts["observedAs"] = literal(directory.mount_point)
    return element(f"<{name}/{directory.name}>", "Directory", facts, directory.capacity_bytes)
