"""Holding back branches of a mounted union, and what was done and why, for those who look.

What the administrator set is kept by the union itself (``ses_client.unions.hold_back``): nothing has to be
remembered, a start after a kill goes on where it was, and a union that is mounted again is as it was.
The reasons lie in ``/run/ses-steering``, one file for each union, for people only: nothing depends on them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ses_client.errors import SesError
from ses_client.unions import Union, hold_back, parse_branches, read_union

from ses.elsewhere import ask_elsewhere
from ses.union.steering import Space
from ses.whole_file import write_whole

REASONS = Path("/run/ses-steering")
_ATTRIBUTE = "user.mergerfs.branches"


def spaces(union: Union) -> dict[str, Space]:
    """Return what is free on each branch; those that cannot be looked at are left out."""
    free = {}
    for branch in union.branches:
        with suppress(OSError):
            status = os.statvfs(branch.path)
            writable = not status.f_flag & os.ST_RDONLY and (status.f_favail > 0 or not status.f_files)
            unit = status.f_frsize
            free[branch.path] = Space(status.f_blocks * unit, status.f_bavail * unit, writable)
    return free


def held(union: Union) -> frozenset[str]:
    """Return the branches that are held back."""
    return frozenset(branch.path for branch in union.branches if branch.held)


def hold(union: Union, why: Mapping[str, str]) -> Union:
    """Hold back these branches, with why, and no others; returns the union as it is then.

    It is read right before it is written: what an administrator changed since ``union`` was read stays, and
    no branch is held back then, as others may have to be.  Raises SesError.
    """
    if held(union) != why.keys():
        try:
            before = os.fsdecode(os.getxattr(_control(union), _ATTRIBUTE))
            now = _with_branches(union, before)
            if not why or _as_set(now) == _as_set(union):
                after = hold_back(before, why.keys())
                if after != before:
                    os.setxattr(_control(union), _ATTRIBUTE, os.fsencode(after))
                now = _with_branches(union, after)
        except OSError as error:
            raise SesError(
                f"The branches of {union.mount_point} cannot be set: {error.strerror}. It takes root."
            ) from None
        union = now
    _publish(union, why)
    return union


def read_branches(union: Union) -> Union:
    """Return the union with the branches that it has now; its options are as they were.  Raises SesError."""
    try:
        return _with_branches(union, os.fsdecode(os.getxattr(_control(union), _ATTRIBUTE)))
    except OSError as error:
        raise SesError(f"{union.mount_point} does not say its branches: {error.strerror}.") from None


def _control(union: Union) -> Path:
    return Path(union.mount_point) / ".mergerfs"


def _with_branches(union: Union, text: str) -> Union:
    return replace(union, branches=parse_branches(text, union.options["minfreespace"]))


def _as_set(union: Union) -> list[tuple[str, str, int]]:
    """Return the branches as the administrator set them."""
    return [(branch.path, branch.mode, branch.min_free) for branch in union.branches]


def give_back(path: Path) -> list[str]:
    """Return to what the administrator set; returns the branches that were held back."""
    union = read_union(path)
    hold(union, {})
    return sorted(held(union))


def held_here(mounts: Sequence[str]) -> dict[str, str]:
    """Return why branches of unions that this node mounts are held back, by their paths.

    Those of a union that hangs are not known.
    """
    held_back: dict[str, str] = {}
    for of_union in ask_elsewhere(mounts, _reasons_at).values() if mounts else ():
        held_back |= of_union
    return held_back


def _reasons_at(mount: str) -> dict[str, str]:
    try:
        return reasons(read_union(mount))
    except (SesError, OSError):
        return {}


def reasons(union: Union) -> dict[str, str]:
    """Return why each branch is held back, by its path; empty texts where nobody has said."""
    said: dict[str, object] = {}
    with suppress(OSError, ValueError):
        file = _file(union)
        if file.stat().st_uid in (0, os.geteuid()):
            read = json.loads(file.read_text("utf-8"))
            said = read if isinstance(read, dict) else {}
    return {path: str(said.get(path, "")) for path in sorted(held(union))}


@contextmanager
def alone(union: Union) -> Iterator[None]:
    """Keep a second one from steering the same union; raises SesError where there is one."""
    try:
        REASONS.mkdir(exist_ok=True)
        REASONS.chmod(0o755)  # whatever the umask
        lock = os.open(_file(union).with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SesError(f"{REASONS} cannot be written: {error.strerror}. It takes root.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise SesError(f"Another ses apply steers {union.mount_point} already.") from None
    finally:
        os.close(lock)


def is_steered(union: Union) -> bool:
    """Return whether somebody steers the union; true where that cannot be seen."""
    try:
        lock = os.open(_file(union).with_suffix(".lock"), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _publish(union: Union, why: Mapping[str, str]) -> None:
    with suppress(OSError):
        if why:
            write_whole(_file(union), json.dumps(why), 0o644)
        else:
            _file(union).unlink(missing_ok=True)


def _file(union: Union) -> Path:
    device = Path(union.mount_point).stat().st_dev
    return REASONS / f"{os.major(device)}-{os.minor(device)}.json"
