"""What is installed is enough to build and run somebody else's program."""

import os
import re
import shutil
from pathlib import Path

import pytest
from interfaces import must_export_what_is_declared, must_have_no_component, must_stand_alone
from ran import ran
from stranger_programs import answers, run

STRANGER = Path(__file__).parents[1] / "stranger"
ROOT = Path(__file__).parents[3]
NOT_MANAGED = "21"


def store(program: Path, directory: Path, *arguments: str) -> dict[str, str]:
    """Run a stranger's program on a name in DIRECTORY, where no agent listens."""
    environment = {**os.environ, "SES_AGENT_SOCKET": str(directory / "no-agent.sock")}
    done = ran([program, directory / "stored", *arguments], env=environment)
    return answers(done.stdout)


@pytest.mark.parametrize("program", ["store_c", "store_cpp"])
def test_a_program_that_found_the_package_creates_its_file_without_an_agent(
    stranger: Path, tmp_path: Path, program: str
) -> None:
    said = store(stranger / program, tmp_path)
    assert int(said["fd"]) >= 0
    assert (said["placed"], said["reason"], said["element"]) == ("0", NOT_MANAGED, "")
    assert (tmp_path / "stored").read_text() == "stored\n"


def pkg_config(prefix: Path, *arguments: str) -> list[str]:
    (description,) = prefix.rglob("ses.pc")
    command = ["env", f"PKG_CONFIG_PATH={description.parent}", "pkg-config", *arguments, "ses"]
    return run(command).split()


@pytest.mark.parametrize(
    ("compiler", "source"),
    [
        (["cc", "-std=c11", "-D_GNU_SOURCE"], "store.c"),
        (["c++", "-std=c++17"], "store.cpp"),
        (["c++", "-std=c++20"], "store.cpp"),
    ],
    ids=["c11", "c++17", "c++20"],
)
def test_a_program_that_asked_pkg_config_works_also_after_the_prefix_has_moved(
    installed: Path, tmp_path: Path, compiler: list[str], source: str
) -> None:
    prefix = tmp_path / "moved"
    shutil.copytree(installed, prefix, symlinks=True)
    program = tmp_path / "program"
    libdir = pkg_config(prefix, "--variable=libdir")[0]
    assert Path(libdir).resolve().is_relative_to(prefix)
    flags = pkg_config(prefix, "--cflags", "--libs")
    run(
        [
            *compiler,
            "-Wall",
            "-Wextra",
            "-Werror",
            STRANGER / source,
            "-o",
            program,
            *flags,
            f"-Wl,-rpath,{libdir}",
        ]
    )
    said = store(program, tmp_path)
    assert (said["placed"], said["reason"]) == ("0", NOT_MANAGED)


C_HEADERS = ["ses/ses.h", "ses/limits.h", "ses/stream.h", "ses/protocol.h"]


@pytest.mark.parametrize(
    ("compiler", "headers"),
    [
        ("cc -std=c89", C_HEADERS[:3]),
        ("cc -std=c99 -Wstrict-prototypes", C_HEADERS),
        ("cc -std=c2x", C_HEADERS),
        ("c++ -std=c++98", C_HEADERS[:3]),
        ("c++ -std=c++17 -Wold-style-cast", [*C_HEADERS, "ses/ses.hpp"]),
        ("c++ -std=c++17 -fno-exceptions -fno-rtti", ["ses/ses.hpp"]),
        ("c++ -std=c++23 -Wold-style-cast", [*C_HEADERS, "ses/ses.hpp"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_installed_header_stands_alone_in_silence(
    installed: Path, tmp_path: Path, compiler: str, headers: list[str]
) -> None:
    must_stand_alone(compiler, headers, installed / "include", tmp_path)


TAKES_IT_IN = """
cmake_minimum_required(VERSION 3.16)
project(own LANGUAGES C CXX)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Werror)
add_subdirectory({libses} qstorman EXCLUDE_FROM_ALL)
add_executable(figure3 {figure})
target_compile_features(figure3 PRIVATE cxx_std_17)
target_link_libraries(figure3 PRIVATE ses::ses)
"""


def test_a_project_takes_the_library_in_from_its_sources(tmp_path: Path) -> None:
    """The library alone: nothing that only the agent needs, and no warning of another project."""
    text = TAKES_IT_IN.format(libses=ROOT / "libses", figure=ROOT / "examples/figure3.cpp")
    (tmp_path / "CMakeLists.txt").write_text(text)
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "built", "-G", "Ninja"])
    run(["cmake", "--build", tmp_path / "built"])
    assert not list((tmp_path / "built").rglob("ses-agent*"))
    assert run([tmp_path / "built/figure3"], tmp_path).startswith("fileName.dat was not placed: ")


def test_an_older_standard_is_reported_in_one_clear_error(installed: Path, tmp_path: Path) -> None:
    source = tmp_path / "old.cpp"
    source.write_text("#include <ses/ses.hpp>\nint main() { return 0; }\n")
    command = ["c++", "-std=c++14", f"-I{installed}/include", "-c", source]
    done = ran(command, code=None, cwd=tmp_path)
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert "ses/ses.hpp needs C++17 or later: compile with -std=c++17" in errors[0]


def test_the_global_names_can_be_switched_off(installed: Path, tmp_path: Path) -> None:
    source = tmp_path / "own.cpp"
    source.write_text(
        "#define SES_NO_GLOBAL_NAMES\n#include <ses/ses.hpp>\n"
        "struct StoragePolicy {}; struct LustreManager {};\n"
        "int main() { StoragePolicy mine; ses::StoragePolicy theirs; (void)mine; return theirs.status(); }\n"
    )
    run(["c++", "-std=c++17", "-Wall", "-Werror", f"-I{installed}/include", "-c", source], tmp_path)


def test_the_library_exports_exactly_the_functions_of_its_headers(build: Path) -> None:
    headers = [ROOT / "libses/include/ses" / name for name in ("ses.h", "limits.h", "stream.h")]
    must_export_what_is_declared(build / "libses.so.0", headers)


def test_a_component_that_does_not_exist_is_not_found(installed: Path, tmp_path: Path) -> None:
    must_have_no_component("ses", "ses::ses", installed, tmp_path)


def test_the_library_needs_nothing_but_the_c_library(installed: Path) -> None:
    (library,) = [path for path in installed.rglob("libses.so.0") if path.is_symlink()]
    dynamic = run(["readelf", "-d", library])
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"]
    assert re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == ["libses.so.0"]
