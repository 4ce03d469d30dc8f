"""``ses explain FILE``: where a file is, and why."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console

from ses.answers import Placement, parse
from ses.basepath import basepath, same_directory
from ses.commands.decision import show_candidates, show_refused, show_requirements
from ses.commands.options import service_command
from ses.errors import NotFoundError
from ses.output import console, line, print_json
from ses.service import JSON, ServiceClient


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@service_command
def explain(client: ServiceClient, as_json: bool, file: Path) -> None:
    """Say which element was chosen for FILE, why, what was refused, and where the bytes are.

    Exits with 5 when the service knows no placement of that name (the file was not created under
    the library, or long ago), and with 1 when the bytes are not on the chosen element.
    """
    path = Path(os.path.realpath(file))
    record = _record(client, path)
    lies_in, exists = _lies_in(path)
    if record is None:
        raise NotFoundError(_unknown(file, lies_in, exists))
    placement = parse("the placement", Placement.of, record)
    verified = None
    if lies_in is not None and placement.target:
        verified = same_directory(lies_in, placement.target)
    if as_json:
        print_json({"file": str(path), "exists": exists, "basepath": lies_in, "verified": verified,
                    "placement": record})  # fmt: skip
    else:
        _show(console(), path, placement, lies_in, exists, verified)
    if verified is False:
        raise SystemExit(1)


def _record(client: ServiceClient, path: Path) -> JSON | None:
    listed = client.placements(path=str(path), limit=1)
    found = parse("placements", lambda data: list(data["placements"]), listed)
    if not found:
        return None
    return client.placement(parse("placements", lambda data: str(data["placement_id"]), found[0]))


def _lies_in(path: Path) -> tuple[str | None, bool]:
    try:
        return basepath(path), True
    except OSError:
        return None, False


def _unknown(file: Path, lies_in: str | None, exists: bool) -> str:
    if not exists:
        return f"There is no file {file}, and the service knows no placement of that name."
    where = f" Its bytes are in {lies_in}." if lies_in else ""
    return (
        f"The service knows no placement of {file}: it was not created under the library, or the "
        f"service was started after that.{where}"
    )


def _show(
    out: Console, path: Path, placement: Placement, lies_in: str | None, exists: bool, verified: bool | None
) -> None:
    who = placement.user + (f":{placement.application}" if placement.application else "")
    line(out, f"{path}")
    line(out, f"  created by   {who}")
    line(out, f"  chosen       {placement.element}, distance {placement.distance:.3f}")
    promised = ", ".join(
        f"{one.kind} {'unknown' if one.value is None else f'{one.value:g}'} {one.unit}"
        for one in placement.predicted
    )
    line(out, f"  predicted    {promised or 'nothing was asked for'}")
    state = placement.state + (f" ({placement.end_reason})" if placement.end_reason else "")
    line(out, f"  placement    {placement.placement_id}, {state}")
    if not exists:
        line(out, "  bytes        the file is gone")
    elif lies_in is None:
        line(out, "  bytes        not on a mergerfs union: the file system does not say")
    elif verified:
        line(out, f"  bytes        {lies_in}, as chosen", "green")
    else:
        line(out, f"  bytes        {lies_in}, NOT as chosen ({placement.target})", "red")
    show_requirements(out, placement.requirements, "Requirements")
    if placement.candidates:
        show_candidates(out, placement.candidates)
    show_refused(out, placement.refused)
