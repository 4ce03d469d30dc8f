"""The C functions of libses/src/lustre/layout.c and evidence.c, called from Python."""

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


class _Members(ctypes.Structure):
    _fields_ = (("words", ctypes.POINTER(ctypes.c_uint64)), ("count", ctypes.c_uint))


class LayoutLibrary:
    """Edits and judges layouts as libses does."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        self._edit, self._lies_as = library.ses_lov_edit, library.ses_lov_lies_as
        self._edit.restype = ctypes.c_long
        self._lies_as.restype = ctypes.c_bool

    def lies_as(
        self,
        layout: bytes,
        form: int,
        *,
        pool: str = "",
        osts: Sequence[int] = (),
        members: Sequence[int] = (),
    ) -> bool:
        """Does a file of this layout lie where the choice said?"""
        array = (ctypes.c_uint16 * max(1, len(osts)))(*osts)
        choice = _Choice(form, pool.encode(), array, len(osts), 0, 0)
        bits = sum(1 << ost for ost in members)
        words = (ctypes.c_uint64 * 4)(*(bits >> 64 * word & (1 << 64) - 1 for word in range(4)))
        return bool(
            self._lies_as(
                layout,
                ctypes.c_size_t(len(layout)),
                ctypes.byref(choice),
                ctypes.byref(_Members(words, 4)),
                ctypes.create_string_buffer(512),
            )
        )

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
