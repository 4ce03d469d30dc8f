"""Compiles the extension module of the package ``ses_state`` when it is installed.

pybind11 binds it. The compiler is called directly, as for the decision core: the same few lines serve an
editable install, a wheel and an image.
"""

import os
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pybind11
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_STATE = Path(__file__).resolve().parent.parent
_BINDING = Path(__file__).resolve().parent / "binding"
_HEADERS = _STATE.parent / "include"
_CPP = (os.environ.get("CXX", "c++"), "-std=gnu++20", "-O2", "-fno-math-errno")


def compile_state(target: Path, *flags: str) -> None:
    """Compile the state of the service and its binding into TARGET, with more FLAGS where there are."""
    included = [sysconfig.get_path("include"), pybind11.get_include(), str(_HEADERS), str(_STATE)]
    common = ["-g1", "-fPIC", "-fvisibility=hidden", *(f"-I{path}" for path in included), *flags]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as threads:

        def compiled(source: Path) -> str:
            made = f"{place}/{source.name}.o"
            subprocess.run([*_CPP, *common, "-c", str(source), "-o", made], check=True)
            return made

        sources = sorted([*_STATE.glob("*.cpp"), *_BINDING.glob("*.cpp")])
        objects = list(threads.map(compiled, sources))
        built = Path(place) / "module.so"
        linked = [_CPP[0], "-shared", *flags, "-o", str(built), *objects, "-lsimdjson", "-lz"]
        subprocess.run(linked, check=True)
        beside = target.with_suffix(".part")  # a program that has the one before in use keeps the file it has
        beside.write_bytes(built.read_bytes())
        beside.replace(target)


class CompileState(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch calls this before it packs a wheel, an editable one too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile, and say that the wheel is for this kind of machine."""
        module = f"_state{sysconfig.get_config_var('EXT_SUFFIX')}"
        compile_state(Path(self.root) / "ses_state" / module)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"] += [f"/ses_state/{module}"]
