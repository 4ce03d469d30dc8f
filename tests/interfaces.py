"""What holds of the interface of every library: its headers, what it exports, what was promised of it."""

import re
from pathlib import Path

from ran import ran
from stranger_programs import run

WRITE = (
    "abidw --headers-dir {headers} --drop-private-types --no-corpus-path --no-comp-dir-path "
    "--no-show-locs --no-elf-needed --exported-interfaces-only {library} "
    "| sed \"s#path='.*/#path='#\" >{promised}"
)
CHANGED, INCOMPATIBLE = 4, 8  # bits of abidiff's exit status
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
COMPONENTS = """
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


def compare(promised: Path, library: Path) -> tuple[int, str]:
    done = ran(["abidiff", promised, library], code=None)
    return done.returncode, done.stdout + done.stderr


def must_keep_what_was_promised(promised: Path, library: Path, headers: Path) -> None:
    """Programs built against the library before go on working."""
    status, report = compare(promised, library)
    write = WRITE.format(headers=headers, library=library, promised=promised)
    assert not status & INCOMPATIBLE, f"Programs built before would break:\n{report}"
    assert not status & CHANGED, f"If programs built before go on working, promise it: {write}\n{report}"
    assert status == 0, report


def must_notice_a_break(promised: Path, library: Path, promise: str, broken: str, place: Path) -> None:
    other = place / "other.abi"
    text, replaced = re.subn(promise, broken, promised.read_text())
    assert replaced
    other.write_text(text)
    status, report = compare(other, library)
    assert status & (CHANGED | INCOMPATIBLE), report


def must_stand_alone(compiler: str, headers: list[str], include: Path, place: Path) -> None:
    """Each header is all that a file needs to include, also twice, in silence."""
    for header in headers:
        source = place / ("alone.cpp" if "++" in compiler else "alone.c")
        source.write_text(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
        run([*compiler.split(), *STRICT, f"-I{include}", "-c", source], place)


def must_export_what_is_declared(library: Path, headers: list[Path]) -> None:
    """Exactly the functions of the headers."""
    code = re.sub(r"/\*.*?\*/|#define [^\n]*", "", "".join(map(Path.read_text, headers)), flags=re.DOTALL)
    declared = set(re.findall(r"\b(ses_[a-z_]+)\(", code))
    listed = run(["nm", "-D", "--defined-only", library])
    exported = {line.split()[2].split("@")[0] for line in listed.splitlines() if " T " in line}
    assert len(declared) > 15
    assert exported == declared


def must_compile_its_example(header: Path, around: str, place: Path) -> None:
    """The example at the head of a header as it stands, where AROUND says EXAMPLE."""
    head = header.read_text().partition("*/")[0]
    match = re.search(r"(^ \* {3,}\S.*\n(?: \*\n(?= \* {3})| \* {3,}.*\n)*)", head, re.MULTILINE)
    assert match
    example = re.sub(r"^ \* ?", "", match[1], flags=re.MULTILINE).replace("...", "")
    source = place / ("example.cpp" if header.suffix == ".hpp" else "example.c")
    source.write_text(f"#include <ses/{header.name}>\n" + around.replace("EXAMPLE", example))
    compiler = ["c++", "-std=c++17"] if header.suffix == ".hpp" else ["cc", "-std=c99"]
    include = header.parents[1]
    run([*compiler, "-Wall", "-Wextra", "-Werror", "-I", include, "-c", source, "-o", place / "o"])


def must_have_no_component(package: str, target: str, prefix: Path, place: Path) -> None:
    """``find_package`` does not find a component of PACKAGE that does not exist."""
    (place / "CMakeLists.txt").write_text(COMPONENTS.format(package=package, target=target))
    command = ["cmake", "-S", place, "-B", place / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = ran(command, code=None)
    assert done.returncode != 0, "the last one is required"
    assert "-- said=0 FALSE" in done.stdout or "-- said=FALSE FALSE" in done.stdout
    assert "-- then=1 FALSE" in done.stdout or "-- then=TRUE FALSE" in done.stdout
    assert f"link with {target}" in " ".join(done.stderr.split())
