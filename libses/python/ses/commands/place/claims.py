"""``ses places`` and ``ses release``: the claims that ``ses place`` keeps."""

from __future__ import annotations

from pathlib import Path

import click

from ses.columns import Column
from ses.commands.examples import examples
from ses.commands.options import json_option, wide_option
from ses.commands.place.options import ledger_option, shown_path
from ses.output import console, line, print_json, say, second, table


@click.command(epilog=examples("ses places", "ses places --among /scratch1 /scratch2"))
@click.option(
    "--among", "first", metavar="DIR", multiple=True, help="Only claims on the file systems of these."
)
@click.argument("others", metavar="[DIR]...", nargs=-1)
@ledger_option
@wide_option
@json_option
def places(
    first: tuple[str, ...], others: tuple[str, ...], ledger: Path | None, wide: bool, as_json: bool
) -> None:
    """List the claims of ses place on this machine: whose, where, bytes, until when."""
    from ses.place.placing import claim_json, claims_on, user_of

    found = claims_on((*first, *others), ledger)
    if as_json:
        print_json({"claims": [claim_json(one) for one in found]})
        return
    out = console(wide=wide)
    if not found:
        line(out, "Nothing is claimed.")
        return
    headers = (">id", "user", Column("directory", path=True), ">bytes", "since", "until")
    table(
        out,
        headers,
        [
            [
                str(one.id),
                user_of(one),
                shown_path(one.path),
                f"{one.bytes:,}",
                second(one.made),
                str(one.holder),
            ]
            for one in found
        ],
    )


@click.command(epilog=examples("ses release 17", 'ses release "$DIR"'))
@click.argument("claim", metavar="ID|DIR")
@ledger_option
def release(claim: str, ledger: Path | None) -> None:
    """End a claim of yours, named by its number or its directory; the directory itself stays.

    Exits with 5 when there is no such claim.
    """
    from ses.place.placing import release as end

    ended = end(claim, ledger)
    say(f"Claim {ended.id} on {shown_path(ended.path)} is released.")
