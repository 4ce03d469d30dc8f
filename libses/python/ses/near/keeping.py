"""Output of tasks whose turn has not come, in files of a folder: thousands may wait, so none is held open."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_COPY = 1 << 18


class Kept:
    """What a task has written, in a file that is made with its first byte."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._open: IO[bytes] | None = None

    def write(self, data: bytes) -> None:
        """Add to it; raises OSError."""
        with self._explained():
            if self._open is None:
                descriptor, name = tempfile.mkstemp(dir=self._folder)
                self._path, self._open = Path(name), os.fdopen(descriptor, "wb")
            self._open.write(data)

    def close(self) -> None:
        """Nothing more is added; raises OSError."""
        if self._open is not None:
            with self._explained():
                self._open.close()

    def pass_on(self, to: Callable[[bytes], object]) -> None:
        """Pass all of it on, and forget it."""
        if self._path is not None:
            with self._path.open("rb") as source:
                while data := source.read(_COPY):
                    to(data)
            self.drop()

    def taken(self) -> bytes:
        """Return all of it, and forget it."""
        data = bytearray()
        self.pass_on(data.extend)
        return bytes(data)

    def drop(self) -> None:
        """Forget it."""
        if self._open is not None:
            with suppress(OSError):  # what could not be written is tried once more
                self._open.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = f"its output cannot be kept on this machine, in {self._folder}"
            raise OSError(f"{where}: {error.strerror}") from error


class Output:
    """Standard output and errors of a task."""

    def __init__(self, folder: Path) -> None:
        self.out, self.errors = Kept(folder), Kept(folder)

    def close(self) -> None:
        """Nothing more is added; raises OSError."""
        self.out.close()
        self.errors.close()

    def drop(self) -> None:
        """Forget all."""
        self.out.drop()
        self.errors.drop()
