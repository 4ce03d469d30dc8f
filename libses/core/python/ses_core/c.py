"""The structs and functions of ses/core.h by cffi alone: for callers of a few rows, who need no numpy."""

from ses_core._core import ffi, lib

__all__ = ["ffi", "lib"]
