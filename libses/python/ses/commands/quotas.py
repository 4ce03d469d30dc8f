"""``ses quotas``: what users, groups and projects may store, and when that is used up."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.messages.quotas import Quota

from ses.commands.examples import examples
from ses.commands.options import Number, service_command
from ses.commands.unknown_names import must_be_system, note
from ses.output import console, line, number, print_json, table


@click.command(epilog=examples("ses quotas --user alice", "ses quotas --system scratch --within 30"))
@click.option("--system", help="Only the quotas in this storage system.")
@click.option("--user", help="Only those that count for this user. [with a token of your own: you]")
@click.option("--kind", type=click.Choice(["user", "group", "project"]), help="Only those of this kind.")
@click.option(
    "--within",
    type=Number(0, 3650, min_open=True),
    metavar="DAYS",
    help="Only those that are used up within this number of days.",
)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most quotas to list."
)
@service_command
def quotas(
    client: ServiceClient,
    as_json: bool,
    system: str | None,
    user: str | None,
    kind: str | None,
    within: float | None,
    limit: int,
) -> None:
    """List the quotas of file systems, and when each is used up at the pace of the last weeks.

    Those that are used up first come first.  GB are decimal.
    """
    answer = client.quotas(system=system, user=user, kind=kind, full_within_days=within, limit=limit)
    if not answer.total:
        _explain_none(client, system, user)
    if as_json:
        print_json(answer)
        return
    out = console()
    if answer.quotas:
        headers = ("whose", "storage system", ">used GB", ">of GB", ">used %", ">GB a day", "used up")
        table(out, headers, [_row(quota) for quota in answer.quotas])
    else:
        line(out, "No quota is known." if within is None else f"No quota is used up within {within:g} days.")
    if answer.total > len(answer.quotas):
        line(out, f"and {answer.total - len(answer.quotas)} more (--limit)")
    for source in answer.sources:
        if source.error:
            line(out, f"Quotas of {source.system}: {source.error}", "yellow")
    if answer.problem:
        line(out, f"These may be old: {answer.problem}", "yellow")


def _explain_none(client: ServiceClient, system: str | None, user: str | None) -> None:
    """Say of which name no quota is known at all; raises NotFoundError for an unknown storage system."""
    if system is not None and not client.quotas(system=system, limit=1).total:
        must_be_system(client, system)
        note(f"No quota in {system!r} is known.")
    if user is not None and not client.quotas(user=user, limit=1).total:
        note(f"No quota is known that counts for user {user!r}.")


def _row(quota: Quota) -> list[str]:
    return [
        f"{quota.kind} {quota.name}" + (f" (VO {quota.vo})" if quota.vo else ""),
        quota.system,
        number(quota.used_bytes / 1e9),
        number(quota.limit_bytes / 1e9),
        number(100 * quota.share, 0),
        number(None if quota.used_bytes_per_day is None else quota.used_bytes_per_day / 1e9),
        _when(quota.full_in_days),
    ]


def _when(days: float | None) -> str:
    if days is None:
        return "-"
    if days == 0:
        return "now"
    return "in less than a day" if days < 1 else f"in {days:.0f} {'day' if round(days) == 1 else 'days'}"
