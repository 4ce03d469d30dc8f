"""What an import would refuse in a text; needs no store (``ses kb validate``)."""

from ses_service.knowledge.checks.validation import Finding, refused, validate
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Incoming


def check_import(text: str, name: str, *, trig: bool | None = None) -> list[Finding]:
    """Return what is wrong with a text that is to be imported, by line; empty when all is well.

    ``trig``: the text is TriG, else Turtle; its name says it where this is ``None``. What an import refuses
    by itself is an error here; what depends on the site it is merged into is not known. Raises nothing.
    """
    faults = validate(text, name, trig=trig)
    if refused(faults):
        return faults
    try:
        incoming = Incoming.read(text, name, trig=trig)
        incoming.requirement_sets()
    except InvalidDescriptionError as error:
        faults += [Finding(None, name, message) for message in error.messages]
    return faults
