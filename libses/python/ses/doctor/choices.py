"""Settings of a union under which mergerfs chooses where the service should.

A placed file is made on the chosen branch and linked to its name through the union.  Some settings
make the union refuse that link where the directory is not on that branch yet; the file is then
created as if there were no library.  None of this loses a file, so none of it is a fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from ses_client.unions import Union

from ses.doctor.finding import Finding, warning

CHOICE = "union choice"
_POLICY = "category.create"
_PRESERVING = ("ep", "msp")


def check_choices(union: Union) -> Iterator[Finding]:
    """Read the settings of a mergerfs union; what it does not know (older ones) is no warning."""
    mount, says = union.mount_point, union.options
    change = quote(f"{mount}/.mergerfs")
    policy = says.get("func.create") or says.get(_POLICY) or ""
    if policy.startswith(_PRESERVING) and says.get("ignorepponrename") != "true":
        yield warning(
            CHOICE,
            f"The union on {mount} creates by {policy}, which keeps files on the branches that have "
            "their directory: a file placed on another cannot be linked there, and mergerfs chooses.",
            "Mount it with category.create=pfrd, "
            f"or now: setfattr -n user.mergerfs.{_POLICY} -v pfrd {change}",
        )
    exdev = says.get("link-exdev")
    if exdev not in (None, "passthrough"):
        yield warning(
            CHOICE,
            f"The union on {mount} has link-exdev={exdev}: where it cannot link a placed file, its "
            "name is a symbolic link for a moment, which is taken away again, and mergerfs chooses.",
            f"Mount it with link-exdev=passthrough, "
            f"or now: setfattr -n user.mergerfs.link-exdev -v passthrough {change}",
        )
