"""Compiles the extension modules of the package ``ses_core`` when it is installed.

``_core`` is the decision core: cffi reads the declarations from ses/core.h itself, so that nothing is written
twice.  ``_state`` is the state of the service (``libses/state``), which pybind11 binds.  The compilers are
called directly: the same few lines serve an editable install, a wheel and an image, and need no setuptools.
"""

import os
import re
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pybind11
from cffi import FFI
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_CORE = Path(__file__).resolve().parent.parent
_HEADER = _CORE.parent / "include" / "ses" / "core.h"
_STATE = _CORE.parent / "state"
_FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fPIC", "-shared", "-fvisibility=hidden")


def _compiler() -> str:
    return os.environ.get("CC", "cc")


def _cxx() -> str:
    return os.environ.get("CXX", "c++")


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
        _put(built, target)


def compile_state(target: Path, *flags: str) -> None:
    """Compile the state of the service and its binding into TARGET, with more FLAGS where there are."""
    included = [sysconfig.get_path("include"), pybind11.get_include(), str(_HEADER.parent.parent)]
    common = ["-g1", "-fPIC", "-fvisibility=hidden", *(f"-I{path}" for path in included), *flags]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as threads:

        def compiled(source: Path) -> str:
            by = [_compiler(), *_FLAGS[:3]] if source.suffix == ".c" else [_cxx(), "-std=gnu++20", "-O2"]
            made = f"{place}/{source.name}.o"
            subprocess.run([*by, *common, "-c", str(source), "-o", made], check=True)
            return made

        sources = sorted(path for path in _STATE.iterdir() if path.suffix in (".c", ".cpp"))
        objects = list(threads.map(compiled, sources))
        built = Path(place) / "module.so"
        linked = [_cxx(), "-shared", *flags, "-o", str(built), *objects, "-lsimdjson", "-lz"]
        subprocess.run(linked, check=True)
        _put(built, target)


def _put(built: Path, target: Path) -> None:
    """Put a module in its place; a program that has the one before in use keeps the file it has."""
    beside = target.with_suffix(".part")
    beside.write_bytes(built.read_bytes())
    beside.replace(target)


class CompileCore(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch calls this before it packs a wheel, an editable one too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile, and say that the wheel is for this kind of machine."""
        package = Path(self.root) / "ses_core"
        state = f"_state{sysconfig.get_config_var('EXT_SUFFIX')}"
        compile_module(package / "_core.abi3.so")
        compile_state(package / state)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"] += ["/ses_core/_core.abi3.so", f"/ses_core/{state}"]
