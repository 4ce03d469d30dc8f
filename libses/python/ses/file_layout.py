"""Where the bytes of a file are, whatever file system it lies on."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError, SesError

from ses.basepath import basepath
from ses.lustre import blob


def layout_of(file: Path) -> dict[str, Any]:
    """Return the layout of a file as JSON: ``branch``, or ``osts``, ``mirrors`` and ``components``.

    Raises NotFoundError, and SesError when the layout cannot be read or understood.
    """
    try:
        branch = basepath(file)
        if branch is not None:
            return {"branch": branch}
        raw = blob.of_path(file)
        if raw is None:
            return {"osts": [], "mirrors": 1, "components": None}
        read = blob.read(raw)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {file}.") from None
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENODATA):
            raise NotFoundError(f"The file system of {file} does not say where files lie.") from None
        raise SesError(f"The layout of {file} cannot be read: {error.strerror}.") from None
    except blob.LayoutError as error:
        raise SesError(f"The layout of {file} is not understood: {error}.") from None
    components = [
        {
            "start": component.start,
            "end": None if component.end == blob.EOF else component.end,
            "kind": component.kind,
            "stripe_count": None if component.stripe_count == blob.ALL_OSTS else component.stripe_count,
            "stripe_size_bytes": component.stripe_size,
            "first_ost": None if component.stripe_offset == blob.ANY_OST else component.stripe_offset,
            "pool": component.pool or None,
            "osts": list(component.osts) if component.kind != "mdt" else [],
        }
        for component in read.components
    ]
    return {"osts": list(read.osts), "mirrors": read.mirrors, "components": components}
