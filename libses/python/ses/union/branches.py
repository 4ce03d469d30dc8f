"""The branches of a mergerfs union, and their description for the knowledge base.

Says what was seen and nothing else: rates, tiers and labels are for an administrator to add.
"""

from __future__ import annotations

import os
import re
import socket
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ses_client.errors import SesError
from ses_client.mounts import file_system_at
from ses_client.unions import read_union

from ses.elsewhere import PATIENCE, ask_elsewhere
from ses.literal import PREFIXES, element, literal

_STATES = {"RW": "Active", "RO": "ReadOnly", "NC": "Draining"}
_MAX_NAME_LENGTH = 31
_TAKEN = ("union", "server")
_HEAD = """\
# The union at {mount_literal}, as seen from {server_literal}.  Add nominal rates
# (qsm:nominalReadRate, qsm:nominalWriteRate) where they are known; see the vocabulary.
{prefixes}
@base <https://w3id.org/qstorman/site/> .

<{name}/union> a qsm:MergerfsUnion ;
    rdfs:label "Union {name}"@en ;
    qsm:name "{name}" ;
    qsm:mountPoint {mount_literal} .

<{name}/server> a qsm:Server ; qsm:name {server_literal} .
"""


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: its directory, RW, RO or NC (no new files), and what is known of its file system.

    ``file_system`` is empty, and the size in bytes None, where it cannot be asked.
    """

    name: str
    directory: str
    mode: str
    capacity_bytes: int | None
    file_system: str = ""

    @property
    def state(self) -> str:
        """The state the vocabulary has for its mode."""
        return _STATES.get(self.mode, "Active")


@dataclass(frozen=True, slots=True)
class Union:
    """A mounted union, named after its mount point."""

    name: str
    mount_point: str
    server: str
    branches: tuple[Branch, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return asdict(self)


def look(mount: Path) -> Union:
    """Return the union mounted at a directory.

    Raises NotFoundError when there is none, and SesError where a branch does not answer.
    """
    union = read_union(mount)
    name = _name(Path(union.mount_point).name) or "union"
    paths = [branch.path for branch in union.branches]
    seen = ask_elsewhere(paths, _file_system)
    if silent := [path for path in paths if path not in seen]:
        raise SesError(f"{', '.join(silent)} did not answer within {PATIENCE:g} s. See findmnt and dmesg.")
    return Union(
        name,
        union.mount_point,
        socket.gethostname(),
        tuple(
            Branch(called, branch.path, branch.mode, *seen[branch.path])
            for called, branch in zip(names_of(paths), union.branches, strict=True)
        ),
    )


def apart(union: Union) -> Union:
    """Return it with a name of its own, as the service gives one whose name another has."""
    return replace(union, name=f"{union.name}-{zlib.crc32(os.fsencode(union.mount_point)):08x}")


def turtle(union: Union) -> str:
    """Return the description; every branch is an element, served by this machine."""
    head = _HEAD.format(
        prefixes=PREFIXES,
        name=union.name,
        mount_literal=literal(union.mount_point),
        server_literal=literal(union.server),
    )
    return "\n".join([head, *(_element(union, branch) for branch in union.branches)])


def _element(union: Union, branch: Branch) -> str:
    facts = {
        "name": f'"{branch.name}"',
        "elementOf": f"<{union.name}/union>",
        "servedBy": f"<{union.name}/server>",
        "target": literal(branch.directory),
        "state": f"qsm:{branch.state}",
        "fileSystem": branch.file_system and literal(branch.file_system),
    }
    return element(f"<{union.name}/{branch.name}>", "Branch", facts, branch.capacity_bytes)


def names_of(paths: Sequence[str], taken: Collection[str] = _TAKEN) -> list[str]:
    """Return a name for each directory, which is its own whatever the order: /mnt/disk1/data is disk1.

    The last part of its path that no other path has, and that is not ``taken``.
    """
    parts = [[_name(part) for part in Path(path).parts[1:]] for path in paths]
    used = Counter(part for path_parts in parts for part in set(path_parts))
    own = (
        [
            part
            for part in reversed(path_parts)
            if 0 < len(part) <= _MAX_NAME_LENGTH and part not in taken and used[part] == 1
        ]
        for path_parts in parts
    )
    return [names[0] if names else _whole(path) for names, path in zip(own, paths, strict=True)]


def _whole(path: str) -> str:
    """Return a path as a name that no other path has: it ends with a checksum."""
    return f"{_name(path)[-_MAX_NAME_LENGTH + 9 :].strip('-.')}-{zlib.crc32(os.fsencode(path)):08x}".lstrip(
        "-"
    )


def _name(text: str) -> str:
    """Return the text as a name in the vocabulary: letters, digits, ``.``, ``_`` and ``-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")


def _file_system(directory: str) -> tuple[int | None, str]:
    try:
        status = os.statvfs(directory)
        return status.f_blocks * status.f_frsize, file_system_at(directory)
    except OSError:
        return None, ""
