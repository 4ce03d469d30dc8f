"""``ses explain FILE``: where a file is, and why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import localtime, sleep, strftime, time

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, NotFoundError, RefusedError
from ses_client.messages.files import Received
from ses_client.messages.selections import PlacementRecord, Prediction
from ses_client.visible import on_one_line

from ses.basepath import basepath, same_directory
from ses.commands.decision import called, show_candidates, show_refused, show_requirements
from ses.commands.examples import examples
from ses.commands.options import FileName, service_command, wide_option
from ses.evidence import CLOCKS_SECONDS, Match, judge
from ses.files import received_by, verdict_lines
from ses.identity import FileIdentity, identify
from ses.lustre.evidence import on_lustre
from ses.managed import outside
from ses.output import console, line, number, print_json

_LOOKED_AT = 50
_ANNOUNCED_SECONDS, _ASK_AGAIN_SECONDS = 2.0, 0.1  # a node reports a file some tenths of a second late
_OR_CLOCKS = f"or the clocks of node and service are more than {CLOCKS_SECONDS:g} s apart"


@click.command(epilog=examples("ses explain /srv/union/alice/output.dat"))
@click.argument("file", type=FileName())
@wide_option
@service_command
def explain(client: ServiceClient, as_json: bool, file: Path, wide: bool) -> None:
    """Say which element was chosen for FILE, why, what was refused, and where the bytes are.

    FILE may be a directory of ses place: what was asked, promised and received is shown.

    A file that was renamed is found, too; where it is not certain that the placement is this
    file's, the answer says so.  Exits with 5 when the service knows no placement of it (the file
    is outside managed storage, or was not created under the library) or keeps no explanation any
    more (what ses files knows is shown then), and with 1 when the bytes are not on the chosen
    element; a file that took the name of the one placed may lie anywhere.
    """
    path = Path(os.path.realpath(file))
    if path.is_dir() or not path.exists():
        from ses.commands.place.explaining import explain_place

        if explain_place(client, path, as_json=as_json, wide=wide):
            return
    identity = identify(path)
    nearest, mismatch = _find(client, path, identity)
    lies_in, exists = _lies_in(path)
    if nearest is None and exists and (why := outside(client, path)) and not mismatch:
        raise NotFoundError(why)
    while (nearest is None or nearest.doubt) and _may_still_be_announced(identity):
        sleep(_ASK_AGAIN_SECONDS)
        nearest, mismatch = _find(client, path, identity)
    if nearest is None:
        why = _still_known(client, path) or _unknown(file, path, lies_in, exists) + mismatch
        raise NotFoundError(why)
    placement = client.placement(nearest.placement_id)
    received = received_by(client, nearest.placement_id)
    verified = None
    osts: tuple[int, ...] | None = None
    if lies_in is not None and placement.target:
        verified = same_directory(lies_in, placement.target)
    elif exists and lies_in is None:
        osts, lies_in, verified = on_lustre(path, placement)
    if nearest.other:
        verified = None  # where the other file went says nothing of this one
    if as_json:
        print_json({"file": str(path), "exists": exists, "basepath": None if osts is not None else lies_in,
                    "osts": None if osts is None else list(osts), "verified": verified,
                    "doubt": nearest.doubt or None, "placement": placement,
                    "received": None if received is None else received})  # fmt: skip
    else:
        _show(console(wide=wide), path, nearest, placement, lies_in, exists, verified, received)
    if verified is False:
        raise SystemExit(1)


@dataclass(frozen=True, slots=True)
class _Nearest:
    """The placement that goes best with the file, and what speaks against it.

    ``other``: that is certain: the file that was placed is another one, which had this name.
    """

    placement_id: str
    doubt: str
    other: bool = False


def _find(client: ServiceClient, path: Path, file: FileIdentity | None) -> tuple[_Nearest | None, str]:
    """Ask by the file's numbers, then by its name; without a result, return what nearly was one.

    By its name a file is found even when it is another one than the one placed: people ask for
    names, and the answer says what is in doubt.
    """
    mismatch = ""
    if file is not None:
        for placement in client.placements(device=file.device, inode=str(file.inode), limit=_LOOKED_AT):
            judged = judge(placement, path, file)
            if judged.match is not Match.OTHER:
                return _Nearest(placement.placement_id, judged.why), ""
            path_then = f" ({on_one_line(placement.path)})" if placement.path else ""
            mismatch = mismatch or (
                f" The file of placement {placement.placement_id}{path_then} had the same inode number, but "
                f"{judged.why}: it was another file, {_OR_CLOCKS}."
            )
    named = [
        (placement, judge(placement, path, file))
        for placement in client.placements(path=str(path), limit=_LOOKED_AT)
    ]
    for placement, judged in named:
        if judged.match is not Match.OTHER:
            return _Nearest(placement.placement_id, judged.why), ""
    if named:
        placement, judged = named[0]
        doubt = f"{judged.why}: it was replaced or copied since, {_OR_CLOCKS}"
        return _Nearest(placement.placement_id, doubt, other=True), ""
    return None, mismatch


def _lies_in(path: Path) -> tuple[str | None, bool]:
    try:
        return basepath(path), True
    except OSError:
        return None, False


def _may_still_be_announced(file: FileIdentity | None) -> bool:
    if file is None:
        return False
    return 0 <= time() - (file.changed if file.born is None else file.born) < _ANNOUNCED_SECONDS


def _unknown(file: Path, path: Path, lies_in: str | None, exists: bool) -> str:
    if not exists:
        return f"There is no file {file}, and the service knows no placement of that name."
    if path.is_dir():
        return f"{file} is a directory. Files are placed; ses layout says where a directory lies."
    where = f" Its bytes are in {lies_in}." if lies_in else ""
    return (
        f"The service knows no placement of {file}: it was not created under the library, the library left "
        "it to the file system (no element met a hard need, say, which ses rank shows; SES_LOG says why), "
        f"or its record was not kept.{where}"
    )


def _still_known(client: ServiceClient, path: Path) -> str:
    """Return what the list of files knows of a file whose explanation is not kept; empty for nothing."""
    name = os.fsencode(path).decode("utf-8", "replace")
    try:
        listed = client.files({"path": name, "state": "ended"}, limit=_LOOKED_AT).files
    except (NotAllowedError, RefusedError):
        return ""
    file = next((file for file in listed if file.path == name), None)
    if file is None:
        return ""
    received = received_by(client, file.placement_id)
    verdict = [] if received is None else verdict_lines(received)
    when = "" if file.ended_at is None else strftime(" on %Y-%m-%d at %H:%M", localtime(file.ended_at))
    return "\n  ".join([
        f"The explanation of {on_one_line(name)} is not kept any more: the service keeps those of the last "
        "files that ended (10,000, unless the site sets max_records). Known of the last file of this name:",
        f"created by   {called(file)}, ended{when}",
        f"chosen       {file.element}",
        *(f"received     {line}" for line in verdict),
    ])  # fmt: skip


def _amount(prediction: Prediction) -> str:
    if prediction.value is None:
        return f"unknown {prediction.unit}"
    return f"{number(prediction.value, 2 if prediction.kind == 'free-capacity' else 1)} {prediction.unit}"


def _amounts(many: Sequence[Prediction]) -> str:
    return ", ".join(f"{prediction.kind} {_amount(prediction)}" for prediction in many)


def _show(
    out: Console,
    path: Path,
    nearest: _Nearest,
    placement: PlacementRecord,
    lies_in: str | None,
    exists: bool,
    verified: bool | None,
    received: Received | None,
) -> None:
    line(out, on_one_line(str(path)))
    if placement.path not in (None, str(path)):
        line(out, f"  created as   {on_one_line(placement.path or '')}")
    if nearest.doubt:
        line(out, f"  in doubt     {nearest.doubt}", "yellow")
    line(out, f"  created by   {called(placement)}")
    line(out, f"  chosen       {placement.element}, distance {placement.distance:.3f}")
    line(out, f"  predicted    {_amounts(placement.predicted) or 'nothing was asked for'}")
    if placement.predicted_now and placement.predicted_now != placement.predicted:
        line(out, f"  from now on  {_amounts(placement.predicted_now)}, with what came and went since")
    for text in [] if received is None else verdict_lines(received):
        line(out, f"  received     {text}")
    for note in placement.notes:
        line(out, f"  note         {note}", "yellow")
    if placement.batch_size > 1:
        which = f"number {placement.batch_number} of {placement.batch_size}"
        line(out, f"  same table   {which} files chosen from one state of the node's table; the ranks are "
                  f"those before the first, where {placement.element} was number {placement.rank}, and the "
                  "prediction counts the files before this one")  # fmt: skip
    state = placement.state + (f" ({placement.end_reason})" if placement.end_reason else "")
    line(out, f"  placement    {placement.placement_id}, {state}")
    if not exists:
        line(out, "  bytes        the file is gone, or has another name now")
    elif lies_in is None:
        line(out, "  bytes        not on a mergerfs union or Lustre: the file system does not say")
    elif nearest.other:
        line(out, f"  bytes        {lies_in}; {placement.element} was chosen for the file of before")
    elif verified:
        line(out, f"  bytes        {lies_in}, as chosen", "green")
    else:
        line(out, f"  bytes        {lies_in}, NOT as chosen ({placement.target})", "red")
    show_requirements(out, placement.requirements, "Requirements")
    if placement.candidates:
        show_candidates(out, placement.candidates)
    show_refused(out, placement.refused)
