"""How loaded the elements are, for programs that choose themselves."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from ses.api.library import ffi, library, text
from ses.native import Closable

_MAX_ELEMENTS = 64  # elements of a system in the node's table
_REFUSES, _DEGRADED, _SCARCE = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Load:
    """One element now.

    ``read_rate`` and ``write_rate`` are what it gives at best (MB/s), ``free`` what is free beyond what open
    files are expected to take (GB); ``own`` are streams of files that were placed there, ``foreign`` all the
    rest, ``busy`` the part of its time it was in use, 0 to 1.  ``None``: not known.  ``refuses``: it takes no
    files now; ``degraded``: only if no other can; ``scarce``: it is spared where others do as well.
    """

    element: str
    number: int
    read_rate: float | None
    write_rate: float | None
    free: float | None
    own: float
    foreign: float
    busy: float | None
    refuses: bool
    degraded: bool
    scarce: bool


class Loads(Closable):
    """The elements that files in a directory may go to.  A context that closes it; one thread at a time.

    Raises OSError: with ENODEV the directory lies on no storage system that the node's agent describes.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)
        opened = library().ses_loads_open(os.fsencode(self.directory))
        if opened == ffi.NULL:
            raise OSError(ffi.errno, os.strerror(ffi.errno), self.directory)
        self._loads = ffi.gc(opened, library().ses_loads_close)
        self._rows: Any = ffi.new(f"ses_load[{_MAX_ELEMENTS}]")
        self._age: Any = ffi.new("double *")

    def __repr__(self) -> str:
        return f"Loads({self.directory!r})"

    def close(self) -> None:
        """Give back its memory; :meth:`read` must not be called any more."""
        ffi.release(self._loads)

    @property
    def age(self) -> float:
        """Seconds, at the last read, since the service sent the loads."""
        return float(self._age[0])

    def read(self) -> list[Load]:
        """Return the loads of one moment.  Raises OSError: the agent is gone (ENODEV)."""
        count = library().ses_loads_read(self._loads, self._rows, _MAX_ELEMENTS, self._age)
        if count < 0:
            raise OSError(ffi.errno, os.strerror(ffi.errno), self.directory)
        return [self._load(row) for row in range(count)]

    def _load(self, row: int) -> Load:
        load = self._rows[row]
        return Load(
            element=text(library().ses_loads_element(self._loads, row)),
            number=int(load.number),
            read_rate=_known(load.read_mb_s),
            write_rate=_known(load.write_mb_s),
            free=_known(load.free_gb),
            own=float(load.own),
            foreign=float(load.foreign),
            busy=_known(load.busy),
            refuses=bool(load.state & _REFUSES),
            degraded=bool(load.state & _DEGRADED),
            scarce=bool(load.state & _SCARCE),
        )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
