"""libses-offload and libses-share as strangers get them: headers, exported names, packages of their own."""

import re
from pathlib import Path

import pytest
from interfaces import (
    must_compile_its_example,
    must_export_what_is_declared,
    must_have_no_component,
    must_keep_what_was_promised,
    must_notice_a_break,
    must_stand_alone,
)
from layers import circle
from stranger_programs import build_with_cmake, run

ROOT = Path(__file__).parents[2]
EXTRAS = ROOT / "libses/extras"
HEADERS = EXTRAS / "include/ses"
IN_MAIN = "int main(void) {\nEXAMPLE\n}\n"
USE = "template <class T> void use(const T &) {}\n"
# What stands around it: what it includes besides the header, and declarations that its text leaves out.
AROUND = {
    "share.h": "static double value = 0.93;\n" + IN_MAIN,
    "share.hpp": "#include <mutex>\n" + USE + IN_MAIN,
    "offload.h": "static long words_of(const char *path) { return path[0]; }\nEXAMPLE",
    "offload.hpp": "#include <iostream>\n" + USE + "EXAMPLE",
    "orca.h": "static long words_of(const char *path) { return path[0]; }\nEXAMPLE",
    "offload_types.h": "EXAMPLE\nint main(void) { return query_type.size == 0; }\n",
}


@pytest.mark.parametrize("library", ["libses-offload", "libses-share"])
def test_a_library_keeps_what_was_promised(build: Path, library: str) -> None:
    must_keep_what_was_promised(EXTRAS / f"abi/{library}.abi", build / f"{library}.so.0", HEADERS)


@pytest.mark.parametrize(
    ("library", "promise", "broken"),
    [
        ("libses-share", "name='ses_share_put'", "name='ses_share_give'"),
        ("libses-offload", "name='ses_type_long'", "name='ses_type_length'"),
    ],
    ids=["another function", "a variable that is gone"],
)
def test_a_break_is_noticed(build: Path, tmp_path: Path, library: str, promise: str, broken: str) -> None:
    promised = EXTRAS / f"abi/{library}.abi"
    must_notice_a_break(promised, build / f"{library}.so.0", promise, broken, tmp_path)


@pytest.mark.parametrize(
    ("library", "headers"),
    [("libses-share", ["share.h"]), ("libses-offload", ["offload.h", "offload_types.h"])],
)
def test_a_library_exports_exactly_the_functions_of_its_headers(
    build: Path, library: str, headers: list[str]
) -> None:
    must_export_what_is_declared(build / f"{library}.so.0", [HEADERS / name for name in headers])


@pytest.mark.parametrize("header", AROUND)
def test_the_example_of_a_header_compiles(tmp_path: Path, header: str) -> None:
    must_compile_its_example(HEADERS / header, AROUND[header], tmp_path)


def test_every_header_shows_an_example() -> None:
    """What another header includes does not."""
    assert {path.name for path in HEADERS.iterdir()} - set(AROUND) == {"offload_coding.hpp"}


def test_the_pages_of_the_interface_have_every_header() -> None:
    """`make docs` writes them; doxygen itself is not run."""
    settings = (ROOT / "libses/include/Doxyfile").read_text()
    assert set(re.findall(r" libses/extras/include/ses/(\w+\.h(?:pp)?)\b", settings)) == set(AROUND)


@pytest.mark.parametrize("name", ["offload", "share"])
def test_no_two_files_of_a_library_need_each_other(build: Path, name: str) -> None:
    objects = (build / f"extras/{name}/CMakeFiles/ses_{name}.dir").rglob("*.o")
    assert circle(sorted(objects)) == []


def installed(build: Path, package: str, prefix: Path) -> Path:
    """PREFIX with a package alone: without libses, and without the other one."""
    component = package.removeprefix("ses-")
    run(["cmake", "--install", build, "--component", component, "--prefix", prefix])
    assert [path.name for path in prefix.rglob("cmake/*")] == [package]
    return prefix


@pytest.mark.parametrize(
    ("compiler", "headers"),
    [
        ("cc -std=c89", ["ses/share.h"]),
        ("cc -std=c99 -Wstrict-prototypes", ["ses/share.h"]),
        ("cc -std=c2x", ["ses/share.h"]),
        ("c++ -std=c++98", ["ses/share.h"]),
        ("c++ -std=c++17 -Wold-style-cast", ["ses/share.h", "ses/share.hpp"]),
        ("c++ -std=c++23 -Wold-style-cast", ["ses/share.h", "ses/share.hpp"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_installed_header_stands_alone_in_silence(
    build: Path, tmp_path: Path, compiler: str, headers: list[str]
) -> None:
    prefix = installed(build, "ses-share", tmp_path / "prefix")
    must_stand_alone(compiler, headers, prefix / "include", tmp_path)


OTHER_PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(other LANGUAGES CXX)
find_package({package} 0.1 REQUIRED)
add_executable(program {source})
target_compile_features(program PRIVATE cxx_std_17)
target_link_libraries(program PRIVATE {target})
"""


@pytest.mark.parametrize(
    ("package", "target", "source"),
    [
        ("ses-share", "ses::share", "tests/extras/share/values.cpp"),
        ("ses-offload", "ses::offload", "tests/extras/offload/values.cpp"),
    ],
)
def test_a_library_is_found_by_cmake(
    build: Path, tmp_path: Path, package: str, target: str, source: str
) -> None:
    prefix = installed(build, package, tmp_path / "prefix")
    text = OTHER_PROJECT.format(package=package, target=target, source=ROOT / source)
    (tmp_path / "CMakeLists.txt").write_text(text)
    assert (build_with_cmake(tmp_path, tmp_path / "built", prefix) / "program").exists()


def test_a_component_that_does_not_exist_is_not_found(build: Path, tmp_path: Path) -> None:
    must_have_no_component(
        "ses-share", "ses::share", installed(build, "ses-share", tmp_path / "prefix"), tmp_path
    )
