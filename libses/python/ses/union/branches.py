"""The branches of a mergerfs union, and their description for the knowledge base.

Says what was seen and nothing else: rates, tiers and labels are for an administrator to add.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError

from ses.literal import literal

_BRANCHES = "user.mergerfs.branches"
_STATES = {"RW": "Active", "RO": "ReadOnly", "NC": "Draining"}
_LONGEST_NAME = 31
_HEAD = """\
# The union at {mount_literal}, as seen from {server_literal}.  Add nominal rates
# (qsm:nominalReadRate, qsm:nominalWriteRate) where they are known; see the vocabulary.
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@base <https://w3id.org/qstorman/site/> .

<{name}/union> a qsm:MergerfsUnion ;
    rdfs:label "Union {name}"@en ;
    qsm:name "{name}" ;
    qsm:mountPoint {mount_literal} .

<{name}/server> a qsm:Server ; qsm:name {server_literal} .
"""


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: its directory, RW, RO or NC (no new files), and its size in bytes where it can be asked."""

    name: str
    directory: str
    mode: str
    capacity_bytes: int | None

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
        return {
            "name": self.name,
            "mount_point": self.mount_point,
            "server": self.server,
            "branches": [
                {
                    "name": one.name,
                    "directory": one.directory,
                    "mode": one.mode,
                    "capacity_bytes": one.capacity_bytes,
                }
                for one in self.branches
            ],
        }


def look(mount: Path) -> Union:
    """Return the union mounted at a directory.  Raises NotFoundError when there is none."""
    mount = mount.absolute()
    try:
        listed = os.getxattr(mount / ".mergerfs", _BRANCHES).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise NotFoundError(
            f"{mount} is not the mount point of a mergerfs union ({error.strerror})."
        ) from error
    return Union(_name(mount.name) or "union", str(mount), socket.gethostname(), _branches(listed))


def turtle(union: Union) -> str:
    """Return the description; every branch is an element, served by this machine."""
    head = _HEAD.format(
        name=union.name,
        mount_literal=literal(union.mount_point),
        server_literal=literal(union.server),
    )
    return "\n".join([head, *(_element(union, one) for one in union.branches)])


def _element(union: Union, branch: Branch) -> str:
    facts = [
        f'qsm:name "{branch.name}"',
        f"qsm:elementOf <{union.name}/union>",
        f"qsm:servedBy <{union.name}/server>",
        f"qsm:target {literal(branch.directory)}",
        f"qsm:state qsm:{branch.state}",
    ]
    if branch.capacity_bytes:
        facts.append(
            f"qsm:capacity [ a qudt:QuantityValue ; qudt:numericValue {branch.capacity_bytes / 2**20:.6e} ; "
            "qudt:hasUnit unit:MebiBYTE ]"
        )
    return f"<{union.name}/{branch.name}> a qsm:Branch ;\n    " + " ;\n    ".join(facts) + " .\n"


def _branches(listed: str) -> tuple[Branch, ...]:
    found: list[Branch] = []
    for one in filter(None, listed.split(":")):
        directory, _, options = one.partition("=")
        taken = {branch.name for branch in found} | {"union", "server"}
        found.append(
            Branch(
                _unlike(_name(Path(directory).name), taken),
                directory,
                options.split(",")[0] or "RW",
                _size(directory),
            )
        )
    return tuple(found)


def _unlike(wanted: str, taken: set[str]) -> str:
    """Return the name, with a number behind it when it is taken."""
    number, name = 2, (wanted or "branch")[:_LONGEST_NAME]
    while name in taken:
        ending = f"-{number}"
        name, number = (wanted or "branch")[: _LONGEST_NAME - len(ending)] + ending, number + 1
    return name


def _name(text: str) -> str:
    """Return the text as a name in the vocabulary: letters, digits, ``.``, ``_`` and ``-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")


def _size(directory: str) -> int | None:
    try:
        found = os.statvfs(directory)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize
