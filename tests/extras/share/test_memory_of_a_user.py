"""One user has as much memory by an agent as `--memory` says, and others have theirs."""

import errno
import os
import sys
from pathlib import Path

import pytest
from ran import ran
from remote_node import agent

FIRST, SECOND = 61201, 61202  # nobody else has segments of these
MIB = 1 << 20

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes other users' parts: needs root")

# What a user does: the lines of the test, after this.
BEFORE = """
import contextlib, errno, os, sys
from ses.share import Model, Region
from ses.share.library import library
library()
user, name, there = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.setresgid(user, user, user)
os.setresuid(user, user, user)
MIB = 1 << 20

def status(call, *given, **named):
    try:
        call(*given, **named)
    except OSError as error:
        return error.errno
    return 0
"""


def does(user: int, name: str, there: str, *lines: str) -> list[int]:
    """What a user's process prints, in numbers."""
    command = [sys.executable, "-c", "\n".join((BEFORE, *lines)), str(user), name, there]
    done = ran(command)
    return [int(word) for word in done.stdout.split()]


CREATE = "print(status(Region.create, f'{name}-%d@{there}', size=%d * MIB))"


def test_regions_of_one_user_are_bounded_and_cost_others_nothing(munged: Path, name: str) -> None:
    with agent(munged, "--memory", "16") as running:
        there = running.address
        first = [CREATE % (1, 32), CREATE % (2, 10), CREATE % (3, 10), CREATE % (4, 4)]
        assert does(FIRST, name, there, *first) == [errno.EDQUOT, 0, errno.EDQUOT, 0]
        assert does(SECOND, name, there, CREATE % (1, 10)) == [0]
        removed = [f"Region.remove('{name}-%d')" % number for number in (2, 4)]
        assert does(FIRST, name, there, *removed, CREATE % (5, 12)) == [0]
        does(FIRST, name, there, f"Region.remove('{name}-5')")
        does(SECOND, name, there, f"Region.remove('{name}-1')")


def test_a_region_made_on_the_node_that_is_too_large_is_read_but_not_filled(munged: Path, name: str) -> None:
    """The memory would be charged to the agent."""
    with agent(munged, "--memory", "16") as running:
        put = """
near = Region.create(name, size=32 * MIB)
item = near.alloc('item', MIB)
item.put(b'near')
far = Region.open(f'{name}@{there}').find('item')
print(far.get().data == b'near', status(far.put, b'far'))
Region.remove(name)
""".replace("print(", "print(0 + (").replace(", status", "), status")
        assert does(FIRST, name, running.address, put) == [1, errno.EDQUOT]


def test_what_sessions_hold_for_values_counts(munged: Path, name: str) -> None:
    """Each item that is found anew may have a copy; giving it back makes room."""
    with agent(munged, "--memory", "16") as running:
        program = """
region = Region.create(f'{name}@{there}', size=5 * MIB)
region.alloc('item', 2 * MIB, model=Model.DELTA, versions=1)
items = []
failed = 0
while not failed and len(items) < 100:
    failed = status(lambda: items.append(region.find('item')))
print(failed, len(items) < 10)
items.clear()
import gc; gc.collect()
print(status(lambda: items.append(region.find('item'))))
Region.remove(name)
""".replace("len(items) < 10)", "0 + (len(items) < 10))")
        assert does(FIRST, name, running.address, program) == [errno.EDQUOT, 1, 0]
