"""``ses kb validate``: is a Turtle file a faultless description of a site or of requirements?

Asks no service.  The rules are the service's own (``ses_service.knowledge``), loaded when asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from ses_client.errors import EXIT_FAILED, SesError
from ses_client.text_files import decoded, read_text

from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, print_json

if TYPE_CHECKING:
    from ses_service.knowledge.checks.validation import Finding

MISSING = (
    "The rules of the knowledge base are not installed beside this command. Run it where the selection "
    "service is installed, or install that here, from a checkout: pip install -e ses-service"
)


@click.command(epilog=examples("ses kb validate site.ttl"))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
def validate(files: tuple[str, ...], as_json: bool) -> None:
    """Check Turtle files against the vocabulary and the shapes; nothing is asked of a service.

    FILE describes a site, requirements or both; - is standard input; one named .trig is TriG,
    all others are Turtle (N-Triples is part of it), in UTF-8.  Each file is
    checked by itself; what ses kb import refuses in it is refused here.  Every fault names file, node and,
    where it is known, line.  Exits with 1 when a file would be refused, and with 5 when
    there is no such file.  Needs the selection service's package beside this command.
    """
    check = _rules()
    checked = [(file, check(read_turtle(file), file)) for file in files]
    wrong = any(finding.severity == "error" for _, findings in checked for finding in findings)
    if as_json:
        findings = [{"file": file, **asdict(finding)} for file, all_ in checked for finding in all_]
        print_json({"valid": not wrong, "findings": findings})
    else:
        _show(checked)
    if wrong:
        raise click.exceptions.Exit(EXIT_FAILED)


def read_turtle(file: str) -> str:
    """Return the text of a file, or of standard input for ``-``.  Raises SesError."""
    return decoded(sys.stdin.buffer.read(), "standard input") if file == "-" else read_text(file)


def _rules() -> Callable[..., list[Finding]]:
    try:
        from ses_service.knowledge.exchange.import_check import check_import
        from ses_service.knowledge.terms import ontology_directory
    except ModuleNotFoundError as error:
        raise SesError(f"{MISSING} ({error}).") from error
    try:
        ontology_directory()
    except FileNotFoundError as error:
        raise SesError(f"The vocabulary is missing: {error}.") from error
    return check_import


def _show(checked: Sequence[tuple[str, list[Finding]]]) -> None:
    out = console()
    for file, findings in checked:
        name = "standard input" if file == "-" else file
        for finding in findings:
            place = name if finding.line is None else f"{name}:{finding.line:d}"
            node = f"{finding.node}: " if finding.node and finding.node != file else ""
            grade = "" if finding.severity == "error" else f"{finding.severity}: "
            line(out, f"{place}: {grade}{node}{finding.message}")
        if not findings:
            line(out, f"{name}: nothing wrong")
