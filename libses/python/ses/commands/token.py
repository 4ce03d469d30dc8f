"""``ses token``: the personal tokens of the user who runs it."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, UsageError
from ses_client.messages.access import PersonalToken

from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.options import service_command
from ses.output import console, day, print_json, say, table


@click.group(cls=WholeSentences)
def token() -> None:
    """List, make and revoke your personal tokens.

    A personal token acts as you until it ends or is revoked: for scripts, and for machines that know you by
    nothing else (ses login).
    """


_user_option = click.option("--user", help="Whose, for administrators.  [you]")


@token.command("list", epilog=examples("ses token list", "ses token list --user alice"))
@_user_option
@service_command
def list_command(client: ServiceClient, as_json: bool, user: str | None) -> None:
    """List your tokens: what each may do, until when, and when it was last used."""
    answer = _for(client, user).tokens()
    if as_json:
        print_json(answer)
    elif answer.tokens:
        table(
            console(),
            ("token", "scope", "made", "ends", "last used"),
            [_row(personal) for personal in answer.tokens],
        )
    elif user is not None:
        say(f"{user} has no tokens.")
    else:
        say("You have no tokens. Make one: ses token new NAME, or in the portal.")


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
    created = client.make_token(name, scope, days)
    if as_json:
        print_json(created)
        return
    say(created.token)
    say(f"Until {day(created.ends)}. Keep it now, such as by: ses login", err=True)


@token.command("revoke", epilog=examples("ses token revoke laptop", "ses token revoke --all --user alice"))
@click.argument("name", required=False)
@click.option("--all", "revokes_all", is_flag=True, help="All of them, and forget your runs.")
@_user_option
@service_command
def revoke(
    client: ServiceClient, as_json: bool, name: str | None, revokes_all: bool, user: str | None
) -> None:
    """Revoke your token of that NAME, or all: they are not accepted any more."""
    if (name is None) != revokes_all:
        raise UsageError("Name one token, or give --all.", "See: ses token list")
    client = _for(client, user)
    left = client.revoke_tokens() if name is None else client.revoke_token(name)
    if as_json:
        print_json(left)
    else:
        say(f"{name} is revoked." if name else f"All tokens of {left.user} are revoked.")


def _for(client: ServiceClient, user: str | None) -> ServiceClient:
    """Return the service as asked for a user; raises NotAllowedError for one who may not do that."""
    if user is None:
        return client
    acting = client.acting(user)
    if acting.tokens().user != user:  # the service ignores for whom a user says to act
        raise NotAllowedError(f"Only an administrator sees or revokes tokens of {user}.")
    return acting


def _row(personal: PersonalToken) -> list[str]:
    return [
        personal.name,
        personal.scope,
        day(personal.made),
        day(personal.ends),
        "never" if personal.used is None else day(personal.used),
    ]
