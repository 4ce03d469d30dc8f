"""What the library refuses, as the errors of commands."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ses_client.errors import NotFoundError, SesError, UsageError


@contextmanager
def explained() -> Iterator[None]:
    """Raise what a failure of the library is: NotFoundError, UsageError or SesError."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no {error.filename!r} here. `ses share list` has the regions of this node, "
            "`ses share items REGION` what is in one."
        ) from error
    except FileExistsError as error:
        raise SesError(f"There is a region {error.filename!r} already.") from error
    except PermissionError as error:
        raise SesError(f"{error.filename}: its mode does not allow this to you.") from error
    except OSError as error:
        failure = UsageError if error.errno == errno.EINVAL else SesError
        step = ""
        if error.errno == errno.ENOSPC:
            step = "The region is full; or, of a region: the node has no segment left for it (ipcs -m)."
        raise failure(f"{error.filename!r}: {error.strerror}.", step) from error
