"""Creating files by a policy, and what became of each create."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, Any, AnyStr, Literal, cast, overload

from ses.api.layout import Layout
from ses.api.library import Status, describe, ffi, library, text
from ses.api.policy import StoragePolicy

BinaryMode = Literal["wb", "w+b", "wb+", "xb", "x+b", "xb+", "ab", "a+b", "ab+"]
TextMode = Literal["w", "wt", "w+", "w+t", "x", "xt", "x+", "x+t", "a", "at", "a+", "a+t"]
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one create.

    ``element`` is ``system/element``, ``""`` if not placed; ``distance`` how far it falls short of the
    requirements (0: meets them all), ``None`` if not placed; ``placement_id`` what ``ses explain`` knows the
    placement by, 0 if not placed; ``place_errno`` that of the step that failed with
    ``NOT_PLACED_STEP_FAILED``, else 0.
    """

    placed: bool
    reason: Status
    element: str
    distance: float | None
    placement_id: int
    place_errno: int

    @property
    def message(self) -> str:
        """Return the reason as one English clause."""
        return describe(self.reason)


@dataclass(frozen=True, slots=True)
class Node:
    """A compute node that may run a task.

    ``distance`` is how far it falls short of the requirements; ``read_rate`` and ``write_rate`` are what a
    stream would get there (MB/s, ``None``: not known); ``element`` is the best that the node reaches.
    """

    name: str
    distance: float
    read_rate: float | None
    write_rate: float | None
    element: str


class PlacedFile(IO[AnyStr]):
    """What ``open`` returns, for type hints: a file object of Python's own; ``result`` says where it went."""

    result: Result


class LustreManager:
    """Creates files where a policy is served best, on every storage system the site describes.

    The name is that of the QStorMan paper (Figure 3).  May be used by several threads.
    """

    default_mode = 0o666  # before the umask

    def __repr__(self) -> str:
        return "LustreManager()"

    def create_file(
        self, name: Path, policy: StoragePolicy | None = None, mode: int = default_mode
    ) -> tuple[int, Result]:
        """Create a file for reading and writing; return its descriptor, which the caller closes.

        A file that exists is emptied and stays where it is.  Raises OSError as :func:`os.open` does.
        """
        return self.create_file_at(None, name, os.O_RDWR | os.O_TRUNC, policy, mode)

    def create_file_at(
        self,
        directory: int | None,
        name: Path,
        flags: int,
        policy: StoragePolicy | None = None,
        mode: int = default_mode,
    ) -> tuple[int, Result]:
        """The same as ``os.open(name, flags | O_CREAT, mode, dir_fd=directory)``; close-on-exec as there."""
        path = os.fsencode(name)
        if b"\0" in path:
            raise ValueError("embedded null byte")
        result: Any = ffi.new("ses_result *")
        at = _AT_FDCWD if directory is None else directory
        flags |= os.O_CLOEXEC
        handle = ffi.NULL if policy is None else policy.handle
        descriptor: int = library().ses_create_at(at, path, flags, mode, handle, result)
        if descriptor < 0:
            raise OSError(result.create_errno, os.strerror(result.create_errno), os.fspath(name))
        return descriptor, _result(result)

    @overload
    def open(
        self,
        name: Path,
        policy: StoragePolicy | None = None,
        mode: BinaryMode = "w+b",
        *,
        buffering: int = -1,
        permissions: int = default_mode,
    ) -> PlacedFile[bytes]: ...

    @overload
    def open(
        self,
        name: Path,
        policy: StoragePolicy | None,
        mode: TextMode,
        *,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        permissions: int = default_mode,
    ) -> PlacedFile[str]: ...

    def open(
        self,
        name: Path,
        policy: StoragePolicy | None = None,
        mode: str = "w+b",
        *,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        permissions: int = default_mode,
    ) -> PlacedFile[Any]:
        """Create a file and return it as Python's own ``open`` does; a context manager that closes it.

        ``mode`` is one that creates: ``"w"`` (a file that exists is emptied and stays where it is), ``"x"``
        (it must not exist) or ``"a"`` (append), with ``"b"`` for bytes and ``"+"`` to read, too.  The file's
        ``result`` says where it went.  ``permissions`` count before the umask.  Raises OSError and
        ValueError as Python's ``open`` does.
        """
        results: list[Result] = []

        def create(path: Path, flags: int) -> int:
            if not flags & os.O_CREAT:
                raise ValueError(f"mode {mode!r} creates no file: use Python's own open")
            descriptor, result = self.create_file_at(None, path, flags, policy, permissions)
            results.append(result)
            return descriptor

        path = os.fspath(name)
        opened: Any = open(path, mode, buffering, encoding, errors, newline, opener=create)  # noqa: SIM115
        opened.result = results[0]
        return cast("PlacedFile[Any]", opened)

    def layout(self, name: Path) -> Layout:
        """Return where a file lies on Lustre now; raises OSError as :meth:`Layout.read` does."""
        return Layout.read(name)

    def find_nodes(
        self, policy: StoragePolicy | None = None, count: int = 1, among: str | None = None, limit: int = 10
    ) -> list[Node]:
        """Return nodes for a task whose files need what the policy requires, the best first.

        At most ``limit``, or ``count`` for one job with a stream on each; out of ``among``, such as
        ``n[0001-0048]``.  None is reserved.  Raises OSError: ``ENOENT`` without the command ``ses``,
        ``EHOSTUNREACH`` without a service, ``EACCES`` without its trust, ``EINVAL`` for what it refuses.
        """
        room = max(count, limit)
        nodes: Any = ffi.new("ses_node[]", room)
        handle = ffi.NULL if policy is None else policy.handle
        listed = ffi.NULL if among is None else among.encode()
        total: int = library().ses_find_nodes(handle, listed, count, nodes, room)
        if total < 0:
            raise OSError(ffi.errno, os.strerror(ffi.errno))
        return [_node(nodes[number]) for number in range(total)]


_AT_FDCWD = -100  # linux/fcntl.h


def _result(result: Any) -> Result:
    placed = bool(result.placed)
    return Result(
        placed=placed,
        reason=Status(result.reason),
        element=text(result.element),
        distance=result.distance if placed else None,
        placement_id=result.placement_id,
        place_errno=result.place_errno,
    )


def _node(node: Any) -> Node:
    return Node(
        name=text(node.name),
        distance=node.distance,
        read_rate=None if node.read_mb_s < 0 else node.read_mb_s,
        write_rate=None if node.write_mb_s < 0 else node.write_mb_s,
        element=text(node.element),
    )
