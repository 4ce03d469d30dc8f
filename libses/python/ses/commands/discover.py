"""``ses discover``: what a storage system is made of, and its description for the knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from ses.commands.options import json_option
from ses.errors import NotFoundError
from ses.lustre.description import turtle
from ses.lustre.mounts import mount_of
from ses.lustre.parameters import Parameters
from ses.lustre.statfs import ask_targets
from ses.lustre.targets import FileSystem, gather
from ses.output import console, line, print_json, table


@click.command()
@click.option(
    "--lustre", "path", required=True, type=click.Path(path_type=Path), metavar="MOUNT",
    help="A directory on the Lustre file system.",
)  # fmt: skip
@click.option(
    "--turtle", "written", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the description of the site to this file.",
)  # fmt: skip
@click.option(
    "--parameters", "root", metavar="DIRECTORY", type=click.Path(path_type=Path, exists=True),
    help="Read proc and sys below this copy of a client's, with the file system's name as MOUNT.",
)  # fmt: skip
@json_option
def discover(path: Path, written: Path | None, root: Path | None, as_json: bool) -> None:
    """List the OSTs of a Lustre file system with capacity, state, server and pools.

    Needs no rights; what only root may read (whether a server is connected) is shown as unknown to
    others.  Exits with 5 when MOUNT is not on Lustre.
    """
    system = _copied(path, root) if root is not None else _mounted(path)
    if not system.targets:
        raise NotFoundError(
            f"No OST of {system.name} can be seen from here. Is the file system mounted on this node?"
        )
    if written is not None:
        written.write_text(turtle(system), "utf-8")
    if as_json:
        print_json(system.as_json())
    else:
        _show(system)


def _mounted(path: Path) -> FileSystem:
    mount = mount_of(path)
    return gather(mount.file_system, mount.mount_point, Parameters(), ask_targets(Path(mount.mount_point)))


def _copied(path: Path, root: Path) -> FileSystem:
    return gather(path.name, str(path), Parameters(root))


def _show(system: FileSystem) -> None:
    out = console()
    line(out, f"{system.name} at {system.mount_point}, Lustre {system.version or 'of unknown version'}")
    headers = ("OST", "use", "state", "flags", ">capacity GB", ">available GB", "server", "pools")
    rows = [
        [
            f"{one.index}",
            "yes" if one.usable else "no",
            ("inactive" if not one.active else "no answer" if not one.answers else one.import_state) or "?",
            one.flags or "-",
            _gb(one.capacity_bytes),
            _gb(one.available_bytes),
            one.server or "-",
            ", ".join(one.pools) or "-",
        ]
        for one in system.targets
    ]
    table(out, headers, rows)
    empty = sorted(name for name, members in system.pools.items() if not members)
    if empty:
        line(out, f"Pools without a member, which Lustre takes for the whole file system: {', '.join(empty)}")


def _gb(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e9:.1f}"
