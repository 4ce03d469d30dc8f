"""``ses calibrate``: what elements give at best, measured by writing to them, for the site's description."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED, NotFoundError, UsageError
from ses_client.messages.elements import Element

from ses.calibration import Measured, NotMeasuredError, Place, measure, refuse_when_full
from ses.commands.examples import examples
from ses.commands.options import Existing, Number, service_command
from ses.literal import PREFIXES, quantity
from ses.output import console, line, print_json, table, write_file


@click.command(epilog=examples("ses calibrate scratch/b1 scratch/b2 --yes", "ses calibrate --node"))
@click.argument("elements", nargs=-1, metavar="[ELEMENT]...")
@click.option("--all", "every", is_flag=True, help="All elements that can be reached from this node.")
@click.option("--yes", is_flag=True, help="Do it. Without this nothing is written.")
@click.option(
    "--size-mib",
    default=256,
    show_default=True,
    type=click.IntRange(8, 65536),
    help="MiB to write to each element.",
)
@click.option(
    "--seconds",
    default=30.0,
    show_default=True,
    type=Number(0.1, 600),
    help="Longest time to write, and again to read, at each element.",
)
@click.option(
    "--directory",
    type=Existing(file_okay=False),
    help="Directory on Lustre to make the file in. [the mount point]",
)
@click.option(
    "--turtle", "written", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the rates to this file instead of printing them as Turtle.",
)  # fmt: skip
@click.option("--node", is_flag=True, help="Instead of elements: this node, its memory and its link.")
@click.option(
    "--peer", metavar="HOST:PORT", help="With --node: measure the link to a node that listens there."
)
@click.option(
    "--listen", metavar="ADDRESS:PORT", help="With --node: be the peer of one node, on this address only."
)
@service_command
def calibrate(
    client: ServiceClient,
    as_json: bool,
    elements: tuple[str, ...],
    every: bool,
    yes: bool,
    size_mib: int,
    seconds: float,
    directory: Path | None,
    written: Path | None,
    node: bool,
    peer: str | None,
    listen: str | None,
) -> None:
    """Measure the write and read rate of elements, one after the other, with one stream.

    Writes a file without a name to each, reads it back, and leaves nothing; says what it will write
    and where, and does it only with --yes.  An element where that is more than a tenth of what is free is
    left alone.  Run it on a node that reaches the element (for a branch: the one that has its disk) when
    nobody else is busy there.  Prints the rates as Turtle for the description of the site, or writes them
    to a file for ses kb import.  Exits with 1 when an element was left alone.

    With --node, measures how fast this node copies in memory, and with --peer its link, for --seconds;
    prints both as Turtle with date and method.
    """
    if not node and (peer or listen):
        raise UsageError("--peer and --listen go with --node.")
    if node:
        if elements or every or written or (peer and listen):
            raise UsageError("--node takes no elements, no --turtle, and one of --peer and --listen.")
        from ses.commands.calibrate.node import calibrate_node  # what it needs, no other command does

        calibrate_node(as_json, peer, listen, seconds)
        return
    if bool(elements) == every:
        raise UsageError("Name elements, like union/b1, or give --all.")
    size = size_mib * 2**20
    places = [_place(element, directory) for element in _wanted(client.elements().elements, elements)]
    results: dict[str, Measured | str | None] = {}
    if not as_json:
        _announce(places, size, seconds)
    for place in places:
        try:
            if yes:
                results[place.element] = measure(place, size, seconds)
            else:
                refuse_when_full(place, size)
                results[place.element] = None
        except NotMeasuredError as error:
            results[place.element] = str(error)
    turtle = turtle_of(places, results)
    if written is not None and turtle:
        write_file(written, turtle + "\n")
    if as_json:
        print_json(
            {"written": yes, "elements": [_facts(each, results[each.element], size) for each in places]}
        )
    else:
        _show(places, results, yes, "" if written else turtle)
    if any(isinstance(result, str) for result in results.values()):
        raise SystemExit(EXIT_FAILED)


def _wanted(known: Sequence[Element], names: tuple[str, ...]) -> list[Element]:
    by_name = {element.id: element for element in known}
    missing = [name for name in names if name not in by_name]
    if missing or not by_name:
        raise NotFoundError(
            f"There is no element {', '.join(missing)}. Known: {', '.join(sorted(by_name)) or 'none'}."
        )
    return [by_name[name] for name in dict.fromkeys(names)] if names else list(by_name.values())


def _place(described: Element, directory: Path | None) -> Place:
    element, iri, target, free = described.id, described.iri, described.target, described.free_bytes
    match described.backend:
        case "mergerfs" | "directories":
            return Place(element, iri, Path(target), free_bytes=free)
        case "lustre":
            return Place(
                element,
                iri,
                directory or Path(described.mount_point),
                int(target) if target.isdigit() else target,
                free,
            )
        case other:
            raise UsageError(f"{element} is part of a {other or 'unknown'} system, which cannot be measured.")


def _where(place: Place) -> str:
    if place.lustre is None:
        return str(place.directory)
    kind = "OST" if isinstance(place.lustre, int) else "pool"
    return f"{place.directory}, {kind} {place.lustre}"


def _announce(places: Iterable[Place], size: int, seconds: float) -> None:
    out = console()
    line(
        out, f"To each of these elements, one after the other: write {size / 2**20:.0f} MiB and read it back,"
    )
    line(out, f"for at most {seconds:g} s each, in a file without a name, so that nothing stays:")
    for place in places:
        line(out, f"  {place.element}: {_where(place)}")


def _show(places: list[Place], results: dict[str, Measured | str | None], yes: bool, turtle: str) -> None:
    out = console()
    rows = []
    for place in places:
        match results[place.element]:
            case Measured() as measured:
                how = "direct" if measured.direct else "through the page cache"
                rows.append([place.element, _mega(measured.write_rate), _mega(measured.read_rate), how])
            case str() as reason:
                rows.append([place.element, "-", "-", f"left alone: {reason}"])
    if rows:
        table(out, ("element", ">write MB/s", ">read MB/s", "how"), rows)
    if not yes:
        line(out, "Nothing was written. To do it, give --yes.")
        return
    if turtle:
        line(out, "\nFor the description of the site, instead of the nominal rates it has now:\n")
        line(out, turtle)


def turtle_of(places: Iterable[Place], results: dict[str, Measured | str | None]) -> str:
    """Return the measured rates as Turtle about the elements of the site; empty when there are none."""
    statements = []
    for place in places:
        measured = results[place.element]
        if isinstance(measured, Measured):
            rates = (("nominalReadRate", measured.read_rate), ("nominalWriteRate", measured.write_rate))
            facts = [f"    qsm:{name} {quantity(rate / 1e6, 'MegaBYTE-PER-SEC')}" for name, rate in rates]
            statements.append(f"<{place.iri}>\n" + " ;\n".join(facts) + " .")
    return "\n\n".join([PREFIXES, *statements]) if statements else ""


def _facts(place: Place, result: Measured | str | None, size: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "element": place.element,
        "directory": os.fspath(place.directory),
        "lustre_target": place.lustre,
        "size_bytes": size,
    }
    if isinstance(result, str):
        return {**facts, "refused": result}
    if result is None:
        return facts
    return {
        **facts,
        "written_bytes": result.written_bytes,
        "write_bytes_per_second": result.write_rate,
        "read_bytes_per_second": result.read_rate,
        "direct": result.direct,
        "turtle": turtle_of([place], {place.element: result}),
    }


def _mega(rate: float) -> str:
    return f"{rate / 1e6:.1f}"
