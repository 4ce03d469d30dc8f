"""The structs of ses/core.h as numpy dtypes, and its numbers as enumerations.

The dtypes are made from what the compiler says of the structs, so that they cannot differ from them: an
array of ELEMENT is a table the core reads as it lies in memory.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

from ses_core._core import ffi

_NUMBERS = {
    "double": np.float64,
    "float": np.float32,
    "uint64_t": np.uint64,
    "uint32_t": np.uint32,
    "uint16_t": np.uint16,
    "uint8_t": np.uint8,
}


def _dtype(kind: Any) -> np.dtype[Any]:
    if kind.kind == "primitive":
        return np.dtype(_NUMBERS[kind.cname])
    if kind.kind == "array":
        return np.dtype((_dtype(kind.item), (kind.length,)))
    fields = [(name, field) for name, field in kind.fields if name != "padding"]
    return np.dtype(
        {
            "names": [name for name, _ in fields],
            "formats": [_dtype(field.type) for _, field in fields],
            "offsets": [field.offset for _, field in fields],
            "itemsize": ffi.sizeof(kind),
        }
    )


def _struct(name: str) -> np.dtype[Any]:
    return _dtype(ffi.typeof(f"struct ses_core_{name}"))


ELEMENT = _struct("element")
SAMPLE = _struct("sample")
POLICY = _struct("policy")
REQUIREMENT = _struct("requirement")
NEED = _struct("need")
OFFER = _struct("offer")
VERDICT = _struct("verdict")


class State(IntFlag):
    """What an administrator, or the file system, says of an element."""

    INACTIVE = 1
    READ_ONLY = 2
    DRAINING = 4
    DEGRADED = 8
    SCARCE = 16


class Kind(IntEnum):
    """What can be required; ``STATED_FIRST + n`` is what the site states in ``stated[n]``."""

    CURRENT_READ = 1
    AVERAGE_READ = 2
    CURRENT_WRITE = 3
    AVERAGE_WRITE = 4
    FREE = 5
    STATED_FIRST = 16


class Refusal(IntEnum):
    """Why an element cannot take a file."""

    ACCEPTED = 0
    EXCLUDED = 1
    INACTIVE = 2
    READ_ONLY = 3
    DRAINING = 4
    NO_ROOM = 5
    REQUIREMENT = 6
    DEGRADED = 7


class Order(IntEnum):
    """What puts a row after the one before it."""

    FIRST = 0
    ROOM = 1
    DISTANCE = 2
    COMPARED = 3
    SCARCE = 4
    KEPT = 5
    SHARE = 6
    OWN = 7
    FOREIGN = 8
    LAST_PLACED = 9
    TABLE = 10
    HARM = 11


class Cause(IntEnum):
    """What decided the number of stripes."""

    NOTHING = 0
    RATE = 1
    HINT = 2
    SIZE = 3
    IDLE = 4
    SITE = 5
    ELEMENTS = 6
