"""``ses kb export``: what the knowledge base holds, as Turtle that is the same for the same content."""

from __future__ import annotations

import re
from pathlib import Path

import click
from ses_client.client import ServiceClient
from ses_client.errors import SesError

from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.output import print_json, write_file

PARTS = ("site", "requirements")
_GRAPHS = "https://w3id.org/qstorman/graph/"
_TRIES = 5


@click.command(epilog=examples("ses kb export --output site.ttl"))
@click.option("--site", "site", is_flag=True, help="Only the site.")
@click.option("--requirements", "requirements", is_flag=True, help="Only the requirements.")
@click.option(
    "--format", "format_", type=click.Choice(["turtle", "trig"]), default="turtle", show_default=True,
    help="trig: each part in its named graph.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write to this file, as a whole or not at all. [standard output]",
)  # fmt: skip
@service_command
def export(
    client: ServiceClient, as_json: bool, site: bool, requirements: bool, format_: str, output: Path | None
) -> None:
    """Write the site and the requirements as Turtle: sorted, one property a line, good to keep in git.

    Importing it again changes nothing.  Leaves out what the service notes by itself (revisions, times).
    Administrators only.
    """
    wanted = [part for part, only in zip(PARTS, (site, requirements), strict=True) if only] or list(PARTS)
    revision, head, blocks = _read(client, wanted)
    if format_ == "trig":
        graphs = [f"GRAPH <{_GRAPHS}{part}> {{\n\n{chr(10).join(blocks[part])}\n}}\n" for part in wanted]
        body = "\n".join(graphs)
    else:
        body = "\n".join(block for part in wanted for block in blocks[part])
    text = f"{_used(head, body)}\n{body}"
    if output is not None:
        write_file(output, text)
    if as_json:
        counts = {part: len(blocks[part]) for part in wanted}
        print_json({"revision": revision, "subjects": counts} | ({} if output else {"text": text}))
    elif output is None:
        click.echo(text, nl=False)


def _read(client: ServiceClient, wanted: list[str]) -> tuple[str, str, dict[str, list[str]]]:
    """Return revision, declarations and blocks of one state of the knowledge base."""
    for _ in range(_TRIES):
        revisions: set[str] = set()
        head, blocks = "", dict[str, list[str]]()
        for part in wanted:
            blocks[part], after = [], ""
            while True:
                page = client.knowledge(part, after)
                head = page.head
                revisions.add(page.revision)
                blocks[part] += [subject.turtle for subject in page.subjects]
                if page.next is None:
                    break
                after = page.next
        if len(revisions) == 1:
            return revisions.pop(), head, blocks
    raise SesError("The knowledge base changes faster than it can be read. Try again.")


def _used(head: str, body: str) -> str:
    names = {line: re.match(r"@prefix ([a-z0-9]*):", line) for line in head.splitlines()}
    return "".join(
        f"{line}\n" for line, name in names.items() if name is None or re.search(rf"\b{name[1]}:", body)
    )
