"""``ses token``: the personal tokens of whoever runs it."""

from __future__ import annotations

import click
from ses_client.answers.tokens import PersonalToken
from ses_client.client import ServiceClient

from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.options import service_command
from ses.output import console, day, print_json, table


@click.group(cls=WholeSentences)
def token() -> None:
    """List, make and revoke your personal tokens.

    A personal token acts as you until it ends or is revoked: for scripts, and for machines that know you by
    nothing else (ses login).
    """


@token.command("list", epilog=examples("ses token list"))
@service_command
def list_command(client: ServiceClient, as_json: bool) -> None:
    """List your tokens: what each may do, until when, and when it was last used."""
    found = client.tokens()
    if as_json:
        print_json(found.json)
    elif found.tokens:
        table(console(), ("token", "scope", "made", "ends", "last used"), [_row(one) for one in found.tokens])
    else:
        click.echo("You have no tokens. Make one: ses token new NAME, or in the portal.")


@token.command("new", epilog=examples("ses token new laptop --scope read --days 30"))
@click.argument("name")
@click.option("--scope", type=click.Choice(("all", "read")), default="all", show_default=True,
              help="What it may do: all that you may, or only what changes nothing.")  # fmt: skip
@click.option("--days", type=click.IntRange(1, 3660), default=90, show_default=True, help="Until it ends.")
@service_command
def new(client: ServiceClient, as_json: bool, name: str, scope: str, days: int) -> None:
    """Make a token of that NAME and print it; it is not shown again.

    On a machine that knows you by MUNGE or by its socket. A personal token makes no others.
    """
    made = client.make_token(name, scope, days)
    if as_json:
        print_json(made.json)
        return
    click.echo(made.secret)
    click.echo(f"Until {day(made.token.ends)}. Keep it now, such as by: ses login", err=True)


@token.command("revoke", epilog=examples("ses token revoke laptop"))
@click.argument("name")
@service_command
def revoke(client: ServiceClient, as_json: bool, name: str) -> None:
    """Revoke your token of that NAME: it is not accepted any more."""
    left = client.revoke_token(name)
    if as_json:
        print_json(left.json)
    else:
        click.echo(f"{name} is revoked.")


def _row(one: PersonalToken) -> list[str]:
    return [one.name, one.scope, day(one.made), day(one.ends), "never" if one.used is None else day(one.used)]
