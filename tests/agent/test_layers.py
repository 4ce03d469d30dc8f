"""The folders of the agent build on each other in one order."""

from pathlib import Path

from layers import against_the_order, included

ROOT = Path(__file__).parents[2] / "libses/agent"
FOLDERS = (
    "protocol",  # messages of programs
    "node",  # what many need: logs, threads, calls that may hang
    "processes",  # who runs, and what they have open
    "rates",  # at which rates open files are written and read
    "service",  # the connection to the service and its messages
    "lustre",  # targets and their health
    "systems",  # storage systems, branches, staging directories
    "rules",  # which files are placed, published
    "table",  # the candidates, published
    "announcements",  # reports to the service
    "files",  # placed files until they are closed
    "claims",  # what programs chose
    "server",  # the socket
)


def test_folders_include_of_earlier_ones_only() -> None:
    sources = [*ROOT.rglob("*.cpp"), *ROOT.rglob("*.h")]
    assert against_the_order(ROOT, FOLDERS, {source: included(source) for source in sources}) == []
