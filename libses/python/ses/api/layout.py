"""Where a file lies on Lustre."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ses.api.library import ffi, library, text

TO_THE_END = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a layout: bytes ``start`` to before ``end`` (``None``: the file's end).

    ``stripe_size`` in bytes and ``stripe_count`` are 0 for the file system's own; 65535 stripes are all OSTs.
    ``osts`` are the indexes of the OSTs in the order of stripes, empty as long as nothing is written there.
    """

    start: int
    end: int | None
    stripe_size: int
    stripe_count: int
    on_metadata_server: bool
    pool: str
    osts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file lies, as it was when this was read; of a directory, what it gives to new files."""

    components: tuple[Component, ...]

    @classmethod
    def read(cls, name: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Layout:
        """Read a layout.

        Raises OSError: ENODATA there is none yet, EOPNOTSUPP not on Lustre, EINVAL one this version does
        not understand, or as getxattr(2) sets it.
        """
        path = os.fsencode(name)
        if b"\0" in path:
            raise ValueError("embedded null byte")
        c = library()
        handle = c.ses_layout_read(path)
        if handle == ffi.NULL:
            raise OSError(ffi.errno, os.strerror(ffi.errno), os.fspath(name))
        try:
            return cls(
                tuple(_component(c, handle, number) for number in range(c.ses_layout_components(handle)))
            )
        finally:
            c.ses_layout_free(handle)


def _component(c: Any, layout: Any, number: int) -> Component:
    component: Any = ffi.new("ses_component *")
    c.ses_layout_component(layout, number, component)
    osts: Any = ffi.new("uint32_t[]", component.osts)
    c.ses_layout_osts(layout, number, osts, component.osts)
    return Component(
        start=component.start,
        end=None if component.end == TO_THE_END else component.end,
        stripe_size=component.stripe_size,
        stripe_count=component.stripe_count,
        on_metadata_server=bool(component.on_metadata_server),
        pool=text(component.pool),
        osts=tuple(osts),
    )
