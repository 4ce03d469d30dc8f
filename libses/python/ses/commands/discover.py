"""``ses discover``: what a storage system is made of, and its description for the knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click
from rich.console import Console
from ses_client.errors import NotFoundError, UsageError

from ses.commands.examples import examples
from ses.commands.options import Existing, json_option
from ses.lustre.description import turtle
from ses.lustre.parameters import Parameters
from ses.lustre.targets import FileSystem, gather, mounted_at
from ses.output import console, line, print_json, say, table, write_file
from ses.place.described import DIRECTORIES, DirectorySet
from ses.place.described import look as directory_set
from ses.place.described import turtle as set_turtle
from ses.slurm.description import turtle as nodes_turtle
from ses.slurm.nodes import Cluster
from ses.slurm.nodes import look as look_at_nodes
from ses.union.branches import Union, look
from ses.union.branches import turtle as union_turtle
from ses.union.unmounted import check_mounted, on_the_root


class _Discovered(Protocol):
    def as_json(self) -> dict[str, Any]: ...


Discovered = TypeVar("Discovered", bound=_Discovered)


@click.command(
    epilog=examples(
        "ses discover --mergerfs /srv/union",
        "ses discover --lustre /lustre --turtle site.ttl",
        "ses discover --directories /scratch1 /scratch2 --name scratch",
    )
)
@click.option(
    "--lustre", "path", type=click.Path(path_type=Path), metavar="MOUNT",
    help="A directory on the Lustre file system.",
)  # fmt: skip
@click.option(
    "--mergerfs", "union", type=click.Path(path_type=Path), metavar="MOUNT",
    help="The mount point of a mergerfs union.",
)  # fmt: skip
@click.option(
    "--directories", "first", multiple=True, metavar="DIR", help="Directories of one set; others follow."
)
@click.argument("others", metavar="[DIR]...", nargs=-1)
@click.option("--name", metavar="NAME", help="With --directories: the name of the set.  [directories]")
@click.option("--slurm", is_flag=True, help="Nodes with the same features behind the same switch.")
@click.option(
    "--turtle", "written", metavar="FILE",
    help="Write the description for the knowledge base to this file (-: standard output, and nothing else).",
)  # fmt: skip
@click.option(
    "--parameters", "root", metavar="DIRECTORY", type=Existing(),
    help="Read proc and sys below this copy of a client's, with the file system's name as MOUNT.",
)  # fmt: skip
@json_option
def discover(
    path: Path | None,
    union: Path | None,
    first: tuple[str, ...],
    others: tuple[str, ...],
    name: str | None,
    slurm: bool,
    written: str | None,
    root: Path | None,
    as_json: bool,
) -> None:
    """List the OSTs of a Lustre, the branches of a union, directories, or the classes of Slurm's nodes.

    Needs no rights; what only root may read (whether a server is connected) is shown as unknown to
    others.  ses kb import --discovered FILE merges what --turtle wrote into the knowledge base, and keeps
    what people changed there; of nodes, ses kb import --merge FILE (docs/nodes.md).  Exits with 5
    when there is nothing.
    """
    if [path is not None, union is not None, bool(first), slurm].count(True) != 1:
        raise UsageError("Give one of --lustre MOUNT, --mergerfs MOUNT, --directories DIR... and --slurm.")
    if not first and (others or name is not None):
        raise UsageError(f"{others[0] if others else '--name'} goes with --directories.")
    if root is not None and path is None:
        raise UsageError("--parameters goes with --lustre.")
    where = written, as_json
    if slurm:
        _put_out(look_at_nodes(), nodes_turtle, _show_nodes, *where)
    elif first:
        _put_out(directory_set(name or DIRECTORIES, [*first, *others]), set_turtle, _show_set, *where)
    elif union is not None:
        _put_out(_union(union, written), union_turtle, _show_union, *where)
    elif path is not None:
        _put_out(_lustre(path, root), turtle, _show_lustre, *where)


def _put_out(
    discovered: Discovered,
    describe: Callable[[Discovered], str],
    show: Callable[[Console, Discovered], None],
    written: str | None,
    as_json: bool,
) -> None:
    """Write the description where it was asked for; print what was found, but beside one that is printed."""
    if written == "-":
        click.echo(describe(discovered), nl=False)
        return
    if written is not None:
        write_file(Path(written), describe(discovered))
    if as_json:
        print_json(discovered.as_json())
    else:
        show(console(), discovered)


def _show_nodes(out: Console, cluster: Cluster) -> None:
    line(out, f"Slurm's cluster {cluster.name}")
    rows = [
        [
            node_class.name,
            node_class.nodes,
            str(node_class.count),
            ", ".join(node_class.features) or "-",
            node_class.uplink or "-",
        ]
        for node_class in cluster.classes
    ]
    table(out, ("class", "nodes", ">count", "features", "uplink"), rows)


def _union(mount: Path, written: str | None) -> Union:
    union = look(mount)
    branches = [branch.directory for branch in union.branches]
    for cause, step in on_the_root(branches):
        say(f"Warning: {cause} {step}", err=True)
    if written:
        check_mounted(branches)
    return union


def _show_union(out: Console, union: Union) -> None:
    line(out, f"{union.name} at {union.mount_point}, a mergerfs union on {union.server}")
    rows = [
        [branch.name, branch.mode, branch.state, _gb(branch.capacity_bytes), branch.directory]
        for branch in union.branches
    ]
    table(out, ("branch", "mode", "state", ">capacity GB", "directory"), rows)


def _show_set(out: Console, directory_set: DirectorySet) -> None:
    line(out, f"{directory_set.name}, a set of {len(directory_set.directories)} directories")
    rows = [
        [
            directory.name,
            directory.server,
            directory.device or "-",
            directory.file_system,
            _gb(directory.capacity_bytes),
            directory.directory,
        ]
        for directory in directory_set.directories
    ]
    table(out, ("element", "server", "device", "file system", ">capacity GB", "directory"), rows)


def _lustre(path: Path, root: Path | None) -> FileSystem:
    system = mounted_at(path) if root is None else gather(path.name, str(path), Parameters(root))
    if not system.targets:
        raise NotFoundError(
            f"No OST of {system.name} can be seen from here. Is the file system mounted on this node?"
        )
    return system


def _show_lustre(out: Console, system: FileSystem) -> None:
    line(out, f"{system.name} at {system.mount_point}, Lustre {system.version or 'of unknown version'}")
    headers = ("OST", "use", "state", "flags", ">capacity GB", ">available GB", "server", "pools")
    rows = [
        [
            f"{target.index}",
            "yes" if target.usable else "no",
            ("inactive" if not target.active else "no answer" if not target.answers else target.import_state)
            or "?",
            target.flags or "-",
            _gb(target.capacity_bytes),
            _gb(target.available_bytes),
            target.server or "-",
            ", ".join(target.pools) or "-",
        ]
        for target in system.targets
    ]
    table(out, headers, rows)
    empty = sorted(name for name, members in system.pools.items() if not members)
    if empty:
        line(out, f"Pools without a member, which Lustre takes for the whole file system: {', '.join(empty)}")


def _gb(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e9:.1f}"
