"""Functions that can be called, and the role of this process: caller or storage part."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ses_client.errors import SesError

from ses.offload.library import ffi, library, put, taken, text

P = ParamSpec("P")
R = TypeVar("R")

_names: dict[Callable[..., Any], str] = {}
_kept: list[Any] = []  # what the library has pointers to


def function(called: Callable[P, R]) -> Callable[P, R]:
    """Make a function callable in a storage part, under its qualified name.  Raises SesError."""
    begin()
    name = called.__qualname__

    def run(given: Any, result: Any) -> int:
        try:
            arguments = json.loads(taken(ffi.cast("ses_offload_bytes *", given)))
            value = called(*arguments["args"], **arguments["kwargs"])
            put(json.dumps(value).encode(), ffi.cast("ses_offload_bytes *", result))
        except BaseException as error:
            library().ses_offload_explain(f"{type(error).__name__}: {error}".encode())
            return 1
        return 0

    callback = ffi.callback("int(const void *, void *)", run, error=1)
    # Two builds differ where signatures do; the library compares the names of types.
    kind: Any = ffi.new("ses_offload_type *", library().ses_type_bytes)
    kind.name = signature = ffi.new("char[]", f"python{inspect.signature(called)}".encode())
    _kept.extend((callback, kind, signature))
    status = library().ses_offload_register_function(name.encode(), callback, kind, kind)
    if status != 0:
        raise SesError(f"{name} cannot be registered: {text(library().ses_offload_strerror(status))}.")
    _names[called] = name
    return called


def serve() -> None:
    """Call it once every function is defined.  In a storage part it serves its caller and never returns."""
    begin()
    sys.stdout.flush()
    library().ses_offload_serve()


def is_cancelled() -> bool:
    """Within a function: does its caller want it to stop?"""
    return bool(library().ses_offload_is_cancelled())


def name_of(called: Callable[..., Any]) -> str:
    """Return the name a function was registered under; raises SesError."""
    try:
        return _names[called]
    except KeyError:
        raise SesError(
            f"{called.__qualname__} is not callable elsewhere: decorate it with function."
        ) from None


@cache
def begin() -> None:
    """Find out the role, take its argument out of ``sys.argv``, and return how this script is started."""
    words = [ffi.new("char[]", os.fsencode(word)) for word in sys.argv]
    array: Any = ffi.new("char *[]", [*words, ffi.NULL])
    count: Any = ffi.new("int *", len(words))
    argv: Any = ffi.new("char ***", array)
    library().ses_offload_init(count, argv)
    sys.argv[:] = [os.fsdecode(ffi.string(array[number])) for number in range(count[0])]
    command = [ffi.new("char[]", os.fsencode(word)) for word in _command()]
    library().ses_offload_set_command(ffi.new("char *[]", [*command, ffi.NULL]))


def _command() -> list[str]:
    """Return what starts this script without its own arguments."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return [sys.executable, "-m", spec.name.removesuffix(".__main__")]
    return [sys.executable, str(Path(sys.argv[0] if sys.argv else "").absolute())]
