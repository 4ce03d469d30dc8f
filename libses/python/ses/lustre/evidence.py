"""Does a file on Lustre lie where its placement said?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ses.lustre import blob


def on_lustre(path: Path, record: dict[str, Any]) -> tuple[tuple[int, ...] | None, str | None, bool | None]:
    """Return the OSTs of a file, what to tell of them, and whether they are those of the record.

    All None where the file system is no Lustre, or the layout cannot be read; the last None where the
    record names a pool, or the file has no objects yet.
    """
    try:
        raw = blob.of_path(path)
        layout = None if raw is None else blob.read(raw)
    except (OSError, blob.LayoutError):
        return None, None, None
    if layout is None:
        return (), "no OST yet: it was never opened for writing", None
    pools = sorted({one.pool for one in layout.components if one.pool and one.osts})
    told = f"OST {', '.join(map(str, layout.osts))}" + (f", pool {', '.join(pools)}" if pools else "")
    targets = {str(one.get("target")) for one in record.get("elements") or [record]}
    first = next((one.osts for one in layout.components if one.kind != "mdt" and one.osts), ())
    if not first:
        return layout.osts, told, None
    if all(target.isdigit() for target in targets):
        return layout.osts, told, {str(ost) for ost in first} <= targets
    return layout.osts, told, bool(set(pools) & targets)
