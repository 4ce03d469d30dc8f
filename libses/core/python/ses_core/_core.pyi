"""The extension module that hatch_build.py compiles; cffi's types know neither structs nor numpy."""

from typing import Any

ffi: Any
lib: Any
