"""The C functions of libses/src/lustre/layout.c, called from Python."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Sequence
from pathlib import Path

POOL, LIST, OFFSET = 1, 2, 3


class _Choice(ctypes.Structure):
    _fields_ = (
        ("form", ctypes.c_int),
        ("pool", ctypes.c_char_p),
        ("osts", ctypes.POINTER(ctypes.c_uint16)),
        ("ost_count", ctypes.c_uint),
        ("stripe_count", ctypes.c_uint),
        ("stripe_size", ctypes.c_uint32),
    )


class LayoutLibrary:
    """Edits layouts as libses does."""

    def __init__(self, path: Path) -> None:
        self._edit = ctypes.CDLL(str(path)).ses_lov_edit
        self._edit.restype = ctypes.c_long

    def edit(
        self,
        inherited: bytes,
        form: int,
        *,
        pool: str | None = None,
        osts: Sequence[int] = (),
        stripe_count: int = 0,
        stripe_size: int = 0,
        room: int = 4096,
    ) -> bytes:
        """The layout with the choice in it; OSError when it is refused."""
        array = (ctypes.c_uint16 * max(1, len(osts)))(*osts)
        choice = _Choice(
            form, None if pool is None else pool.encode(), array, len(osts), stripe_count, stripe_size
        )
        into = ctypes.create_string_buffer(room + 1)
        result = self._edit(
            inherited,
            ctypes.c_size_t(len(inherited)),
            ctypes.byref(choice),
            into,
            ctypes.c_size_t(room),
            ctypes.create_string_buffer(512),
        )
        if result < 0:
            raise OSError(-result, errno.errorcode[-result])
        return into.raw[:result]
