"""From a sentence about a program to the numbers of the form.  Saves nothing.

The service works out what a sentence requires.  Here its bounds are written into the rows of the form, with
four digits, rounded to the side that asks for no less.
"""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from ses_client.client import ServiceClient
from ses_client.errors import RefusedError
from ses_client.messages.requirements import Requirement
from ses_client.messages.vocabulary import Expansion

from ses_webface.quantities import shortest_writing
from ses_webface.requirements.forms import RequirementsForm

MAX_SENTENCE = 256
MAX_VALUES = 400
_DIGITS = 4
_VALUE = re.compile(r"\s*([a-z][a-z0-9_]{0,62})\s*=\s*(\S.*?)\s*", re.IGNORECASE)


class UnreadableValuesError(ValueError):
    """What was typed is no list of values; the sentence says how one is written."""


def expand_into(form: RequirementsForm, service: ServiceClient) -> Expansion | None:
    """Write what the form's sentence requires into its rows and return it.

    A row keeps its strictness, weight and times; rows of other kinds stay as they are.  None when a field is
    wrong: it carries its error then, and no row is changed.  Raises SesError when the service is away.
    """
    sentence, values = " ".join((form.sentence.data or "").split()), {}
    if not sentence:
        form.sentence.errors = ["Write what the program does, with numbers and units."]
    elif len(sentence) > MAX_SENTENCE or not sentence.isprintable():
        form.sentence.errors = [f"Write one sentence of at most {MAX_SENTENCE} characters."]
    try:
        values = read_values(form.sentence_values.data or "")
    except UnreadableValuesError as error:
        form.sentence_values.errors = [str(error)]
    if form.sentence.errors or form.sentence_values.errors:
        return None
    try:
        expansion = service.expand(sentence, values)
    except RefusedError as error:
        _blame(form, error)
        return None
    derived = tuple(item.but(requirement=_rounded(item.requirement)) for item in expansion.derived)
    bounds = {item.requirement.kind: item.requirement.bound for item in derived}
    for kind, row in form.rows():
        if kind.kind in bounds:
            row.bound.data, row.unit.data = shortest_writing(bounds[kind.kind], kind)
    return expansion.but(derived=derived)


def read_values(text: str) -> dict[str, str]:
    """Read ``share = 10 %; kept = 3``: texts of values by name.  Raises UnreadableValuesError."""
    values: dict[str, str] = {}
    for assignment in filter(str.strip, re.split(r"[;\n]", text)):
        matched = _VALUE.fullmatch(assignment)
        if matched is None or not matched[2].isprintable():
            raise UnreadableValuesError(f"“{assignment.strip()}” is not written like share = 10 %.")
        values[matched[1].lower()] = matched[2]
    return values


def _blame(form: RequirementsForm, error: RefusedError) -> None:
    for location, message in error.problems or (("", str(error)),):
        of_values = location.removeprefix("json.").startswith("values")
        field = form.sentence_values if of_values else form.sentence
        sentence = f"{message[:1].upper()}{message[1:]}"
        field.errors = [*field.errors, sentence if sentence.endswith(".") else f"{sentence}."]


def _rounded(requirement: Requirement) -> Requirement:
    exact = Decimal(format(requirement.bound, ".12g"))
    step = Decimal(1).scaleb(exact.adjusted() + 1 - _DIGITS)
    bound = exact.quantize(step, ROUND_FLOOR if requirement.at_most else ROUND_CEILING)
    return requirement.bounded(float(bound))
