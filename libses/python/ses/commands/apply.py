"""``ses apply``: let a directory's default layout, or a union's own choice, follow what is asked now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, SesError
from ses_client.messages.elements import Element
from ses_client.messages.requirements import Subject

from ses.amounts import Size
from ses.commands.examples import examples
from ses.commands.options import Existing, Number, service_command, subject_options
from ses.file_layout import layout_of
from ses.lustre import applied, blob
from ses.lustre.evidence import pools_at
from ses.output import console, line, print_json
from ses.union.apply import EVERY_SECONDS, is_union, steer, undo_union
from ses.union.steering import Floor

_EVERY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Place:
    """Where new files shall go: a pool, or else one OST as a hint."""

    element: str
    pool: str
    first_ost: int | None

    def __str__(self) -> str:
        return f"pool {self.pool}" if self.pool else f"OST {self.first_ost}"


@click.command(
    epilog=examples(
        "ses apply /lustre/alice/results",
        "ses apply /lustre/alice/results --undo",
        "ses apply /srv/union --watch --least-branches 3",
    )
)
@click.argument("directory", type=Existing(file_okay=False))
@click.option("--watch", is_flag=True, help="Go on, and change it when the choice changes, until Ctrl-C.")
@click.option(
    "--every", type=Number(0.1, 86400),
    help="Seconds between two looks with --watch. [60; of a union 0.2]",
)  # fmt: skip
@click.option("--undo", is_flag=True, help="Give the directory or the union back what it had before.")
@click.option(
    "--least-branches", type=click.IntRange(1), default=2, show_default=True, metavar="N",
    help="Of a union: at least so many branches stay in its choice.",
)  # fmt: skip
@click.option(
    "--least-free", type=Size(zero=True), default="10GB", show_default=True, metavar="SIZE",
    help="Of a union: at least so much room stays in its choice, on all branches together.",
)  # fmt: skip
@subject_options
@service_command
def apply(
    client: ServiceClient,
    as_json: bool,
    directory: Path,
    watch: bool,
    every: float | None,
    undo: bool,
    least_branches: int,
    least_free: int,
    subject: Subject,
) -> None:
    """Set a Lustre DIRECTORY's default, or steer a mergerfs union, to where files are served best now.

    It holds for files created later, by any program on any node, also those that no library reaches,
    and costs them nothing. On Lustre, subdirectories made later take a copy. The element's pool is
    written where it has one, else the OST as a hint. Of a union (DIRECTORY is its mount point),
    branches that are overloaded, slow, full or take no files are out of its own choice until they
    are better; its policy, and all else the administrator set, stays. That takes root and --watch on
    the node that mounts it; without, it only shows what would be held back. --undo, and the end of
    --watch, put back what was there before. Exits with 5 when the site describes neither there, or
    no element is left.
    """
    if is_union(directory):
        if undo:
            undo_union(directory, as_json)
        else:
            floor = Floor(least_branches, least_free)
            steer(client, directory, subject, floor, (every or EVERY_SECONDS) if watch else None, as_json)
        return
    if undo:
        _report(directory, _undo(directory), as_json)
        return
    _report(directory, _apply(client, directory, subject), as_json)
    if not watch:
        return
    try:
        while True:
            time.sleep(every or _EVERY_SECONDS)
            try:
                changed = _apply(client, directory, subject)
            except SesError as error:  # the choice of before stays until there is another
                line(console(), f"not looked at: {error}", "yellow")
                continue
            if changed["before"] != changed["after"]:
                _report(directory, changed, as_json)
    except KeyboardInterrupt:
        _report(directory, _undo(directory), as_json)


def _apply(client: ServiceClient, directory: Path, subject: Subject) -> dict[str, Any]:
    elements = client.elements().elements
    system, root = _system_of(directory, elements)
    place = _choose(client, elements, system, subject)
    shown = layout_of(directory)
    kept = applied.recall(directory)
    effective = blob.of_path(directory)
    if kept is not None and effective == kept.now:
        before, base = kept.before, kept.before if kept.before is not None else blob.of_path(root)
    else:
        before, base = applied.own_default(directory, root), effective
    if place.first_ost is not None and (pool := applied.pool_of_root(directory, root)):
        raise SesError(
            f"The default of {directory} is left as it is: {place} would be combined with pool {pool} of the "
            "root's default. Put the OST into a pool that the site describes."
        )
    pools = pools_at(directory)
    if place.pool and pools and not pools.get(place.pool):
        raise SesError(
            f"The default of {directory} is left as it is: this node's client shows no OST of pool "
            f"{place.pool}, and Lustre would take any. Mend the pool, or the site's description of it."
        )
    try:
        now = blob.with_place(base or b"", pool=place.pool, first_ost=place.first_ost)
    except blob.LayoutError as error:
        raise SesError(f"The default of {directory} is left as it is: {error}.") from None
    if now != effective:
        applied.remember(directory, applied.Applied(str(directory.resolve()), before, now))
        _set(directory, now)
        applied.remember(
            directory, applied.Applied(str(directory.resolve()), before, blob.of_path(directory) or now)
        )
    return {"element": place.element, "place": str(place), "before": shown, "after": layout_of(directory)}


def _undo(directory: Path) -> dict[str, Any]:
    kept = applied.recall(directory)
    if kept is None:
        raise NotFoundError(f"Nothing was applied to {directory} by you on this node, or it is undone.")
    shown = layout_of(directory)
    if blob.of_path(directory) != kept.now:
        applied.forget(directory)
        raise SesError(
            f"The default of {directory} was changed by somebody else since: it stays as it is now."
        )
    _set(directory, kept.before)
    applied.forget(directory)
    return {"element": None, "place": "as before", "before": shown, "after": layout_of(directory)}


def _set(directory: Path, layout: bytes | None) -> None:
    try:
        applied.set_default(directory, layout)
    except OSError as error:
        raise SesError(
            f"The default of {directory} cannot be set: {error.strerror}. It takes its owner or root."
        ) from None


def _system_of(directory: Path, elements: Sequence[Element]) -> tuple[str, Path]:
    """The Lustre that the site describes and that holds the directory, and where it is mounted."""
    device = directory.stat().st_dev
    for element in elements:
        if element.backend != "lustre":
            continue
        try:
            if Path(element.mount_point).stat().st_dev == device:
                return element.storage_system, Path(element.mount_point)
        except OSError:
            continue
    raise NotFoundError(f"{directory} lies on no Lustre file system that the site describes.")


def _choose(client: ServiceClient, elements: Sequence[Element], system: str, subject: Subject) -> _Place:
    ranked = client.select(subject, storage_system=system, limit=1).candidates
    if not ranked:
        raise NotFoundError(f"No element of {system} is left for these requirements.")
    chosen = ranked[0].element
    facts = next((element for element in elements if element.id == chosen), None)
    if facts is None:
        raise SesError(f"The service chose {chosen} and does not list it; try again.")
    if not facts.target.isdigit():
        return _Place(chosen, facts.target, None)
    return _Place(chosen, facts.pool or "", None if facts.pool else int(facts.target))


def _report(directory: Path, changed: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({"directory": str(directory), **changed})
        return
    out = console()
    line(out, f"{directory}: {changed['place']}" + (f" ({changed['element']})" if changed["element"] else ""))
    line(out, f"  before  {_layout_words(changed['before'])}")
    line(out, f"  now     {_layout_words(changed['after'])}")


def _layout_words(layout: dict[str, Any]) -> str:
    if layout["components"] is None:
        return "no default but the file system's own"
    return "; ".join(
        f"{component['kind']}"
        + (f", pool {component['pool']}" if component["pool"] else "")
        + (f", first OST {component['first_ost']}" if component["first_ost"] is not None else "")
        + f", {_count_words(component['stripe_count'])} stripes"
        for component in layout["components"]
    )


def _count_words(stripe_count: int | None) -> str:
    return "all" if stripe_count is None else str(stripe_count or "default")
