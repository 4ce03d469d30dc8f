"""The mergerfs unions of this node: their branches and options.

The one place in Python that reads them; ``libses/agent/systems/union_reading.h`` is the same for the agent.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import NotFoundError, SesError
from ses_client.mounts import MOUNTINFO, parse_mounts

MODES = ("RW", "RO", "NC")
OPTIONS = "allow_other,use_ino,category.create=pfrd,func.getattr=newest"
"""What a union is mounted with, where nobody has another opinion."""

_ATTRIBUTE = "user.mergerfs."
_STEPS = {
    errno.ENOTCONN: "its mergerfs has ended; unmount it (umount -l) and mount it again",
    errno.EACCES: "look as the user who mounted it, or mount it with allow_other",
}
_TELLING = "mount it without xattr=nosys and xattr=noattr"
_DEFAULT_MIN_FREE = "4294967296"  # mergerfs's own
_HELD = 1 << 60  # bytes: as the reserve of a branch in mode NC, plus the reserve it has of its own
_HELD_WITHOUT_RESERVE = 1 << 61


@dataclass(frozen=True, slots=True)
class UnionBranch:
    """A branch: ``mode`` is RW, RO or NC, and below ``min_free`` bytes mergerfs creates nothing there.

    Both as the administrator set them; ``held`` says that ``ses apply`` holds it back for a while.
    """

    path: str
    mode: str
    min_free: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """A mounted union; ``options`` are those it says, ``-`` in their names."""

    mount_point: str
    branches: tuple[UnionBranch, ...]
    options: Mapping[str, str]


def parse_branches(text: str, min_free: str = "") -> tuple[UnionBranch, ...]:
    """``/a=RW:/b=NC,10G`` as branches; ``min_free`` is the union's own."""
    reserve = parse_size(min_free or _DEFAULT_MIN_FREE)
    branches: dict[str, UnionBranch] = {}
    for word in text.split(":"):
        path, mode, own, held = _parse_branch(word)
        if path.startswith("/"):
            branches[path] = UnionBranch(path, mode, reserve if own is None else own, held)
    return tuple(branches.values())


def hold_back(text: str, paths: Collection[str]) -> str:
    """Return the branches of a union with these held back, and no others.

    mergerfs creates nothing on a branch that is held back: its mode is NC, with a reserve of 1 EiB and more
    that says what the administrator set.  So the union itself keeps that, and what others change meanwhile
    stays: only branches that are RW or held back are written anew.
    """
    words = []
    for word in text.split(":"):
        path, mode, own, held = _parse_branch(word)
        if mode == "RW" and path in paths:
            word = f"{path}=NC,{_HELD_WITHOUT_RESERVE if own is None else _HELD + own}"
        elif held:
            word = f"{path}=RW" if own is None else f"{path}=RW,{own}"
        words.append(word)
    return ":".join(words)


def _parse_branch(word: str) -> tuple[str, str, int | None, bool]:
    """Return path, mode, reserve of its own, and whether it is held back."""
    path, has_mode, options = word.rpartition("=")
    mode, has_reserve, amount = options.partition(",")
    if not has_mode or mode not in MODES:
        path, mode, has_reserve = word, "RW", ""
    path = path.rstrip("/") or path[:1]
    own = parse_size(amount) if has_reserve else None
    if mode != "NC" or own is None or own < _HELD:
        return path, mode, own, False
    return path, "RW", None if own >= _HELD_WITHOUT_RESERVE else own - _HELD, True


def parse_size(text: str) -> int:
    """Return bytes: ``4294967296``, ``4G``, ``50M`` (powers of 1024); 0 for anything else."""
    size = re.match(r"(\d+)([KMGT]?)", text.upper(), re.ASCII)
    return int(size[1]) << 10 * " KMGT".index(size[2] or " ") if size else 0


def read_union(path: Path | str) -> Union:
    """Return the union mounted at a path, also by a symbolic link or another mount of it.

    Raises NotFoundError where there is none, and SesError where it does not say what its branches are.
    """
    resolved = os.path.realpath(path)
    mounts = parse_mounts(MOUNTINFO.read_bytes())
    here = next((mount for mount in reversed(mounts) if mount.point == resolved), None)
    if here is None or here.type != "fuse.mergerfs":
        what = f"{here.type} is" if here else "nothing is"
        raise NotFoundError(f"{path} is not the mount point of a mergerfs union: {what} mounted there.")
    if here.within != "/":
        of = [mount.point for mount in mounts if mount.device == here.device and mount.within == "/"]
        where = f" at {of[0]}" if of else ""
        raise NotFoundError(f"{path} is a directory of a mergerfs union: name where that is mounted{where}.")
    control = Path(resolved) / ".mergerfs"
    try:
        names = [name.removeprefix(_ATTRIBUTE) for name in os.listxattr(control)]
        options = {name: _option(control, name) for name in {*names, "branches", "minfreespace"}}
    except OSError as error:
        raise SesError(
            f"The union at {resolved} does not say what its branches are ({error.strerror}): "
            f"{_STEPS.get(error.errno or 0, _TELLING)}."
        ) from error
    branches = parse_branches(options["branches"], options["minfreespace"])
    return Union(resolved, branches, {name.replace("_", "-"): value for name, value in options.items()})


def union_of(path: Path | str) -> str:
    """Return where the mergerfs union is mounted that a directory is on; empty: on none.  Raises OSError."""
    number = Path(path).stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    mounts = parse_mounts(MOUNTINFO.read_bytes())
    of_union = (mount for mount in mounts if mount.type == "fuse.mergerfs" and mount.within == "/")
    return next((mount.point for mount in of_union if mount.device == device), "")


def _option(control: Path, name: str) -> str:
    return os.fsdecode(os.getxattr(control, _ATTRIBUTE + name))
