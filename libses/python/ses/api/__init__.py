"""Create files where they will be served best, from Python: the words of ``ses.hpp``.

    policy = StoragePolicy(average_read_rate=50, capacity=100)  # MB/s, GB
    with LustreManager().open("results.dat", policy) as file:
        file.write(data)
        if not file.result.placed:
            print("not placed:", file.result.message)

Whatever goes wrong with choosing a place, the file is created as by :func:`open`; only a create that fails
by itself raises OSError.  A value that makes no sense raises ValueError and changes nothing.

Needs ``libses.so.0`` where the dynamic linker finds it, or named by ``SES_LIBRARY``.
"""

from ses.api.layout import Component, Layout
from ses.api.library import LibraryError, Status, version
from ses.api.manager import LustreManager, Node, PlacedFile, Result
from ses.api.policy import Kind, StoragePolicy

__all__ = [
    "Component",
    "Kind",
    "Layout",
    "LibraryError",
    "LustreManager",
    "Node",
    "PlacedFile",
    "Result",
    "Status",
    "StoragePolicy",
    "version",
]
