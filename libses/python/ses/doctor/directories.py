"""The directories of sets, on this machine: are they there, do they answer, are they what was described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from ses_client.messages.elements import Element
from ses_client.mounts import file_system_at, is_another

from ses.doctor.finding import Finding, fault, ok, warning
from ses.place.directories import look_at

DIRECTORY = "directories"


def check_directories(elements: Sequence[Element]) -> list[Finding]:
    """Look at every directory the site describes, on this machine."""
    described = [element for element in elements if element.backend == "directories"]
    if not described:
        return []
    return [*_away(described)] or [ok(DIRECTORY, f"all {len(described)} are there and answer")]


def _away(described: Sequence[Element]) -> Iterator[Finding]:
    for element, seen in zip(described, look_at([entry.target for entry in described]), strict=True):
        path, see = element.target, f"See findmnt -T {quote(element.target)}"
        if not seen.path:
            yield fault(DIRECTORY, f"{element.id}: {path}: {seen.reason}.", see)
        elif is_another(element.file_system or "", file_system := file_system_at(path)):
            what = f"{file_system}, not {element.file_system}"
            yield fault(
                DIRECTORY,
                f"{element.id}: {path} is not the file system that was described ({what}).",
                f"{see} and mount it; if it was replaced, describe it again: ses discover --directories",
            )
        elif seen.reason:
            yield warning(DIRECTORY, f"{element.id}: {path}: {seen.reason}.", see)
