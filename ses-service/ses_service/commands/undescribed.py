"""``ses-service undescribed``: what a discovery adds to a description of the site."""

from dataclasses import replace
from pathlib import Path

import click

from ses_service.commands.options import existing_file


@click.command(epilog="\b\nExample:\n  ses-service undescribed site.ttl found.ttl")
@click.argument("site", type=existing_file)
@click.argument(
    "discovery",
    metavar="FOUND",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
def undescribed(site: Path, discovery: Path) -> None:
    """Print what SITE does not say of a discovery.

    As Turtle, to be added to SITE.  FOUND is what ses discover --turtle wrote (-: standard input).  Elements
    are the same where target and file system are, whatever their names.  Nothing that SITE says is changed
    by it.  Nothing is printed where SITE does not describe the storage system at all.
    """
    from ses_service.knowledge.errors import InvalidDescriptionError
    from ses_service.knowledge.exchange.incoming import Incoming, Mode, has_system, site_after
    from ses_service.knowledge.exchange.merge import aligned, apart
    from ses_service.knowledge.statements.statements import as_graph

    try:
        present = Incoming.read(site.read_text("utf-8"), str(site)).site
        with click.open_file(str(discovery), encoding="utf-8") as file:
            seen = Incoming.read(file.read(), str(discovery))
        seen = replace(seen, site=apart(seen.site, present))
    except (InvalidDescriptionError, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from None
    if has_system(
        {subject: facts for subject, facts in aligned(seen.site, present).items() if subject not in present}
    ):
        return
    after = site_after(seen, present, Mode.DISCOVERED).description
    added = {
        subject: {
            property_: values - present.get(subject, {}).get(property_, frozenset())
            for property_, values in facts.items()
        }
        for subject, facts in after.items()
    }
    graph = as_graph(added)
    if len(graph):
        click.echo(graph.serialize(format="turtle"), nl=False)
