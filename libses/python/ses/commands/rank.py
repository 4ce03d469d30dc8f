"""``ses rank``: what would be chosen for a subject and its needs.  Reserves nothing."""

from __future__ import annotations

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_NOT_FOUND
from ses_client.messages.requirements import Subject
from ses_client.messages.selections import Selection

from ses.amounts import Size
from ses.commands.decision import called, show_candidates, show_refused, show_requirements
from ses.commands.elements.effects import element_id
from ses.commands.examples import examples
from ses.commands.options import service_command, subject_options, wide_option
from ses.output import console, line, print_json
from ses.quantities import make_requirement, requirements_in


@click.command(
    epilog=examples(
        "ses rank --user alice --application dd", "ses rank 'write>=300MB/s' 'free>=2TB!' --system scratch"
    )
)
@click.argument("requirement", nargs=-1)
@subject_options
@click.option("--write", "current_write_rate", metavar="RATE", help="Current write rate, like 20MB/s.")
@click.option("--read", "current_read_rate", metavar="RATE", help="Current read rate.")
@click.option("--average-write", "average_write_rate", metavar="RATE", help="Average write rate.")
@click.option("--average-read", "average_read_rate", metavar="RATE", help="Average read rate.")
@click.option("--free", "free_capacity", metavar="SIZE", help="Free capacity, like 2GB.")
@click.option("--hard", is_flag=True, help="Refuse elements that miss one of these options.")
@click.option("--system", help="Only this storage system.  [all where files are placed]")
@click.option("--profile", help="Requirements of this profile, for kinds not given here.")
@click.option("--exclude", multiple=True, metavar="ELEMENT", help="Not this element; may be repeated.")
@click.option("--size", type=Size(zero=True), metavar="SIZE", help="Size the file will have, like 500MB.")
@click.option("--limit", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Ranks; 0: all.")
@wide_option
@service_command
def rank(
    client: ServiceClient,
    as_json: bool,
    requirement: tuple[str, ...],
    subject: Subject,
    hard: bool,
    system: str | None,
    profile: str | None,
    exclude: tuple[str, ...],
    size: int | None,
    limit: int,
    wide: bool,
    **kinds: str | None,
) -> None:
    """Show what would be chosen now for a user's application with these needs.

    REQUIREMENT is KIND>=MINIMUM[,hard][,weight=N], like 'current-write-rate>=20MB/s'.  What is not
    given comes from the application's, the user's, the VO's or the site's requirements.  Nothing is
    reserved.  Exits with 5 when no element is left.
    """
    explicit = requirements_in(requirement)
    strictness = "hard" if hard else "soft"
    for name, amount in kinds.items():
        if amount is not None:
            explicit.append(make_requirement(name.replace("_", "-"), amount, strictness=strictness))
    selection = client.select(
        subject,
        explicit,
        storage_system=system,
        profile=profile,
        expected_bytes=size,
        exclude=[element_id(name) for name in exclude],
        limit=limit,
    )
    if as_json:
        print_json(selection)
    else:
        _show(console(wide=wide), selection, subject)
    if not selection.candidates:
        raise SystemExit(EXIT_NOT_FOUND)


def _show(out: Console, selection: Selection, subject: Subject) -> None:
    show_requirements(out, selection.requirements, f"Requirements of {called(subject)}")
    if selection.candidates:
        show_candidates(out, selection.candidates)
    else:
        line(out, "No element is left.", "red")
    show_refused(out, selection.refused)
    for note in selection.notes:
        line(out, f"Note: {note}", "yellow")
