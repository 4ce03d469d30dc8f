"""``ses layout``: where the bytes of a file are, as the file system reports it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ses.commands.examples import examples
from ses.commands.options import FileName, json_option
from ses.file_layout import layout_of
from ses.output import console, line, print_json, table


@click.command(epilog=examples("ses layout /lustre/alice/output.dat"))
@click.argument("file", type=FileName())
@json_option
def layout(file: Path, as_json: bool) -> None:
    """Show on which OSTs, pools and components (or which branch of a union) FILE lies.

    Of a directory, what it gives to new files.  Exits with 5 when there is no such file, or its
    file system does not say.
    """
    facts = layout_of(file)
    if as_json:
        print_json({"file": str(file), **facts})
        return
    out = console()
    line(out, str(file))
    if "branch" in facts:
        line(out, f"  branch     {facts['branch']}")
        return
    if facts["components"] is None:
        line(out, "  no layout: the file system chooses when it is first written")
        return
    line(out, f"  OSTs       {', '.join(map(str, facts['osts'])) or 'none yet'}")
    if facts["mirrors"] > 1:
        line(out, f"  mirrors    {facts['mirrors']}")
    headers = (">from", ">to", "kind", ">stripes", ">stripe size", "pool", "OSTs")
    table(out, headers, [_row(component) for component in facts["components"]])


def _row(component: dict[str, Any]) -> list[str]:
    asked = "any" if component["first_ost"] is None else f"from {component['first_ost']}"
    return [
        _size(component["start"]),
        "end" if component["end"] is None else _size(component["end"]),
        component["kind"],
        "all" if component["stripe_count"] is None else str(component["stripe_count"] or "default"),
        _size(component["stripe_size_bytes"]) if component["stripe_size_bytes"] else "default",
        component["pool"] or "-",
        ", ".join(map(str, component["osts"])) or ("-" if component["kind"] == "mdt" else asked),
    ]


def _size(size: int) -> str:
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
