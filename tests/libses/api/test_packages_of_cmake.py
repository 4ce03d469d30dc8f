"""find_package of the installed libraries: what it finds, and what it does not have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(asks LANGUAGES C)
find_package({package} COMPONENTS nonsense)
message(STATUS "said=${{{package}_FOUND}} ${{{package}_nonsense_FOUND}}")
if(TARGET {target})
  message(FATAL_ERROR "the target is there")
endif()
find_package({package} REQUIRED OPTIONAL_COMPONENTS nonsense)
message(STATUS "then=${{{package}_FOUND}} ${{{package}_nonsense_FOUND}}")
if(NOT TARGET {target})
  message(FATAL_ERROR "the target is not there")
endif()
find_package({package} REQUIRED COMPONENTS nonsense)
"""


@pytest.mark.parametrize(("package", "target"), [("ses", "ses::ses"), ("ses-share", "ses::share")])
def test_a_component_that_does_not_exist_is_not_found(
    installed: Path, tmp_path: Path, package: str, target: str
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(package=package, target=target))
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode != 0, "the last one is required"
    assert "-- said=0 FALSE" in done.stdout or "-- said=FALSE FALSE" in done.stdout
    assert "-- then=1 FALSE" in done.stdout or "-- then=TRUE FALSE" in done.stdout
    assert f"link with {target}" in " ".join(done.stderr.split())
