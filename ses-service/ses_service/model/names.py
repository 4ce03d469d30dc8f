"""How long names are, and what the names of users, VOs and profiles are made of."""

from __future__ import annotations

import re

from ses_client.names import USER as USER

from ses_service.model.limits import MAX_APPLICATION, MAX_KIND, MAX_NAME

VO = re.compile(rf"(?!-)[\w.@+:=-]{{1,{MAX_NAME}}}")
PROFILE = re.compile(rf"[a-z][a-z0-9-]{{0,{MAX_KIND - 1}}}")


def too_long(level: str, name: str) -> str | None:
    """Say what is longer than it may be in the name of a set of requirements; None: nothing."""
    owner, _, application = name.partition(":") if level == "application" else (name, "", "")
    if level == "profile":
        owner = name.rpartition(":")[0].removeprefix("%")
    if not is_application(application):
        return f"the name of the application is longer than {MAX_APPLICATION} bytes of UTF-8"
    return f"a name in it is longer than {MAX_NAME} characters" if len(owner) > MAX_NAME else None


def is_application(name: str) -> bool:
    """Tell whether a node can keep the name of an application: by its bytes, not its characters."""
    return len(name.encode("utf-8", "surrogatepass")) <= MAX_APPLICATION
