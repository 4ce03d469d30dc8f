"""What can go wrong between a program and the selection service, with the exit code of ``ses`` for each.

====  ==========================================================================
0     done
1     something checked is not right (``doctor``, ``demo``), or the service failed
2     the command line, or a value on it, was not understood
3     nothing answers at the service's address, or not in time
4     the service does not accept the token, or the token may not do this
5     what was named does not exist: an element, a storage system, a profile, a file
126   the program to run cannot be run
127   there is no such program to run
130   interrupted by Ctrl-C
====  ==========================================================================
"""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_NOT_ALLOWED = 4
EXIT_NOT_FOUND = 5
EXIT_CANNOT_RUN = 126
EXIT_NO_PROGRAM = 127

_UNKNOWN_NAME = "unknown-name"
_FAULTS_SUFFICE = ("invalid-request", _UNKNOWN_NAME)


class SesError(Exception):
    """A fault in one sentence; ``step`` is what the person who runs the program can do about it."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, step: str = "") -> None:
        super().__init__(message)
        self.step = step

    @property
    def full_message(self) -> str:
        """The sentence with the next step."""
        return f"{self} {self.step}".rstrip()


class UsageError(SesError):
    """A value that was typed (or is in the environment) cannot be used."""

    exit_code = EXIT_USAGE


class NotFoundError(SesError):
    """The thing asked for does not exist."""

    exit_code = EXIT_NOT_FOUND


class CannotRunError(SesError):
    """The program that was to be run is there, and cannot be run."""

    exit_code = EXIT_CANNOT_RUN


class NoProgramError(SesError):
    """There is no program of the name that was to be run."""

    exit_code = EXIT_NO_PROGRAM


class UnavailableError(SesError):
    """No usable answer: the service failed, or cannot do this at present."""


class UnreachableError(UnavailableError):
    """Nothing answers at the service's address, or not in time."""

    exit_code = EXIT_UNREACHABLE


class NotAllowedError(UnavailableError):
    """The token is missing, unknown or not enough, or who answers is not proven to be the service."""

    exit_code = EXIT_NOT_ALLOWED


class BadAnswerError(UnavailableError):
    """Something answered, but not as the service's contract says."""


class RefusedError(SesError):
    """The service read the question and refused it; ``problems`` are (location, message), one for each fault.

    ``slug`` is the last part of the problem's type.
    """

    def __init__(
        self, message: str, status: int, problems: tuple[tuple[str, str], ...] = (), slug: str = ""
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.status = status
        self.problems = problems
        if slug == _UNKNOWN_NAME:
            self.exit_code = EXIT_NOT_FOUND
        elif status in (400, 422):
            self.exit_code = EXIT_USAGE

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults as sentences without a full stop, each once."""
        faults = (f"{where}: {fault}" if (where := _place(at)) else fault for at, fault in self.problems)
        return tuple(dict.fromkeys(faults))

    @property
    def full_message(self) -> str:
        """The sentence with its faults; of a question that is malformed the faults alone."""
        parts = self.faults if self.faults and self.slug in _FAULTS_SUFFICE else (str(self), *self.faults)
        sentence = "; ".join(part.rstrip(".") for part in parts)
        return sentence if sentence.endswith("?") else f"{sentence}."


class ConflictError(RefusedError):
    """What was to be changed was changed by somebody else meanwhile; nothing was written."""

    @property
    def full_message(self) -> str:
        """The sentence with the next step."""
        return f"{self} Look at what is there now and try again."


def _place(location: str) -> str:
    """Return where a request is wrong, in the words of a person who typed it: ``requirement 1, unit``."""
    named: list[str] = []
    where, _, inside = location.partition(".")
    if where not in ("json", "query", "path"):
        return location
    for part in inside.split("."):
        if part.isdecimal() and named:
            named[-1] = f"{named[-1].removesuffix('s')} {int(part) + 1}"
        elif part and (named or part != "body"):
            named.append(part)
    return ", ".join(named)
