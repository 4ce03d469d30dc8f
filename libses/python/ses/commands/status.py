"""``ses status``: is the service ready, and how fresh is what it knows."""

from __future__ import annotations

from collections.abc import Sequence

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED
from ses_client.messages.elements import Check, Inventory

from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.output import console, line, print_json, seconds, table


@click.command(epilog=examples("ses status"))
@service_command
def status(client: ServiceClient, as_json: bool) -> None:
    """Say whether the service is ready, and how fresh its data are.

    Exits with 1 when it is not ready, which means that the site was never read.  A service that is ready,
    but does without something (knowledge base, monitor, database), still decides, with what it last read;
    the first line names what is not ok, and --json has "degraded".  What to do about it: ses doctor.
    """
    readiness = client.readiness()
    ready, checks = readiness.ready, readiness.checks
    inventory, url = client.elements(), client.address.url
    if as_json:
        print_json(
            {
                "url": url,
                "ready": ready,
                "degraded": ready and not all(one.ok for one in checks),
                "checks": [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in checks],
                "elements": len(inventory.elements),
                "open_placements": sum(one.open_placements for one in inventory.elements),
                "monitor": inventory["monitor"],
                "knowledge_base": inventory["knowledge_base"],
            }
        )
    else:
        _show(url, ready, checks, inventory)
    if not ready:
        raise SystemExit(EXIT_FAILED)


def _show(url: str, ready: bool, checks: Sequence[Check], inventory: Inventory) -> None:
    out = console()
    lacking = [one.name for one in checks if not one.ok]
    if not ready:
        line(out, f"{url}: NOT ready", "red")
    elif lacking:
        line(out, f"{url}: ready, but not ok: {', '.join(lacking)}", "yellow")
    else:
        line(out, f"{url}: ready", "green")
    rows = [[one.name, "ok" if one.ok else "NOT ok", one.detail] for one in checks]
    for name, source in inventory.sources:
        state = "reachable" if source.reachable else "NOT reachable"
        revision = f", revision {source['revision']}" if source.get("revision") else ""
        told = f"{source.url or '-'}, last read {seconds(source.age_seconds)} ago{revision}"
        rows.append([f"reads {name}", state, told])
    table(out, ("check", "state", "detail"), rows)
    fresh = sum(1 for one in inventory.elements if one.observation and one.observation.state == "ok")
    placements = sum(one.open_placements for one in inventory.elements)
    line(out, f"{len(inventory.elements)} elements, {fresh} with fresh data, {placements} open placements")
