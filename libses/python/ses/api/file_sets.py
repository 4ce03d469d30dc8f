"""The files of a set of directories, by name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ses.place.file_set import FileSet


def file_set(directories: str | Iterable[str | os.PathLike[str]]) -> FileSet:
    """Return the files of a set of directories, named as docs/front-ends.md says, or of these directories.

        files = ses.api.file_set("scratch")
        with files.open("run1/state.bin", "wb", size="20GB") as state:  # goes where it is served best
            write_into(state)
        print(files.find("run1/state.bin").path)  # wherever it went

    Raises ``ses_client.errors.SesError`` for a set that is not known, or settings that make no sense.
    """
    from ses.place.file_set import FileSet
    from ses.place.sets import DirectorySet, directory_set, with_directories

    if isinstance(directories, str):
        return FileSet(with_directories(directory_set(directories)))
    paths = tuple(os.fspath(path) for path in directories)
    return FileSet(DirectorySet(":".join(paths), paths))
