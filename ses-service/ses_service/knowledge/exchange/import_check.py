"""What an import would refuse in a text; needs no store (``ses kb validate``)."""

from __future__ import annotations

from ses_service.knowledge.checks.validation import Finding, check, refused, validate
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Incoming


def check_import(text: str, name: str, *, trig: bool = False) -> list[Finding]:
    """Return what is wrong with a text that is to be imported, by line; empty when all is well.

    ``trig``: the text is TriG, else Turtle. What an import refuses by itself is an error here; what depends
    on the site it is merged into is not known. Raises nothing.
    """
    if not trig:
        found = validate(text, name)
        if refused(found):
            return found
    try:
        incoming = Incoming.read(text, name, trig=trig)
    except InvalidDescriptionError as error:
        return [Finding(None, name, message) for message in error.messages]
    if trig:
        found = check(incoming.graph, incoming.lines)
    if not refused(found):
        try:
            incoming.requirement_sets()
        except InvalidDescriptionError as error:
            found += [Finding(None, name, message) for message in error.messages]
    return found
