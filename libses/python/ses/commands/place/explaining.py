"""What ``ses explain`` says of a directory that was given: why, and what was asked, promised and received."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import SesError
from ses_client.messages.files import Received
from ses_client.messages.places import PlaceGiven

from ses.commands.decision import show_candidates, show_refused, show_requirements
from ses.commands.place.claims import until
from ses.commands.place.options import shown_path
from ses.files import received_by, verdict_lines
from ses.output import console, line, print_json, table
from ses.place.claims import Claim
from ses.place.directories import held_in
from ses.place.placing import claim_json, claims_on, user_of


def explain_place(client: ServiceClient, path: Path, *, as_json: bool, wide: bool) -> bool:
    """Explain a directory that this machine or the service gave; false where neither did.

    Raises UnavailableError where the service would have to say.
    """
    claim = next((entry for entry in reversed(_claims()) if entry.path == str(path)), None)
    if claim is not None:
        _explain_claim(claim, as_json=as_json, out=console(wide=wide))
        return True
    places = client.places(path=str(path), limit=1) or client.places(path=str(path), state="ended", limit=1)
    for entry in places:
        place, received = client.place(entry.place_id), received_by(client, entry.place_id)
        if as_json:
            print_json({"place": place, "received": received})
        else:
            _show(console(wide=wide), place, received)
    return bool(places)


def _claims() -> list[Claim]:
    try:
        return claims_on([])
    except SesError:  # a ledger that cannot be used
        return []


def _explain_claim(claim: Claim, *, as_json: bool, out: Console) -> None:
    seen = {"asked": json.loads(claim.asked)["needs"], **json.loads(claim.why)} if claim.why else {}
    holds = held_in(claim.path) if claim.own_directory else None
    if as_json:
        print_json({"claim": claim_json(claim), "written": holds, **seen})
        return
    line(out, shown_path(claim.path))
    line(out, f"  given to     {user_of(claim)}, until {claim}")
    line(out, f"  chosen       {shown_path(claim.base)}, by this machine alone")
    line(out, f"  asked for    {', '.join(seen.get('asked', [])) or 'no rate'}; {claim.bytes:,} bytes")
    line(out, f"  received     {'not known' if holds is None else f'{holds:,} bytes lie there'}")
    line(out, f"  claim        {claim.id}")
    rows = [
        [
            shown_path(entry["directory"]),
            entry["reason"]
            or ("chosen" if entry["directory"] == seen.get("chosen") else "another was better"),
            *(_number(entry.get(name)) for name in ("free", "claimed", "streams", "foreign_streams")),
        ]
        for entry in seen.get("why", [])
    ]
    table(out, ("directory", "why", ">free", ">claimed", ">streams", ">of others"), rows)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _show(out: Console, place: PlaceGiven, received: Received | None) -> None:
    who = place.user + (f":{place.subject.application}" if place.subject.application else "")
    claimed = "nothing: the size was not stated, and is not known of places like it"
    if place.claimed_bytes is not None:
        claimed = f"{place.claimed_bytes:,.0f} bytes"
        claimed += ", by the places before it" if place.expected_from == "history" else ""
    written = "not known" if place.written_bytes is None else f"{place.written_bytes:,.0f} bytes"
    promised = ", ".join(
        f"{entry.kind} {'unknown' if entry.value is None else f'{entry.value:,.4g}'} {entry.unit}"
        for entry in place.predicted
    )
    ended = f"ended ({place.end_reason})" if place.state == "ended" else f"until {until(place)}"
    line(out, shown_path(place.directory))
    line(out, f"  given to     {who}, {ended}")
    line(out, f"  chosen       {place.element}, for {place.streams} stream{'s' * (place.streams > 1)}")
    line(out, f"  claimed      {claimed}")
    line(out, f"  predicted    {promised or 'nothing was asked for'}")
    line(out, f"  written      {written}")
    for text in [] if received is None or place.state == "open" else verdict_lines(received):
        line(out, f"  received     {text}")
    for note in place.notes:
        line(out, f"  note         {note}", "yellow")
    line(out, f"  place        {place.place_id}, {place.state}")
    show_requirements(out, place.requirements, "Requirements")
    if place.candidates:
        show_candidates(out, place.candidates)
    show_refused(out, place.refused)
