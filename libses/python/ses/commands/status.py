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
                "degraded": ready and not all(check.ok for check in checks),
                "checks": [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in checks],
                "elements": len(inventory.elements),
                "open_placements": sum(element.open_placements for element in inventory.elements),
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
    lacking = [check.name for check in checks if not check.ok]
    if not ready:
        line(out, f"{url}: NOT ready", "red")
    elif lacking:
        line(out, f"{url}: ready, but not ok: {', '.join(lacking)}", "yellow")
    else:
        line(out, f"{url}: ready", "green")
    rows = [[check.name, "ok" if check.ok else "NOT ok", check.detail] for check in checks]
    for name, source in inventory.sources:
        state = "reachable" if source.reachable else "NOT reachable"
        revision = f", revision {source['revision']}" if source.get("revision") else ""
        detail = f"{source.url or '-'}, last read {seconds(source.age_seconds)} ago{revision}"
        rows.append([f"reads {name}", state, detail])
    table(out, ("check", "state", "detail"), rows)
    fresh = sum(
        1 for element in inventory.elements if element.observation and element.observation.state == "ok"
    )
    placements = sum(element.open_placements for element in inventory.elements)
    line(out, f"{len(inventory.elements)} elements, {fresh} with fresh data, {placements} open placements")
