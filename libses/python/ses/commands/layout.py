"""``ses layout``: where the bytes of a file are, as the file system says."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import click

from ses.basepath import basepath
from ses.commands.options import json_option
from ses.errors import NotFoundError, SesError
from ses.lustre import blob
from ses.output import console, line, print_json, table


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def layout(file: Path, as_json: bool) -> None:
    """Show on which OSTs, pools and components (or which branch of a union) FILE lies.

    Of a directory, what it gives to new files.  Exits with 5 when there is no such file, or its
    file system does not say.
    """
    found = layout_of(file)
    if as_json:
        print_json({"file": str(file), **found})
        return
    out = console()
    line(out, str(file))
    if "branch" in found:
        line(out, f"  branch     {found['branch']}")
        return
    if found["components"] is None:
        line(out, "  no layout: the file system chooses when it is first written")
        return
    line(out, f"  OSTs       {', '.join(map(str, found['osts'])) or 'none yet'}")
    if found["mirrors"] > 1:
        line(out, f"  mirrors    {found['mirrors']}")
    headers = (">from", ">to", "kind", ">stripes", ">stripe size", "pool", "OSTs")
    table(out, headers, [_row(one) for one in found["components"]])


def layout_of(file: Path) -> dict[str, Any]:
    """Return the layout of a file as JSON: ``branch``, or ``osts``, ``mirrors`` and ``components``.

    Raises NotFoundError, and SesError when the layout cannot be read or understood.
    """
    try:
        branch = basepath(file)
        if branch is not None:
            return {"branch": branch}
        raw = blob.of_path(file)
        if raw is None:
            return {"osts": [], "mirrors": 1, "components": None}
        read = blob.read(raw)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {file}.") from None
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENODATA):
            raise NotFoundError(f"The file system of {file} does not say where files lie.") from None
        raise SesError(f"The layout of {file} cannot be read: {error.strerror}.") from None
    except blob.LayoutError as error:
        raise SesError(f"The layout of {file} is not understood: {error}.") from None
    components = [
        {
            "start": one.start,
            "end": None if one.end == blob.EOF else one.end,
            "kind": one.kind,
            "stripe_count": None if one.stripe_count == blob.ALL_OSTS else one.stripe_count,
            "stripe_size_bytes": one.stripe_size,
            "first_ost": None if one.stripe_offset == blob.ANY_OST else one.stripe_offset,
            "pool": one.pool or None,
            "osts": list(one.osts) if one.kind != "mdt" else [],
        }
        for one in read.components
    ]
    return {"osts": list(read.osts), "mirrors": read.mirrors, "components": components}


def _row(one: dict[str, Any]) -> list[str]:
    wish = "any" if one["first_ost"] is None else f"from {one['first_ost']}"
    return [
        _size(one["start"]),
        "end" if one["end"] is None else _size(one["end"]),
        one["kind"],
        "all" if one["stripe_count"] is None else str(one["stripe_count"] or "default"),
        _size(one["stripe_size_bytes"]) if one["stripe_size_bytes"] else "default",
        one["pool"] or "-",
        ", ".join(map(str, one["osts"])) or ("-" if one["kind"] == "mdt" else wish),
    ]


def _size(size: int) -> str:
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
