"""``--save``: store requirements that were worked out, beside the profile that is there."""

from __future__ import annotations

from collections.abc import Sequence

import click
from ses_client.client import ServiceClient
from ses_client.messages.message import JSON
from ses_client.messages.requirements import Requirement

from ses.output import say

LEVELS = ("application", "user", "vo", "site", "profile")

save_option = click.option(
    "--save",
    nargs=2,
    type=(click.Choice(LEVELS), str),
    metavar="LEVEL NAME",
    help="Store the requirements in the knowledge base, as of application USER:PROGRAM; or as profile "
    "USER:NAME, which people take up by its name.",
)


def store(
    client: ServiceClient, where: tuple[str, str], wanted: Sequence[Requirement], about: JSON | None = None
) -> None:
    """Replace the requirements of a set, keep its profile, and say so on standard error.

    ``about`` (definition, measured) goes with a set at profile level only.
    """
    level, name = where
    before = client.requirement_set(level, name)
    stored = client.replace_requirements(
        level,
        name,
        wanted,
        revision=before.revision,
        profile=before.profile,
        about=about if level == "profile" else None,
    )
    say(f"Stored for {level} {name}: revision {stored.revision}.", err=True)
