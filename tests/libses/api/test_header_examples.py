"""The example at the head of each public header compiles as it stands."""

import re
from pathlib import Path

import pytest
from interfaces import must_compile_its_example

HEADERS = Path(__file__).parents[3] / "libses/include/ses"
IN_MAIN = "int main(void) {\nEXAMPLE\n}\n"
# What stands around it: what it includes besides the header, and declarations that its text leaves out.
AROUND = {
    "ses.h": "#include <stdio.h>\n" + IN_MAIN,
    "ses.hpp": "int main() {\nEXAMPLE\nreturn descriptor;\n}\n",
    "stream.h": "#include <math.h>\n#include <stdio.h>\n" + IN_MAIN,
}


@pytest.mark.parametrize("header", AROUND)
def test_the_example_of_a_header_compiles(tmp_path: Path, header: str) -> None:
    must_compile_its_example(HEADERS / header, AROUND[header], tmp_path)


def test_every_public_header_shows_an_example() -> None:
    """Those that only describe memory and messages, and what another header includes, do not."""
    installed = {path.name for path in HEADERS.iterdir()}
    assert installed - set(AROUND) == {
        *("claims.h", "core.h", "limits.h", "protocol.h", "rules.h", "segment.h", "sequence.h", "table.h")
    }


def test_the_pages_of_the_interface_have_every_public_header() -> None:
    """`make docs` writes them; doxygen itself is not run."""
    settings = (HEADERS.parent / "Doxyfile").read_text()
    read = re.search(r"^INPUT (?:.*\\\n)*.*", settings, re.MULTILINE)
    assert read
    assert set(re.findall(r" libses/include/ses/(\w+\.h(?:pp)?)\b", read[0])) == set(AROUND)
