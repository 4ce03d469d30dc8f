"""The form of a run: files, the words of a command, options of ``ses map-near``."""

import re
import shlex
from collections.abc import Mapping

from ses_client.errors import RefusedError
from ses_client.messages.message import JSON
from ses_client.messages.runs import OPTION

from ses_webface.storage.forms import FaultsError

_OPTION = re.compile(OPTION)
OPTIONS = (
    ("memory", "Memory of a task", "That a task may use on its node, such as 4GB."),
    ("cpus", "Processors of a task", "Such as 1."),
    ("per-endpoint", "Tasks at once on a node", "Empty: as many as it has processors and memory for."),
    ("piece", "Divide larger files", "Into pieces of this size, such as 256MB; {} is then /dev/stdin."),
    ("reduce", "Reduce", "A program that reads the merged output, such as sort -u."),
    ("shuffle", "Sort over all nodes by word", "Of each line: 1 is the first, 0 the line itself."),
    ("into", "Leave sorted parts in", "A directory on each node; only with sorting."),
)
"""Each option with its label and a hint, in the order of the form."""


def run_of(fields: Mapping[str, str]) -> JSON:
    """Return the run that was typed; raises FaultsError, by field."""
    faults: dict[str, str] = {}
    files = [line.strip() for line in fields.get("files", "").splitlines() if line.strip()]
    if not files:
        faults["files"] = "Name a file, or a pattern such as /data/*.log."
    elif any(name.startswith("-") for name in files):
        faults["files"] = "A name that begins with a dash could be an option: write ./ before it."
    command: list[str] = []
    try:
        command = shlex.split(fields.get("command", ""))
    except ValueError as error:
        faults["command"] = f"{error}.".capitalize()
    else:
        if "{}" not in command:
            faults["command"] = "Write {} where the names of the files belong, as a word of its own."
    options = ["--force"] if fields.get("force") else []
    for name, _, hint in OPTIONS:
        if typed := fields.get(name, "").strip():
            options.append(f"--{name}={typed}")
            if not _OPTION.fullmatch(options[-1]):
                faults[name] = f"This cannot be read. {hint}"
    if faults:
        raise FaultsError(faults)
    return {"run_id": fields.get("run_id", ""), "files": files, "command": command, "options": options}


def faults_of(error: RefusedError) -> dict[str, str]:
    """Return what the service refused, by field; what is of no field under the empty name."""
    faults: dict[str, str] = {}
    for location, message in error.problems:
        field = location.removeprefix("json.").partition(".")[0]
        faults.setdefault(field if field in ("files", "command") else "", f"{message}.".capitalize())
    return faults or {"": str(error)}
