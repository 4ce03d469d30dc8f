"""A mounted stand-in for Lustre: its OSTs, pools and defaults, as an administrator would set them up.

With SES_TEST_LUSTRE=DIRECTORY the tests run in a directory of a real Lustre of six OSTs instead (REAL_NEEDS),
and what only the stand-in can do is skipped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import lov_blobs as lov
import pytest
from patience import wait_until
from ran import ran

REAL = os.environ.get("SES_TEST_LUSTRE")
POOLS = {"fast": (0, 1, 2), "slow": (3, 4), "small": (5,), "empty": ()}
REAL_NEEDS = f"SES_TEST_LUSTRE must be a directory on a Lustre of OSTs 0 to 5, with the pools {POOLS}"
LOV = "lustre.lov"
DELAY = os.O_NOCTTY | 0o20000  # O_ASYNC has no name in os
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class LustreMount:
    """One client of the stand-in (or two), and what lies behind it; or a directory on a real Lustre."""

    path: Path
    osts: int
    behind: tuple[Path, Path] | None  # of the stand-in

    def _behind(self) -> tuple[Path, Path]:
        if self.behind is None:
            pytest.skip("only the stand-in can do this")
        return self.behind

    @property
    def other(self) -> Path:
        """The same file system as another client has it."""
        return self._behind()[0]

    @property
    def store(self) -> Path:
        return self._behind()[1]

    @property
    def root(self) -> Path:
        """The file system's, whose default is changed and which an agent serves."""
        self._behind()
        return self.path

    def pool(self, name: str, *members: int) -> None:
        (self.store / "control/pools" / name).write_text(" ".join(map(str, members)))

    def members(self, name: str) -> tuple[int, ...]:
        """The OSTs of a pool; none of one that does not exist."""
        if self.behind is None:
            return POOLS.get(name, ())
        file = self.store / "control/pools" / name
        return tuple(int(word) for word in file.read_text().split()) if file.exists() else ()

    def trouble(self, ost: int, word: str) -> None:
        """Make an OST inactive, nocreate, full, readonly, connecting or degraded; "" mends it."""
        (self.store / f"control/ost{ost:04x}").write_text(word)

    def objects(self, ost: int) -> list[bytes]:
        """The contents of the objects on one OST."""
        return [path.read_bytes() for path in sorted((self.store / f"ost{ost:04x}").iterdir())]

    def requests(self) -> tuple[int, int]:
        """Enqueues and closes that Lustre's clients would have sent until now; see standin/requests.h."""
        enqueues, closes, _ = self.all_requests()
        return enqueues, closes

    def all_requests(self) -> tuple[int, ...]:
        """The same, and OST_STATFS."""
        self._behind()
        return tuple(int(word) for word in os.getxattr(self.path, "standin.requests").split())

    @property
    def gate(self) -> Gate:
        return Gate(self.store / "control")


class Gate:
    """Holds every request for a layout while it is shut, so that something can happen before it."""

    def __init__(self, control: Path) -> None:
        self._shut = control / "before-layout"
        self._reached = control / "before-layout-reached"

    def shut(self) -> None:
        self._reached.unlink(missing_ok=True)
        self._shut.touch()

    def wait_reached(self) -> None:
        wait_until(self._reached.exists, "nobody asks for a layout")

    def open(self) -> None:
        self._shut.unlink(missing_ok=True)


def layout_of(path: Path | int) -> bytes | None:
    """The layout of a file, or the default of a directory; None when there is none."""
    try:
        return os.getxattr(path, LOV)
    except OSError as error:
        if error.errno == 61:  # ENODATA
            return None
        raise


def osts_of(path: Path | int) -> tuple[int, ...]:
    """The OSTs a file has objects on."""
    layout = layout_of(path)
    return () if layout is None else lov.osts_of(layout)


def build_standin(into: Path) -> Path:
    source = Path(__file__).parent / "standin"
    words = ran(["pkg-config", "--cflags", "--libs", "fuse3"]).stdout.split()
    program = into / "standin"
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program]
    ran(["gcc", *options, *sorted(source.glob("*.c")), *words, "-lpthread"])
    return program
