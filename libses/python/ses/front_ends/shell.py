"""A line of shell that gives what follows it a place as ``TMPDIR``, and removes that when the shell ends."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from ses.place.sets import directory_set


def place(where: str, name: str, *, size: str | None = None, need: Iterable[str] = ()) -> str:
    """Return the line for bash; a directory ``name-XXXX`` is made in one of the directories of ``where``.

    The claim ends with the shell, which exits where nothing fits.  ``size`` and ``need`` are the texts that
    ``ses place`` takes.  Raises SesError for settings that make no sense.
    """
    words = ["ses", "place", *directory_set(where).options(), "--mkdir", f"{name}-XXXXXX"]
    words += [] if size is None else ["--size", size]
    words += [word for text in need for word in ("--need", text)]
    asked = f"SES_PLACE=$({shlex.join(words)} --for pid:$$) || exit"
    return f"""{asked}; export SES_PLACE TMPDIR="$SES_PLACE"; trap 'rm -rf "$SES_PLACE"' EXIT; """
