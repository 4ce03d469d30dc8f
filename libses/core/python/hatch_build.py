"""Compiles the decision core into the extension module ``ses_core._core`` when the package is installed.

cffi reads the declarations from ses/core.h itself, so that nothing is written twice, and the C compiler is
called directly: the same few lines serve an editable install, a wheel and an image, and need no setuptools.
"""

import os
import re
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from cffi import FFI
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_CORE = Path(__file__).resolve().parent.parent
_HEADER = _CORE.parent / "include" / "ses" / "core.h"
_FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fPIC", "-shared", "-fvisibility=hidden")


def _compiler() -> str:
    return os.environ.get("CC", "cc")


def declarations() -> str:
    """Return what ses/core.h declares, without what it includes, as cffi reads it."""
    command = [_compiler(), "-std=gnu11", "-E", "-I", str(_HEADER.parent.parent), str(_HEADER)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kept = []
    ours = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = marker[1] == str(_HEADER)
        elif ours and not line.startswith(("#", "_Static_assert")):
            kept.append(line)
    return "\n".join(kept)


def compile_module(target: Path) -> None:
    """Compile the core and its binding into TARGET."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source("ses_core._core", '#include "ses/core.h"')
    with tempfile.TemporaryDirectory() as place:
        binding = Path(place) / "binding.c"
        built = Path(place) / "module.so"
        ffi.emit_c_code(str(binding))
        subprocess.run(
            [
                *(_compiler(), *_FLAGS),
                *("-I", sysconfig.get_path("include"), "-I", str(_HEADER.parent.parent), "-o", str(built)),
                *(str(binding), *map(str, sorted(_CORE.glob("*.c")))),
            ],
            check=True,
        )
        # A program that has the module in use keeps the file it has.
        beside = target.with_suffix(".part")
        beside.write_bytes(built.read_bytes())
        beside.replace(target)


class CompileCore(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch calls this before it packs a wheel, an editable one too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile, and say that the wheel is for this kind of machine."""
        module = Path(self.root) / "ses_core" / "_core.abi3.so"
        compile_module(module)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append("/ses_core/_core.abi3.so")
