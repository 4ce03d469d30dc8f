"""The C++ header does what it shows, and Python declares what the C header says."""

import re
import subprocess
from pathlib import Path

import pytest
from ran import ran
from ses.share import Region
from ses.share.library import DECLARATIONS, Model

ROOT = Path(__file__).parents[3]
INCLUDE = ROOT / "libses/extras/include"


def header() -> str:
    text = (INCLUDE / "ses" / "share.h").read_text()
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*|#[^\n]*", "", text, flags=re.DOTALL).split())


def test_python_declares_what_the_header_says() -> None:
    text = header()
    declared = re.sub(r"\[64\]", "[SES_SHARE_NAME_MAX]", " ".join(DECLARATIONS.split()))
    for declaration in re.findall(
        r"typedef struct \w+ \{[^}]*\} \w+;|[\w ]+\**ses_share_\w+\([^;]*\);", declared
    ):
        assert declaration.strip() in text
    assert set(re.findall(r"\bses_share_\w+(?=\()", declared)) == set(
        re.findall(r"\bses_share_\w+(?=\()", text)
    )
    numbers = dict(re.findall(r"SES_SHARE_(\w+) = (\d+)", text))
    assert {model.name: str(model.value) for model in Model} == numbers


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_cpp_header_does_what_it_shows(build: Path, tmp_path: Path, standard: str) -> None:
    program = tmp_path / "program"
    compiler = ["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-o", program]
    source = [Path(__file__).parent / "values.cpp", "-I", INCLUDE]
    library = ["-L", build, "-lses-share", f"-Wl,-rpath,{build}"]
    subprocess.run([*compiler, *source, *library], check=True)
    name = "test-cpp-" + standard.replace("+", "p")
    try:
        said = ran([program, name], code=None)
        assert (said.returncode, said.stdout) == (0, "all as promised\n"), said.stderr
    finally:
        Region.remove(name)


def test_search_never_gives_an_item_of_another_name(build: Path, tmp_path: Path, name: str) -> None:
    """It was freed, and another one made in its place, between two steps of the search."""
    program = tmp_path / "remade"
    source = [Path(__file__).parent / "remade.c", "-I", INCLUDE]
    library = ["-L", build, "-lses-share", f"-Wl,-rpath,{build}"]
    command = ["gcc", "-std=c11", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-o", program]
    subprocess.run([*command, *source, *library], check=True)
    try:
        said = ran([program, name], code=None)
        assert (said.returncode, said.stdout) == (0, "No such file or directory\n")
    finally:
        Region.remove(name)
