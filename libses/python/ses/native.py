"""C libraries of QStorMan behind Python modules: where they are looked for, and closing what they opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from cffi import FFI

_CHECKOUT = Path(__file__).parents[3] / "build" / "libses"


class Closable:
    """A context that closes what it opened."""

    def close(self) -> None:
        """Give back what was opened."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(ffi: FFI, name: str, named: str | None, advice: str, error: type[Exception]) -> Any:
    """Return the library of this name, or the file ``named`` instead.

    Raises ``error``, whose text says where it was looked for, and ``advice``.
    """
    places = [named] if named else [name, str(_CHECKOUT / name)]
    failures = []
    for place in places:
        try:
            return ffi.dlopen(place)
        except OSError as failure:
            failures.append(str(failure))
    raise error(f"{' and '.join(places)} cannot be loaded ({'; '.join(failures)}). {advice}")


def text(ffi: FFI, characters: Any) -> str:
    """Return a text of a library's as one of Python's."""
    decoded = ffi.string(characters)
    return decoded if isinstance(decoded, str) else decoded.decode(errors="replace")
