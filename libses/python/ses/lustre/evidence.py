"""Does a file on Lustre lie where its placement put it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError

from ses.lustre import blob
from ses.lustre.mounts import mount_of
from ses.lustre.parameters import Parameters
from ses.lustre.targets import pools_of

Pools = Mapping[str, tuple[int, ...]]  # the OSTs of each


def pools_at(path: Path) -> Pools:
    """Return the pools of the Lustre that holds a path; none where this machine's client shows none."""
    try:
        return pools_of(Parameters(), mount_of(path).file_system)
    except (NotFoundError, OSError):
        return {}


def on_lustre(
    path: Path, record: dict[str, Any], pools_at: Callable[[Path], Pools] = pools_at
) -> tuple[tuple[int, ...] | None, str | None, bool | None]:
    """Return the OSTs of a file, what to print of them, and whether they are those of the record.

    All None where the file system is no Lustre, or the layout cannot be read; the last None where the
    file has no objects yet, or the members of the record's pool cannot be read: the name of a pool in a
    layout proves nothing.
    """
    try:
        raw = blob.of_path(path)
        layout = None if raw is None else blob.read(raw)
    except (OSError, blob.LayoutError):
        return None, None, None
    if layout is None:
        return (), "no OST yet: it was never opened for writing", None
    pools = sorted({component.pool for component in layout.components if component.pool and component.osts})
    detail = f"OST {', '.join(map(str, layout.osts))}" + (f", pool {', '.join(pools)}" if pools else "")
    targets = {str(element.get("target")) for element in record.get("elements") or [record]}
    first = next(
        (component.osts for component in layout.components if component.kind != "mdt" and component.osts), ()
    )
    if not first:
        return layout.osts, detail, None
    if all(target.isdigit() for target in targets):
        return layout.osts, detail, {str(ost) for ost in first} <= targets
    known = pools_at(path)
    if not targets <= known.keys():
        return layout.osts, detail, None
    return layout.osts, detail, set(first) <= {ost for target in targets for ost in known[target]}
