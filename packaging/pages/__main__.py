"""Write the pages, manual pages and completion that are made from the code.

Each distribution has a folder `share` with its manual pages and completion, installed as it is below
PREFIX/share by CMake, pip and the packages.

Usage: python packaging/pages [DIRECTORY]: into the checkout, or below DIRECTORY instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

from command_pages import command_pages
from completions import completions
from manual_pages import manual_pages
from programs import ROOT, every_program
from reference_pages import reference_pages


def every_file() -> dict[str, str]:
    """Return the text of each file that is made, by its path in the checkout."""
    programs = every_program()
    pages = command_pages(programs) | reference_pages()
    made = {f"docs/{name}": text for name, text in pages.items()}
    return made | manual_pages(programs) | completions(programs)


def main() -> None:
    """Write all of them."""
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    for name, text in every_file().items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


main()
