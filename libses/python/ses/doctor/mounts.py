"""The union mounts: are they mergerfs, with the branches the site describes, and ready to stage."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

from ses_client.errors import NotFoundError, SesError
from ses_client.messages.elements import Element
from ses_client.mounts import file_system_at, is_another
from ses_client.unions import OPTIONS, Union, UnionBranch, read_union

from ses.doctor.choices import check_choices
from ses.doctor.finding import Finding, State, fault, ok, skipped, warning
from ses.elsewhere import ask_elsewhere
from ses.place.directories import look_at
from ses.union.held import is_steered, reasons

MOUNT, STAGE = "union mount", "staging"
_BRANCHES = "user.mergerfs.branches"
_LIMIT_SECONDS = 5.0
_FIRST_PERSON = 1000  # below are accounts of the system
_WITHOUT_LINKS = frozenset({"exfat", "msdos", "vfat"})
_AMPLE, _AMPLE_PART = 4 << 30, 0.6  # as in libses/core/judge.c


def check_mounts(elements: Sequence[Element]) -> Iterator[Finding]:
    """Look at every mergerfs storage system the site describes, on this machine."""
    systems: dict[str, list[Element]] = {}
    for element in elements:
        if element.backend == "mergerfs":
            systems.setdefault(element.mount_point, []).append(element)
    if not systems:
        yield skipped(MOUNT, "the site describes no mergerfs union")
        return

    def look(mount: str) -> list[dict[str, Any]]:
        return [asdict(finding) for finding in _findings(mount, systems[mount])]

    seen = ask_elsewhere(sorted(systems), look, patience=_LIMIT_SECONDS)
    for mount, members in sorted(systems.items()):
        if mount in seen:
            yield from (Finding(**finding | {"state": State(finding["state"])}) for finding in seen[mount])
        else:
            yield _hangs(mount, members)


def _findings(mount: str, members: Sequence[Element]) -> Iterator[Finding]:
    union = _union(mount)
    if isinstance(union, Finding):
        yield union
    else:
        yield from (*_described(union, members), *check_choices(union), *_held_back(union))
    yield from _staging(members)


def _hangs(mount: str, members: Sequence[Element]) -> Finding:
    """Say what does not answer: the union, or branches of it."""
    paths = [mount, *(member.target for member in members)]
    seen = look_at(paths, patience=_LIMIT_SECONDS)
    why = [f"{path.given}: {path.reason}" for path in seen if not path.path]
    return fault(
        MOUNT,
        f"{'; '.join(why) or f'{mount}: it did not answer within {_LIMIT_SECONDS:g} s'}.",
        "See what hangs: findmnt, dmesg. Nothing is placed there until it answers.",
    )


def check_undescribed(mount: str) -> Iterator[Finding]:
    """Say what keeps files away from a union that no site describes yet; nothing where there is none."""
    try:
        union = read_union(mount)
    except (SesError, OSError):
        return
    yield from (*_copies_links(union), *check_choices(union))
    for branch in union.branches:
        yield from (*_branch("", branch, "ses init again"), *_swappable(branch.path))


def _union(mount: str) -> Union | Finding:
    """Read the union as the site has it; a finding: it cannot be used."""
    try:
        union = read_union(mount)
    except NotFoundError as error:
        return fault(
            MOUNT,
            str(error),
            f"Mount it: mergerfs -o {OPTIONS} BRANCH:BRANCH... {quote(mount)} (or run ses doctor on a node).",
        )
    except SesError as error:
        return fault(MOUNT, str(error), "Nothing is placed there until then.")
    if union.mount_point != mount:
        return fault(
            MOUNT,
            f"The site describes the union as {mount}, which is {union.mount_point}.",
            f"Describe it again: ses discover --mergerfs {quote(union.mount_point)} --turtle FILE.",
        )
    return union


def _described(union: Union, members: Sequence[Element]) -> Iterator[Finding]:
    """Compare the branches of a union with those that the site describes."""
    mount = union.mount_point
    branches = {branch.path: branch for branch in union.branches}
    add = f"setfattr -n {_BRANCHES} -v '+>PATH' {quote(f'{mount}/.mergerfs')}"
    again = f"ses discover --mergerfs {quote(mount)} --turtle FILE; ses kb import --discovered FILE"
    missing = sorted(member.target for member in members if member.target.rstrip("/") not in branches)
    if missing:
        yield fault(
            MOUNT,
            f"The union on {mount} has no branch {', '.join(missing)}, which the site describes; "
            "the agent makes directories on branches only.",
            f"Add it ({add}), or describe it as the union names it: {', '.join(sorted(branches))}.",
        )
    else:
        total = f"{mount}: mergerfs with {len(branches)} branches, all {len(members)} elements among them"
        yield ok(MOUNT, total)
    yield from _copies_links(union)
    for member in members:
        branch = branches.get(member.target.rstrip("/"))
        if branch is not None:
            yield from _branch(member.file_system or "", branch, again)
    unsaid = sum(not member.file_system for member in members)
    if unsaid:
        yield warning(
            MOUNT,
            f"Of {unsaid} branches of {mount} the site does not say which file system they are, so a "
            "disk that is not mounted is not noticed.",
            f"Describe them again: {again}",
        )
    undescribed = sorted(branches.keys() - {member.target.rstrip("/") for member in members})
    if undescribed:
        yield warning(
            MOUNT,
            f"The site does not describe {', '.join(undescribed)} of the union on {mount}: "
            "no file is placed there.",
            f"Describe the union again: {again}",
        )


def _held_back(union: Union) -> Iterator[Finding]:
    """Say which branches ``ses apply`` keeps out of the union's own choice, and why."""
    said = reasons(union)
    for path, why in said.items():
        yield ok(MOUNT, f"{path} is held back from the union's own choice{f': {why}' if why else ''}")
    if said and not is_steered(union):
        yield warning(
            MOUNT,
            f"Branches of {union.mount_point} are held back, and nobody steers the union any more.",
            f"Start it again, or give them back: ses apply {quote(union.mount_point)} --undo",
        )


def _copies_links(union: Union) -> Iterator[Finding]:
    if union.options.get("link-cow") == "true":
        control = quote(f"{union.mount_point}/.mergerfs")
        yield fault(
            MOUNT,
            f"The union on {union.mount_point} has link_cow=true, which copies a file at its first open: "
            "nothing is placed.",
            f"Mount it without, or now: setfattr -n user.mergerfs.link-cow -v false {control}",
        )


def _branch(described: str, branch: UnionBranch, again: str) -> Iterator[Finding]:
    """Say what keeps files away from a branch, which is DESCRIBED as this file system, if as any."""
    path, word = branch.path, quote(branch.path)
    try:
        seen, space = file_system_at(path), os.statvfs(path)
    except OSError as error:
        yield fault(MOUNT, f"{path} cannot be looked at ({error.strerror}).", f"See findmnt -T {word}")
        return
    kind = seen.split(" ")[0]
    if is_another(described, seen):
        yield fault(
            MOUNT,
            f"{path} is not the file system that was described ({seen}, not {described}): "
            "no file is placed there.",
            f"See findmnt -T {word} and mount its disk (mount); if it was replaced: {again}",
        )
    elif branch.mode != "RW":
        yield warning(
            MOUNT,
            f"{path} has the mode {branch.mode} in its union: no file is placed there.",
            f"If it is not being retired, give it {path}=RW in user.mergerfs.branches.",
        )
    elif kind in _WITHOUT_LINKS:
        yield fault(
            MOUNT,
            f"{path} is {kind}, which has no hard links: no file is placed there.",
            "Take it out of the description (qsm:state qsm:Inactive), or give it another file system.",
        )
    elif space.f_flag & os.ST_RDONLY:
        yield fault(MOUNT, f"{path} is mounted read-only.", f"See dmesg; then: mount -o remount,rw {word}")
    elif space.f_files and not space.f_favail:
        yield fault(MOUNT, f"{path} has no inode left.", f"Remove files there (df -i {word}).")
    elif space.f_bavail * space.f_frsize < branch.min_free:
        yield warning(
            MOUNT,
            f"On {path} less is free than minfreespace keeps ({branch.min_free / 1e9:.1f} GB): "
            "no file is placed there.",
            "Remove files, or lower the union's minfreespace or the branch's own.",
        )
    elif space.f_bavail < min(_AMPLE_PART * space.f_blocks, _AMPLE / space.f_frsize):
        yield warning(
            MOUNT,
            f"{path} is nearly full: files whose size nobody knows are left to the union's own choice.",
            "Remove files, or keep more free by minfreespace.",
        )


def _staging(members: Sequence[Element]) -> list[Finding]:
    """Look at the staging directory of each branch; one that is not there yet is fine."""
    faults = [finding for member in members for finding in _unsafe(member.target)]
    count = sum(os.path.lexists(f"{member.target}/.ses") for member in members)
    return faults or [ok(STAGE, f"{count} of {len(members)} branches are in use; the agent makes the rest")]


def _unsafe(branch: str) -> Iterator[Finding]:
    yield from _swappable(branch)
    directory = Path(branch) / ".ses"
    try:
        state = directory.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        why = f"{directory} cannot be looked at ({error.strerror})."
        yield fault(STAGE, why, "See whether the branch's file system is well.")
        return
    if not stat.S_ISDIR(state.st_mode) or state.st_uid not in (0, os.geteuid()) or state.st_mode & 0o022:
        yield fault(
            STAGE,
            f"{directory} is not a directory of the agent's that only it can write "
            f"(owner uid {state.st_uid}, mode {stat.S_IMODE(state.st_mode):04o}).",
            f"Remove or rename it; the agent makes its own: rm -r {quote(str(directory))}",
        )


def _swappable(branch: str) -> Iterator[Finding]:
    """Say who could rename the staging directory away: the agent uses no such branch."""
    try:
        state = Path(branch).stat()
    except OSError:
        return  # said of the staging directory
    if state.st_uid >= _FIRST_PERSON and state.st_uid != os.geteuid():
        yield fault(
            STAGE,
            f"{branch} belongs to uid {state.st_uid}, who could put other directories there: the agent "
            "places files of nobody else on it.",
            f"Give it to root: chown root {quote(str(branch))}",
        )
    elif state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX:
        yield fault(
            STAGE,
            f"Others can write {branch} and rename what is not theirs (mode "
            f"{stat.S_IMODE(state.st_mode):04o}): the agent does not use it.",
            f"Let everybody rename only what is their own: chmod +t {quote(str(branch))}",
        )
