"""``ses status``: is the service ready, and how fresh is what it knows."""

from __future__ import annotations

import click

from ses.answers import Inventory, ReadyCheck, parse
from ses.commands.options import service_command
from ses.errors import EXIT_FAILED
from ses.output import console, line, print_json, seconds, table
from ses.service import ServiceClient


@click.command()
@service_command
def status(client: ServiceClient, as_json: bool) -> None:
    """Say whether the service is ready, and how fresh its data are.

    Exits with 1 when it is not ready, which means that the site was never read.  A service that is ready,
    but does without something (knowledge base, monitor, database), still decides, with what it last read;
    the first line names what is away, and --json has "degraded".  What to do about it: ses doctor.
    """
    ready, raw = client.readiness()
    checks = parse("its readiness", lambda data: tuple(ReadyCheck.of(one) for one in data), raw)
    inventory_json = client.elements()
    inventory = parse("elements", Inventory.of, inventory_json)
    if as_json:
        print_json(
            {
                "url": client.url,
                "ready": ready,
                "degraded": ready and not all(one.ok for one in checks),
                "checks": [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in checks],
                "elements": len(inventory.elements),
                "open_placements": sum(one.open_placements for one in inventory.elements),
                "monitor": inventory_json["monitor"],
                "knowledge_base": inventory_json["knowledge_base"],
            }
        )
    else:
        _show(client.url, ready, checks, inventory)
    if not ready:
        raise SystemExit(EXIT_FAILED)


def _show(url: str, ready: bool, checks: tuple[ReadyCheck, ...], inventory: Inventory) -> None:
    out = console()
    lacking = [one.name for one in checks if not one.ok]
    if not ready:
        line(out, f"{url}: NOT ready", "red")
    elif lacking:
        line(out, f"{url}: ready, but without {', '.join(lacking)}", "yellow")
    else:
        line(out, f"{url}: ready", "green")
    rows = [[one.name, "ok" if one.ok else "NOT ok", one.detail] for one in checks]
    for name, source in (
        ("reads monitor", inventory.monitor),
        ("reads knowledge base", inventory.knowledge_base),
    ):
        state = "reachable" if source.reachable else "NOT reachable"
        revision = f", revision {source.revision}" if source.revision else ""
        rows.append(
            [name, state, f"{source.url or '-'}, last read {seconds(source.age_seconds)} ago{revision}"]
        )
    table(out, ("check", "state", "detail"), rows)
    fresh = sum(1 for one in inventory.elements if one.observation and one.observation.state == "ok")
    placements = sum(one.open_placements for one in inventory.elements)
    line(out, f"{len(inventory.elements)} elements, {fresh} with fresh data, {placements} open placements")
