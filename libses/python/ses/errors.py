"""What can go wrong for a person at the command line, and the exit code each fault has.

Exit codes of ``ses``:

====  ==========================================================================
0     done
1     something checked is not right (``doctor``, ``demo``), or the service failed
2     the command line, or a value on it, was not understood
3     nothing answers at the service's address, or not in time
4     the service does not accept the token, or the token may not do this
5     what was asked for does not exist
====  ==========================================================================
"""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_NOT_ALLOWED = 4
EXIT_NOT_FOUND = 5


class SesError(Exception):
    """A fault told in one sentence with the next step; ``exit_code`` is from the table above."""

    exit_code = EXIT_FAILED


class UsageError(SesError):
    """A value on the command line (or in the environment) cannot be used."""

    exit_code = EXIT_USAGE


class UnreachableError(SesError):
    """Nothing answers at the service's address."""

    exit_code = EXIT_UNREACHABLE


class NotAllowedError(SesError):
    """The token is missing, unknown, or not enough."""

    exit_code = EXIT_NOT_ALLOWED


class NotFoundError(SesError):
    """The thing asked for does not exist."""

    exit_code = EXIT_NOT_FOUND


class BadAnswerError(SesError):
    """Something answered, but not as the service's contract says."""
