"""The union mounts: are they mergerfs, with the branches the site describes, and ready to stage."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from ses_client.answers.elements import Element

from ses.doctor.choices import check_choices
from ses.doctor.finding import Finding, State, fault, ok, skipped

MOUNT, STAGE = "union mount", "staging"
_BRANCHES = "user.mergerfs.branches"
_FIRST_PERSON = 1000  # below are accounts of the system


def check_mounts(elements: Sequence[Element]) -> list[Finding]:
    """Look at every mergerfs storage system the site describes, on this machine."""
    systems: dict[str, list[Element]] = {}
    for one in elements:
        if one.backend == "mergerfs":
            systems.setdefault(one.mount_point, []).append(one)
    if not systems:
        return [skipped(MOUNT, "the site describes no mergerfs union")]
    findings: list[Finding] = []
    for mount, members in sorted(systems.items()):
        problem = _union(mount, members)
        findings.append(problem)
        if problem.state is State.OK:
            findings.extend(check_choices(mount))
        findings.extend(_staging(members))
    return findings


def _union(mount: str, members: Sequence[Element]) -> Finding:
    control = Path(mount) / ".mergerfs"
    options = "allow_other,use_ino,category.create=pfrd,func.getattr=newest"
    how = f"Mount it: mergerfs -o {options} BRANCH:BRANCH... {mount}"
    try:
        if not Path(mount).is_mount():
            return fault(MOUNT, f"Nothing is mounted on {mount}.", f"{how} (or run ses doctor on a node).")
        listed = os.getxattr(control, _BRANCHES).decode("utf-8", "replace")
    except OSError as error:
        if Path(mount).exists():
            return fault(
                MOUNT, f"What is mounted on {mount} is not a mergerfs union ({error.strerror}).", how
            )
        return fault(MOUNT, f"{mount} does not exist or does not answer ({error.strerror}).", how)
    branches = {one.rpartition("=")[0].rstrip("/") for one in listed.split(":") if one}
    if not branches:
        return fault(
            MOUNT,
            f"The union on {mount} has no branches.",
            f"Add some: setfattr -n {_BRANCHES} -v '+>PATH' {quote(str(control))}",
        )
    missing = sorted(one.target for one in members if one.target.rstrip("/") not in branches)
    if missing:
        return fault(
            MOUNT,
            f"The union on {mount} has no branch {', '.join(missing)}, which the site describes; "
            "the agent makes directories on branches only.",
            f"Add it (setfattr -n {_BRANCHES} -v '+>PATH' {quote(str(control))}), or describe it as "
            f"the union names it: {', '.join(sorted(branches))}.",
        )
    return ok(
        MOUNT, f"{mount}: mergerfs with {len(branches)} branches, all {len(members)} elements among them"
    )


def _staging(members: Sequence[Element]) -> list[Finding]:
    """Look at the staging directory of each branch; one that is not there yet is fine."""
    made = 0
    findings = []
    for one in members:
        findings.extend(_swappable(one.target))
        directory = Path(one.target) / ".ses"
        try:
            state = directory.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            findings.append(
                fault(
                    STAGE,
                    f"{directory} cannot be looked at ({error.strerror}).",
                    "See whether the branch's file system is well.",
                )
            )
            continue
        if not stat.S_ISDIR(state.st_mode) or state.st_uid not in (0, os.geteuid()) or state.st_mode & 0o022:
            findings.append(
                fault(
                    STAGE,
                    f"{directory} is not a directory of the agent's that only it can write "
                    f"(owner uid {state.st_uid}, mode {stat.S_IMODE(state.st_mode):04o}).",
                    f"Remove or rename it; the agent makes its own: rm -r {quote(str(directory))}",
                )
            )
            continue
        made += 1
    if not findings:
        findings.append(ok(STAGE, f"{made} of {len(members)} branches are in use; the agent makes the rest"))
    return findings


def _swappable(branch: str) -> list[Finding]:
    """Say who could rename the staging directory away: the agent uses no such branch."""
    try:
        state = Path(branch).stat()
    except OSError:
        return []  # said of the staging directory
    if state.st_uid >= _FIRST_PERSON and state.st_uid != os.geteuid():
        return [
            fault(
                STAGE,
                f"{branch} belongs to uid {state.st_uid}, who could put other directories there: the agent "
                "places files of nobody else on it.",
                f"Give it to root: chown root {quote(str(branch))}",
            )
        ]
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX:
        return [
            fault(
                STAGE,
                f"Others can write {branch} and rename what is not theirs (mode "
                f"{stat.S_IMODE(state.st_mode):04o}): the agent does not use it.",
                f"Let everybody rename only what is their own: chmod +t {quote(str(branch))}",
            )
        ]
    return []
