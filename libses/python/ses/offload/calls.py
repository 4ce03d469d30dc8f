"""Domains and their calls, with the futures of :mod:`concurrent.futures`."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from ses_client.errors import SesError

from ses.native import Closable
from ses.offload.functions import begin, name_of
from ses.offload.library import Fallback, Status, ffi, library, put, taken, text

P = ParamSpec("P")
R = TypeVar("R")
_SLICE_SECONDS = 0.1  # until a call that runs notices that its domain is closed


class OffloadError(SesError):
    """A storage part did not start, or a call did not reach its function; ``status`` says which."""

    def __init__(self, status: int, why: str) -> None:
        self.status = Status(status)
        meaning = text(library().ses_offload_strerror(status))
        super().__init__(f"{meaning} ({why})" if why else meaning)


class FunctionError(OffloadError):
    """The function raised an exception; ``message`` is its kind and text."""

    def __init__(self, message: str) -> None:
        super().__init__(Status.FAILED, message)
        self.message = message


class Domain(Closable):
    """A storage part, a process of its own; it ends with :meth:`close` or the ``with`` block.

    It is started at an ``address`` of ``ses_offload_open``, or, given ``file`` in place of it, on the node
    that holds that file.  ``rsh``, ``listen`` (the address to listen on there), ``start_seconds`` and
    ``fallback`` are those of ``ses_offload_open``; ``program`` is the Python that runs there.  Raises
    OffloadError.  May be used by several threads.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        file: str | os.PathLike[str] | None = None,
        rsh: str | None = None,
        program: str | None = None,
        listen: str | None = None,
        start_seconds: int = 0,
        fallback: Fallback = Fallback.NEVER,
    ) -> None:
        if (address is None) == (file is None):
            raise ValueError("A domain takes either an address or a file.")
        begin()
        words = [
            ffi.NULL if option is None else ffi.new("char[]", option.encode())
            for option in (rsh, program, listen)
        ]
        options: Any = ffi.new("ses_offload_options *", [*words, start_seconds, fallback])
        domain: Any = ffi.new("ses_offload_domain **")
        if address is not None:
            status = library().ses_offload_open(address.encode(), options, domain)
        else:
            assert file is not None
            status = library().ses_offload_open_file(os.fsencode(file), options, domain)
        self.reason = text(library().ses_offload_reason())
        """Why calls run in this process, if they do by the fallback."""
        if status != Status.OK:
            raise OffloadError(status, self.reason)
        self._domain = domain[0]
        self._closing = threading.Event()
        self._calls = ThreadPoolExecutor(1, "ses-offload")

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Let a function run there.  Arguments are copied at once; ``cancel`` works until it has begun."""
        name = name_of(function)
        given = json.dumps({"args": args, "kwargs": kwargs}).encode()
        return self._calls.submit(self._run, name, given)

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function there and return what it returns; raises OffloadError and FunctionError."""
        return self.submit(function, *args, **kwargs).result()

    def close(self) -> None:
        """End the storage part, also a function that runs: its future then raises CancelledError."""
        self._closing.set()
        self._calls.shutdown(wait=True, cancel_futures=True)
        library().ses_offload_close(self._domain)
        self._domain = ffi.NULL

    def _run(self, name: str, given: bytes) -> Any:
        argument: Any = ffi.new("ses_offload_bytes *")
        result: Any = ffi.new("ses_offload_bytes *")
        report: Any = ffi.new("ses_offload_report *")
        future: Any = ffi.new("ses_offload_future **")
        put(given, argument)
        kind = ffi.addressof(library().ses_type_bytes)
        status = library().ses_offload_start(self._domain, name.encode(), argument, future)
        library().ses_offload_release(kind, argument)
        if status != Status.OK:
            raise OffloadError(status, "")
        try:
            while True:
                status = library().ses_offload_wait(future[0], _SLICE_SECONDS, result, report)
                if status != Status.NOT_YET:
                    break
                if self._closing.is_set():
                    raise CancelledError
        finally:
            library().ses_offload_free(future[0])
        if status == Status.FAILED:
            raise FunctionError(text(report.message))
        if status != Status.OK:
            raise OffloadError(status, text(report.message))
        value = json.loads(taken(result))
        library().ses_offload_release(kind, result)
        return value
