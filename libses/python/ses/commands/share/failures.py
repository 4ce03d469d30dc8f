"""What the library refuses, as the command says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ses_client.errors import SesError, UsageError


@contextmanager
def told() -> Iterator[None]:
    """Raise UsageError for a name that does not exist or exists already, SesError for the rest."""
    try:
        yield
    except FileNotFoundError as error:
        raise UsageError(
            f"There is no {error.filename!r} here. `ses share list` has the regions of this node, "
            "`ses share items REGION` what is in one."
        ) from error
    except FileExistsError as error:
        raise UsageError(f"There is a region {error.filename!r} already.") from error
    except PermissionError as error:
        raise SesError(f"{error.filename}: its mode does not allow this to you.") from error
    except OSError as error:
        raise SesError(f"{error.filename}: {error.strerror}.") from error
