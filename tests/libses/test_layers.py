"""The folders of the preload library build on each other in one order."""

from pathlib import Path

from layers import against_the_order, circle, included

ROOT = Path(__file__).parents[2] / "libses/src"
FOLDERS = (
    "runtime",  # system calls, the clock, the process, small caches
    "settings",  # what the environment says
    "request",  # what a caller asks for, and what becomes of it
    "log",
    "segments",  # shared memory: the node's table and rules, the user's claims
    "lustre",  # layouts
    "backends",  # creating a file, for each kind of file system
    "directory",  # what is known of the directory a file is created in
    "rules",  # which files are placed
    "choice",  # an element out of the table
    "agent",  # a question to the agent
    "place",  # the steps from a request to a file
    "calls",  # the functions that programs call
)


def test_folders_include_of_earlier_ones_only() -> None:
    uses = {source: included(source) for source in ROOT.rglob("*.[ch]")}
    assert against_the_order(ROOT, FOLDERS, uses) == []


def test_no_header_includes_itself_by_way_of_others() -> None:
    headers = {str(header.relative_to(ROOT)): included(header) for header in ROOT.rglob("*.h")}
    for name in headers:
        reached: set[str] = set()
        waiting = list(headers[name])
        while waiting:
            header = waiting.pop()
            if header not in reached and header in headers:
                reached.add(header)
                waiting.extend(headers[header])
        assert name not in reached, name


def test_no_two_files_need_each_other(build: Path) -> None:
    assert circle(sorted((build / "src/CMakeFiles/ses_place.dir").rglob("*.o"))) == []
