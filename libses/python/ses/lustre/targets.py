"""The OSTs of a Lustre file system and their pools, put together from all that an ordinary user can read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ses.lustre.mounts import mount_of
from ses.lustre.parameters import Parameters
from ses.lustre.statfs import TargetStatfs, ask_targets

_CLIENT = re.compile(r"^(?P<target>.+-OST(?P<index>[0-9a-f]{4}))-osc-(?!MDT)[0-9a-f]+$")
_STATE = re.compile(r"^ *state: *(\w+)", re.MULTILINE)
_USABLE_STATES = ("FULL", "IDLE")
_NOT_PLACED = frozenset("DRNSI")


@dataclass(frozen=True, slots=True)
class Target:
    """One OST.  What could not be read is None (numbers, state) or empty."""

    index: int
    uuid: str
    server: str  # its current network address (NID)
    import_state: str | None  # FULL and IDLE are well
    active: bool
    answers: bool  # False: asked without waiting, its server did not answer
    flags: str  # D R N S I as `lfs df -v`; f: flash
    capacity_bytes: int | None
    available_bytes: int | None
    pools: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """True when new files may go there."""
        return (
            self.active
            and self.answers
            and self.import_state in (None, *_USABLE_STATES)
            and not _NOT_PLACED & set(self.flags)
        )


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A Lustre file system as one client sees it."""

    name: str
    mount_point: str
    version: str | None
    targets: tuple[Target, ...]
    pools: dict[str, tuple[int, ...]]  # also those without a member

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON; sizes in bytes."""
        return {
            "file_system": self.name,
            "mount_point": self.mount_point,
            "version": self.version,
            "targets": [{**asdict(target), "usable": target.usable} for target in self.targets],
            "pools": {name: list(members) for name, members in self.pools.items()},
        }


def _clients(parameters: Parameters, name: str) -> dict[int, tuple[str, str]]:
    """Index -> (name of the client's device, name of the OST); the first client of each."""
    clients: dict[int, tuple[str, str]] = {}
    for device in parameters.names("osc"):
        match = _CLIENT.match(device)
        if match and match["target"].startswith(f"{name}-OST"):
            clients.setdefault(int(match["index"], 16), (device, match["target"]))
    return clients


def pools_of(parameters: Parameters, name: str) -> dict[str, tuple[int, ...]]:
    """Return the OSTs of each pool of the file system ``name``; any user can read them."""
    member = re.compile(rf"^{re.escape(name)}-OST([0-9a-f]{{4}})_UUID$", re.MULTILINE)
    for device in parameters.names("lov"):
        if device.startswith(f"{name}-clilov"):
            return {
                pool: tuple(sorted(int(number, 16) for number in member.findall(text)))
                for pool, text in parameters.entries("lov", device, "pools")
            }
    return {}


def _number(text: str | None, unit: int) -> int | None:
    return int(text) * unit if text is not None and text.isdigit() else None


def _inactive(parameters: Parameters, name: str) -> set[int]:
    indexes: set[int] = set()
    for device in parameters.names("lov"):
        if device.startswith(f"{name}-clilov"):
            text = parameters.value("lov", device, "target_obd") or ""
            indexes.update(int(index) for index in re.findall(r"^(\d+): \S+ INACTIVE", text, re.MULTILINE))
    return indexes


def gather(
    name: str, mount_point: str, parameters: Parameters, asked: Iterable[TargetStatfs] = ()
) -> FileSystem:
    """Return the file system ``name``: parameters, and over them what the client answered."""
    clients, pools, spaces = (
        _clients(parameters, name),
        pools_of(parameters, name),
        {target.index: target for target in asked},
    )
    inactive = _inactive(parameters, name)
    targets = []
    for index in sorted(clients.keys() | spaces.keys()):
        device, target = clients.get(index, ("", f"{name}-OST{index:04x}"))
        space = spaces.get(index)

        def read(parameter: str, device: str = device) -> str | None:
            return parameters.value("osc", device, parameter) if device else None

        state = _STATE.search(read("import") or "")
        server = (read("ost_conn_uuid") or "").replace("<none>", "")
        flags = space.flags if space and space.answers else read("statfs_state") or ""
        capacity = space.capacity_bytes if space and space.answers else _number(read("kbytestotal"), 1024)
        available = space.available_bytes if space and space.answers else _number(read("kbytesavail"), 1024)
        targets.append(
            Target(
                index=index,
                uuid=space.uuid if space and space.uuid else f"{target}_UUID",
                server=server,
                import_state=state[1] if state else None,
                active=read("active") != "0" and index not in inactive,
                answers=space is None or space.answers,
                flags=flags,
                capacity_bytes=capacity,
                available_bytes=available,
                pools=tuple(pool for pool, members in pools.items() if index in members),
            )
        )
    return FileSystem(name, mount_point, parameters.value("", "", "version"), tuple(targets), pools)


def mounted_at(path: Path) -> FileSystem:
    """Return the file system that a path lies on, as this node mounts it; raises NotFoundError."""
    mount = mount_of(path)
    return gather(mount.file_system, mount.mount_point, Parameters(), ask_targets(Path(mount.mount_point)))
