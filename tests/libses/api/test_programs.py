"""What docs/programs.md promises of programs that are linked with the library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_table import table_of
from ran import ran
from stranger_programs import answers, run

if TYPE_CHECKING:
    from conftest import Union

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/programs.md").read_text()
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def block_with(text: str) -> str:
    """The one C++ block of the page that has a text in it."""
    (block,) = [block for block in re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL) if text in block]
    return str(block)


def compiled(source: str, installed: Path, into: Path, *options: str) -> Path:
    """Build a program as the page says, against what is installed."""
    (library,) = installed.rglob("libses.so")
    (into / "program.cpp").write_text(source)
    linked = [f"-I{installed}/include", f"-L{library.parent}", "-lses", f"-Wl,-rpath,{library.parent}"]
    program = into / "program"
    run(["c++", "-std=c++17", *WARNINGS, *options, into / "program.cpp", "-o", program, "-pthread", *linked])
    return program


@pytest.mark.parametrize("options", [(), ("-fno-exceptions", "-fno-rtti")], ids=["plain", "without"])
def test_the_checkpoint_of_the_page_places_the_part_of_each_thread(
    union: Union, installed: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    union.agent.choose = lambda number: number % 3
    program = compiled(block_with("int main()"), installed, tmp_path, *options)
    assert union.run(program, library=False).stderr == ""
    parts = sorted(union.path.glob("part-*"))
    assert [part.name for part in parts] == ["part-0", "part-1", "part-2", "part-3"]
    assert {part.stat().st_size for part in parts} == {1 << 20}
    needs = {(3, False, 50.0, 1.0), (5, True, 0.002, 1.0)}
    assert [set(ask.requirements) for ask in union.agent.asks] == [needs] * 4
    assert {ask.expected_bytes for ask in union.agent.asks} == {1 << 20}


def test_the_checkpoint_of_the_page_says_why_nothing_was_placed(installed: Path, tmp_path: Path) -> None:
    program = compiled(block_with("int main()"), installed, tmp_path)
    command: list[str | Path] = [program]
    done = ran(command, cwd=tmp_path)
    assert len(done.stderr.splitlines()) == 4
    assert "part-3: the directory lies on no storage system that the site describes\n" in done.stderr
    again = ran(command, cwd="/proc")
    assert "part-3: No such file or directory\n" in again.stderr


def test_a_file_that_a_library_opens_by_name_stays_where_it_was_placed(
    union: Union, installed: Path, tmp_path: Path
) -> None:
    union.agent.choose = lambda _: 2
    head = "#include <fstream>\n#include <ses/ses.hpp>\n#include <unistd.h>\n"
    begin = "int main() {\nLustreManager manager;\nStoragePolicy policy;\n"
    source = f"{head}{begin}{block_with('std::ofstream')}}}\n"
    union.run(compiled(source, installed, tmp_path), library=False)
    assert union.copies(union.path / "table.csv") == [2]
    assert (union.path / "table.csv").read_text() == "step,energy\n"
    assert len(union.agent.asks) == 1


@pytest.mark.parametrize("table", [True, False], ids=["chosen by the program", "asked for"])
def test_files_are_placed_at_every_time_of_a_program_s_life(
    union: Union, stranger: Path, table: bool
) -> None:
    held = table_of(union) if table else None
    try:
        done = union.run(stranger / "lives", library=False)
    finally:
        if held:
            held.close()
    assert done.stdout == ""
    assert {path.name for path in union.path.iterdir()} == {
        *(".ses", "constructor", "moved-from", "assigned", "child", "atexit", "destructor")
    }


def test_a_plugin_that_is_loaded_again_and_again_leaves_nothing_more_behind(
    union: Union, stranger: Path, installed: Path
) -> None:
    (library,) = installed.rglob("libses.so")
    held = table_of(union)
    try:
        said = answers(union.run(stranger / "plugin", library, "200", library=False).stdout)
    finally:
        held.close()
    assert said["placed"] == "200"
    assert int(said["last"]) <= int(said["first"]) + 2
