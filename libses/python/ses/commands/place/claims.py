"""``ses places`` and ``ses release``: the claims that ``ses place`` and the service keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from ses_client.errors import NotFoundError, UnavailableError

from ses.columns import Column
from ses.commands.examples import examples
from ses.commands.options import json_option, service_options, wide_option
from ses.commands.place.options import become, ledger_option, service_is_named, shown_path, user_option
from ses.output import console, line, print_json, say, second, table

if TYPE_CHECKING:
    from pwd import struct_passwd as Owner

    from ses_client.messages.places import Place

    from ses.commands.options import Connect

_ID = 16  # letters of an id of the service


@click.command(epilog=examples("ses places", "ses places --on scratch", "ses places --among /scratch1"))
@click.option(
    "--among", "first", metavar="DIR", multiple=True, help="Only claims on the file systems of these."
)
@click.argument("others", metavar="[DIR]...", nargs=-1)
@click.option("--on", "system", metavar="SYSTEM", help="Only places that the service gave on this one.")
@ledger_option
@service_options
@wide_option
@json_option
def places(
    first: tuple[str, ...],
    others: tuple[str, ...],
    system: str | None,
    ledger: Path | None,
    connect: Connect,
    wide: bool,
    as_json: bool,
) -> None:
    """List the claims of ses place: those of this machine, and yours that the service keeps.

    A service that does not answer is asked for nothing, unless --on names what it is to list.
    """
    from ses.place.placing import claim_json, claims_on, user_of

    among = (*first, *others)
    claims = [] if system else claims_on(among, ledger)
    given = [] if among or ledger else _given(connect, system)
    if as_json:
        print_json({"claims": [claim_json(entry) for entry in claims], "places": [*given]})
        return
    out = console(wide=wide)
    if not claims and not given:
        line(out, "Nothing is claimed.")
        return
    shown: list[tuple[int | str, str, str, float | None, float, str]]
    shown = [(claim.id, user_of(claim), claim.path, claim.bytes, claim.made, str(claim)) for claim in claims]
    shown += [
        (place.place_id, place.user, place.directory, place.claimed_bytes, place.made_at, until(place))
        for place in given
    ]
    rows = [
        [str(id_), user, shown_path(path), "" if size is None else f"{size:,.0f}", second(made), end]
        for id_, user, path, size, made, end in shown
    ]
    table(out, (">id", "user", Column("directory", path=True), ">bytes", "since", "until"), rows)


def until(place: Place) -> str:
    """Say when a place ends."""
    from ses.place.claims import Holder

    if place.until is None:
        where = f" of {place.subject.node}" if place.subject.node else ""
        return f"process {place.pid}{where} ends"
    return str(Holder(until=place.until, job=place.subject.job))


def _given(connect: Connect, system: str | None) -> Sequence[Place]:
    if system is None and not service_is_named():
        return []
    try:
        return connect().places(storage_system=system, limit=1000)
    except UnavailableError as error:
        if system is not None:
            raise
        say(f"Places that the service gave are not listed: {error}", err=True)
        return []


@click.command(epilog=examples("ses release 17", 'ses release "$DIR"'))
@click.argument("claim", metavar="ID|DIR")
@user_option
@ledger_option
@service_options
def release(claim: str, owner: Owner | None, ledger: Path | None, connect: Connect) -> None:
    """End a claim of yours, named by its id or its directory; the directory itself stays.

    Exits with 5 when there is no such claim.
    """
    from ses.place.placing import release as end

    if not (len(claim) == _ID and not claim.strip("0123456789abcdef")):
        try:
            ended = end(claim, ledger, None if owner is None else owner.pw_uid)
        except NotFoundError:
            if ledger is not None or claim.isdecimal() or not service_is_named():
                raise
        else:
            say(f"Claim {ended.id} on {shown_path(ended.path)} is released.")
            return
    from ses.place import service

    become(owner)
    client = connect()
    place = service.release(client, service.named(client, claim))
    say(f"Place {place.place_id} in {shown_path(place.directory)} is released.")
