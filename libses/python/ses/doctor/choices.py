"""Settings of a union under which mergerfs chooses where the service should.

A placed file is made on the chosen branch and linked to its name through the union.  Some settings
make the union refuse that link where the directory is not on that branch yet; the file is then
created as if there were no library.  None of this loses a file, so none of it is a fault.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

from ses.doctor.finding import Finding, warning

CHOICE = "union choice"
_POLICY, _POLICIES = "user.mergerfs.func.create", "user.mergerfs.category.create"
_IGNORED, _EXDEV = "user.mergerfs.ignorepponrename", "user.mergerfs.link-exdev"
_PRESERVING = ("ep", "msp")


def check_choices(mount: str) -> list[Finding]:
    """Read the settings of a mergerfs union; what it does not know (older ones) is no warning."""
    control = Path(mount) / ".mergerfs"
    policy = _setting(control, _POLICY) or _setting(control, _POLICIES) or ""
    findings = []
    if policy.startswith(_PRESERVING) and _setting(control, _IGNORED) != "true":
        findings.append(
            warning(
                CHOICE,
                f"The union on {mount} creates by {policy}, which keeps files on the branches that have "
                "their directory: a file placed on another cannot be linked there, and mergerfs chooses.",
                "Mount it with category.create=pfrd, "
                f"or now: setfattr -n {_POLICIES} -v pfrd {quote(str(control))}",
            )
        )
    exdev = _setting(control, _EXDEV)
    if exdev not in (None, "passthrough"):
        findings.append(
            warning(
                CHOICE,
                f"The union on {mount} has link-exdev={exdev}: where it cannot link a placed file, its "
                "name is a symbolic link for a moment, which is taken away again, and mergerfs chooses.",
                f"Mount it with link-exdev=passthrough, "
                f"or now: setfattr -n {_EXDEV} -v passthrough {quote(str(control))}",
            )
        )
    return findings


def _setting(control: Path, name: str) -> str | None:
    try:
        return os.getxattr(control, name).decode("utf-8", "replace")
    except OSError:
        return None
