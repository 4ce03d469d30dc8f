"""Names in filters that nothing has: reported with similar ones, where a list would just be empty."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.element_groups import Chosen

from ses.output import console, line

_MAX_FILES = 1000
_SUBJECTS = {"application": "application", "vo": "VO", "job": "job"}


def meant(typed: str, known: Iterable[str]) -> str:
    """Return a question for the names that are near to one that was typed; empty where none is."""
    near = get_close_matches(typed, sorted(known), 2)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else ""


def must_be_system(client: ServiceClient, system: str) -> None:
    """Raise NotFoundError for a storage system that the site does not describe."""
    known = sorted(system.name for system in client.storage_systems())
    if system not in known:
        step = meant(system, known) or f"It describes: {', '.join(known) or 'none'}."
        raise NotFoundError(f"The site describes no storage system {system!r}.", step)


def must_be_element(client: ServiceClient, element: str) -> None:
    """Raise NotFoundError for an element that the site does not describe."""
    system, _, name = element.partition("/")
    must_be_system(client, system)
    known = [element.id for element in client.elements(Chosen(system=system)).elements]
    if element not in known:
        step = meant(element, known) or "ses elements lists them."
        raise NotFoundError(f"The storage system {system} has no element {name!r}.", step)


def explain_no_files(client: ServiceClient, asked: Mapping[str, str]) -> None:
    """Say of which name in a question for files, which found none, no file is known at all.

    Raises NotFoundError for an element that the site does not describe.
    """
    if "element" in asked:
        must_be_element(client, asked["element"])
    whose = {"user": asked["user"]} if "user" in asked else {}
    of_user = f" of user {asked['user']!r}" if whose else ""
    latest = client.files(whose, limit=_MAX_FILES).files
    if whose and not latest:
        note(f"No file{of_user} is known.")
        return
    for name, word in _SUBJECTS.items():
        if name in asked and not client.files({**whose, name: asked[name]}, limit=1).files:
            near = meant(asked[name], {file.application for file in latest if file.application})
            step = f" {near}" if near and name == "application" else ""
            note(f"No file of {word} {asked[name]!r}{of_user} is known.{step}")


def note(text: str) -> None:
    """Say something on standard error that is no failure."""
    line(console(sys.stderr), f"Note: {text}", "yellow")
