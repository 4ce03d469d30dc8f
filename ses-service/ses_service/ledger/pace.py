"""How often the agent of a node announces to the service.

Files of many nodes meet because each knows of the others late.  Where files are created, agents announce as
often as the service can answer; where nothing happens, rarely.  Times are seconds.
"""

from enum import Enum

MAX_PACE = 60.0
MAX_REPORT_INTERVAL = 1.0
CREATING_PART = 0.5
CREATING_FOR = 20.0
USED_FOR = 600.0
RETURNS_EACH_SECOND = 200.0


class Use(Enum):
    """What becomes of the table of a node, with its shortest pace and how many nodes may ask a second.

    ``NOW``: programs came, or a file was created, within :data:`USED_FOR`.  ``PERHAPS``: programs run that
    can choose from it.
    """

    NOW = (0.1, 2000.0)
    PERHAPS = (1.0, 1000.0)
    NONE = (2.0, 200.0)


def pace_for(use: Use, nodes: int) -> float:
    """Return the longest time between two announcements of one of ``nodes`` nodes."""
    shortest, each_second = use.value
    return min(MAX_PACE, max(shortest, nodes / each_second))


def report_within(in_use: int) -> float:
    """Return the least time between two reports of files by a node, where ``in_use`` tables are in use.

    From a file on, it is answered as often for :data:`CREATING_FOR` times as long.
    """
    return min(MAX_REPORT_INTERVAL, CREATING_PART * pace_for(Use.NOW, in_use))


def return_within(nodes: int) -> float:
    """Return the time over which ``nodes`` nodes come back, at random, to a service that all of them lost.

    A return costs some milliseconds: two handshakes, and all that is open there.
    """
    return nodes / RETURNS_EACH_SECOND
