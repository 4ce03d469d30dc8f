"""The example at the head of each public header compiles as it stands."""

import re
from pathlib import Path

import pytest
from stranger_programs import run

HEADERS = Path(__file__).parents[3] / "libses/include/ses"
IN_MAIN = "int main(void) {\nEXAMPLE\n}\n"
USE = "template <class T> void use(const T &) {}\n"
# What stands around it: what it includes besides the header, and declarations that its text leaves out.
AROUND = {
    "ses.h": "#include <stdio.h>\n" + IN_MAIN,
    "ses.hpp": "int main() {\nEXAMPLE\nreturn descriptor;\n}\n",
    "stream.h": "#include <math.h>\n#include <stdio.h>\n" + IN_MAIN,
    "share.h": "static double value = 0.93;\n" + IN_MAIN,
    "share.hpp": "#include <mutex>\n" + USE + IN_MAIN,
    "offload.h": "static long words_of(const char *path) { return path[0]; }\nEXAMPLE",
    "offload.hpp": "#include <iostream>\n" + USE + "EXAMPLE",
    "offload_types.h": "EXAMPLE\nint main(void) { return query_type.size == 0; }\n",
}


@pytest.mark.parametrize("header", AROUND)
def test_the_example_of_a_header_compiles(tmp_path: Path, header: str) -> None:
    head = (HEADERS / header).read_text().partition("*/")[0]
    found = re.search(r"(^ \* {3,}\S.*\n(?: \*\n(?= \* {3})| \* {3,}.*\n)*)", head, re.MULTILINE)
    assert found
    example = re.sub(r"^ \* ?", "", found[1], flags=re.MULTILINE).replace("...", "")
    source = tmp_path / ("example.cpp" if header.endswith("pp") else "example.c")
    source.write_text(f"#include <ses/{header}>\n" + AROUND[header].replace("EXAMPLE", example))
    compiler = ["c++", "-std=c++17"] if header.endswith("pp") else ["cc", "-std=c99"]
    run([*compiler, "-Wall", "-Wextra", "-Werror", "-I", HEADERS.parent, "-c", source, "-o", tmp_path / "o"])


def test_every_public_header_shows_an_example() -> None:
    """Those that only describe memory and messages, and what another header includes, do not."""
    installed = {path.name for path in HEADERS.iterdir()}
    assert installed - set(AROUND) == {
        *("claims.h", "core.h", "limits.h", "offload_coding.hpp", "protocol.h", "rules.h", "segment.h"),
        *("sequence.h", "table.h"),
    }


def test_the_pages_of_the_interface_have_every_public_header() -> None:
    """`make docs` writes them; doxygen itself is not run."""
    settings = (HEADERS.parent / "Doxyfile").read_text()
    read = re.search(r"^INPUT (?:.*\\\n)*.*", settings, re.MULTILINE)
    assert read
    assert set(re.findall(r"ses/(\w+\.h(?:pp)?)\b", read[0])) == set(AROUND)
