"""``ses://SET/PATH`` for fsspec, and so for pandas, Dask, PyTorch and all that open files by it.

What a name means is said in ``ses.place.file_set``.  ``ses://`` alone lists the sets of directories.toml.
"""

from __future__ import annotations

import errno
import secrets
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from ses_client.errors import NotFoundError, SesError

from ses.api import file_set
from ses.place.file_set import Entry, FileSet
from ses.place.sets import settings


class SesFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of all sets of directories; a path begins with the name of a set.

    ``directories`` describes sets in the place of settings: ``{"scratch": ["/scratch1", "/scratch2"]}``.
    """

    protocol = "ses"

    def __init__(self, directories: Mapping[str, Sequence[str]] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._directories = dict(directories or {})
        self._opened: dict[str, FileSet] = {}

    def _at(self, path: str) -> tuple[FileSet, str]:
        """Return the set that a path begins with, and the name in it; raises OSError where there is none."""
        chosen, _, name = self._strip_protocol(path).partition("/")
        if chosen not in self._opened:
            try:
                self._opened[chosen] = file_set(self._directories.get(chosen, chosen))
            except SesError as error:
                number = errno.ENOENT if isinstance(error, NotFoundError) or not chosen else errno.EINVAL
                raise OSError(number, error.full_message, path) from error
        return self._opened[chosen], name

    def _open(
        self, path: str, mode: str = "rb", *_: Any, autocommit: bool = True, **options: Any
    ) -> Any:  # ``size``: bytes that will be written
        files, name = self._at(path)
        size = options.get("size")
        if autocommit or "r" in mode:
            return files.open(name, mode, size=size)
        folder, slash, last = name.rpartition("/")
        part = f"{folder}{slash}.{last}.{secrets.token_hex(4)}"
        opened: Any = files.open(part, mode, size=size)
        opened.commit, opened.discard = partial(files.rename, part, name), partial(files.remove, part)
        return opened

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """List a directory of a set, or the sets."""
        path = self._strip_protocol(path)
        if not path:
            names = sorted({*self._directories, *settings()})
            infos = [{"name": name, "size": 0, "type": "directory"} for name in names]
        elif self.info(path)["type"] == "file":
            infos = [self.info(path)]
        else:
            files, name = self._at(path)
            infos = [_info(f"{path}/{last}", entry) for last, entry in sorted(files.entries(name).items())]
        return infos if detail else [info["name"] for info in infos]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return size, kind and times, and where it is: ``local_path``."""
        path = self._strip_protocol(path)
        if not path:
            return {"name": "", "size": 0, "type": "directory"}
        files, name = self._at(path)
        return _info(path, files.find(name))

    def mkdir(self, path: str, *_: Any, **__: Any) -> None:
        """Make a directory and its parents."""
        self.makedirs(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a directory and its parents."""
        files, name = self._at(path)
        files.make_directory(name, exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        files, name = self._at(path)
        files.remove_directory(name)

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        files, name = self._at(path)
        files.remove(name)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, and directories with ``recursive``."""
        for each in reversed(self.expand_path(path, recursive=recursive, maxdepth=maxdepth)):
            (self.rmdir if recursive and self.isdir(each) else self.rm_file)(each)

    def mv(self, path1: Any, path2: Any, **options: Any) -> None:
        """Move a file or directory within its set in one step; raises OSError where there is no such step.

        Between two sets, and for lists, it is copied and removed.
        """
        if isinstance(path1, str) and isinstance(path2, str) and not set("*?[") & set(path1):
            (files, old), (others, new) = self._at(path1), self._at(path2)
            if files is others:
                files.rename(old, new)
                return
        super().mv(path1, path2, **options)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy a file to where it is served best."""
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            return
        with self.open(path1, "rb") as source, self.open(path2, "wb", size=self.size(path1)) as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def put_file(self, lpath: str, rpath: str, *arguments: Any, **options: Any) -> None:
        """Copy a local file to where it fits, and is served best."""
        super().put_file(lpath, rpath, *arguments, **options, size=Path(lpath).stat().st_size)

    def created(self, path: str) -> datetime:
        """Return when its status was changed last."""
        return datetime.fromtimestamp(self.info(path)["created"], UTC)

    def modified(self, path: str) -> datetime:
        """Return when its content was changed last."""
        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)


def _info(name: str, entry: Entry) -> dict[str, Any]:
    status = entry.status
    return {
        "name": name,
        "size": 0 if entry.is_directory else status.st_size,
        "type": "directory" if entry.is_directory else "file",
        "created": status.st_ctime,
        "mtime": status.st_mtime,
        "mode": status.st_mode,
        "local_path": str(entry.path),
    }
