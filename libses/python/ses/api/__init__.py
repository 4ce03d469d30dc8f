"""Create files where they will be served best, from Python: the words of ``ses.hpp``.

    import ses.api

    policy = ses.api.StoragePolicy(average_read_rate="50MB/s", capacity="100GB")
    with ses.api.open("results.txt", policy, "w") as file:
        file.write(text)
        if not file.result.placed:
            print("not placed:", file.result.message)

Numbers without a unit are MB/s (10^6 bytes per second), GB (10^9 bytes) of capacity, and bytes of files and
stripes.

Whatever goes wrong with choosing a place, the file is created as by Python's own ``open``; only a create
that fails by itself raises OSError.  A value that makes no sense raises ValueError and changes nothing.

:func:`place` chooses a directory among several and claims it while a block runs (docs/place.md);
:class:`Places` does so again and again.  :func:`file_set` places files among them, and finds them again by
name (docs/front-ends.md).

Needs ``libses.so.0`` where the dynamic linker finds it, or named by ``SES_LIBRARY``.
"""

from ses.api.file_sets import file_set
from ses.api.layout import Component, Layout
from ses.api.library import LibraryError, Status, version
from ses.api.loads import Load, Loads
from ses.api.manager import LustreManager, Node, PlacedFile, Result
from ses.api.places import place, place_again
from ses.api.policy import Kind, StoragePolicy
from ses.api.prepared import Places

open = LustreManager().open
"""``LustreManager.open``.  Not in ``__all__``, so that ``from ses.api import *`` leaves Python's own."""

__all__ = [
    "Component",
    "Kind",
    "Layout",
    "LibraryError",
    "Load",
    "Loads",
    "LustreManager",
    "Node",
    "PlacedFile",
    "Places",
    "Result",
    "Status",
    "StoragePolicy",
    "file_set",
    "place",
    "place_again",
    "version",
]
