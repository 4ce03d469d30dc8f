"""The agent: does it listen, is it one a program would trust, does it decide."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from ses_client.messages.elements import Element
from ses_client.mounts import MOUNTINFO, parse_mounts

from ses.doctor.agent_protocol import BadAnswerError, Status, ask, listener
from ses.doctor.finding import Finding, fault, ok, skipped, warning
from ses.output import second

SOCKET, SERVICE, THREADS = "agent socket", "agent to service", "agent threads"
_STALLED_WORDS = 5
_CLOSED = frozenset({"draining", "inactive", "read-only"})  # as it is described
_LIMIT_SECONDS = 2.0
_START = "Start ses-agent, or name its socket with --socket or SES_AGENT_SOCKET."
_LOG = "Look at the agent's log (journalctl -u ses-agent) and restart it."


def check_socket(path: Path) -> Finding:
    """Look at the socket file and at who listens there."""
    try:
        state = path.stat()
    except PermissionError:
        return fault(
            SOCKET,
            f"{path} cannot be reached: its directory is closed to you.",
            f"Open it to every user: chmod 755 {quote(str(path.parent))}",
        )
    except OSError:
        return fault(SOCKET, f"{path} does not exist.", _START)
    if not stat.S_ISSOCK(state.st_mode):
        return fault(SOCKET, f"{path} is not a socket.", f"Remove it. {_START}")
    if state.st_mode & 0o222 != 0o222:
        return fault(
            SOCKET,
            f"Not every user may ask at {path} (mode {state.st_mode & 0o777:04o}).",
            f"Open it: chmod 666 {quote(str(path))}",
        )
    try:
        uid = listener(path, _LIMIT_SECONDS)
    except OSError as error:
        return fault(SOCKET, f"Nobody listens on {path} ({error.strerror or error}).", _START)
    if uid not in (0, os.geteuid()):
        return fault(
            SOCKET,
            f"The listener on {path} runs as uid {uid}: programs of others do not trust it.",
            "Run ses-agent as root, or as the user it serves.",
        )
    return ok(SOCKET, f"{path}: somebody listens, as uid {uid}")


def check_reaches(path: Path) -> Iterator[Finding]:
    """Look at what the agent writes of its service beside its socket; no finding where there is no file."""
    state, *more = _lines_of_agent(path) or [""]
    how, _, rest = state.partition(" ")
    url, _, cause = rest.strip().partition(" ")
    if how == "reached":
        yield ok(SERVICE, f"the agent reaches {url}")
    if refusals := [line.removeprefix("refused ") for line in more if line.startswith("refused ")]:
        number, _, what = refusals[-1].partition(" ")
        detail = f"The service refused {number} parts of what the agent announced, last {what.rstrip('.')}."
        mend = "Nobody else's files are affected. Use agent and service of the same version."
        yield warning(SERVICE, detail, mend)
    if how not in ("", "reached"):
        yield fault(
            SERVICE,
            f"The agent does not reach {url}: {cause.rstrip('.')}.",
            "Programs go on with what it knew. Compare its --service, --service-ca and --token-file with the "
            "service's (/etc/default/ses-agent).",
        )


def check_threads(path: Path) -> Iterator[Finding]:
    """Look which threads of the agent have stalled, by the same file."""
    for line in _lines_of_agent(path)[1:]:
        kind, *words = line.split(" ", 5)
        if kind != "stalled" or len(words) != _STALLED_WORDS or not words[2].isdecimal():
            continue
        pid, thread, since, name, work = words
        yield fault(
            THREADS,
            f"The agent's thread {name} has stalled since {second(int(since))}: {work}.",
            f"As root, see what it waits for: cat /proc/{pid}/task/{thread}/stack, and which file system "
            "hangs: findmnt, then stat -f on each mount point. It goes on when that answers or is "
            "unmounted (umount -f); else: systemctl restart ses-agent",
        )


def _lines_of_agent(path: Path) -> list[str]:
    try:
        return path.with_name(f"{path.name}.service").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def check_answers(path: Path, elements: Sequence[Element] | None) -> list[Finding]:
    """Ask the agent where a file on each union mounted here should go.

    ``elements`` is what the service describes, ``None`` when it could not be asked.
    """
    devices = {mount.point: mount.device for mount in parse_mounts(MOUNTINFO.read_bytes())}
    mounted = sorted({element.mount_point for element in elements or ()} & devices.keys())
    if not mounted:
        why = (
            "no storage system of the site is mounted here"
            if elements is not None
            else "the service is not known"
        )
        return [_answer_about(path, "/", devices.get("/", "0:0"), None, why)]
    return [_answer_about(path, mount, devices[mount], elements, "") for mount in mounted]


def _answer_about(
    path: Path, mount: str, device: str, elements: Sequence[Element] | None, why: str
) -> Finding:
    """Ask about a mount of the device MAJOR:MINOR; what is mounted may hang, and is not looked at."""
    try:
        answer = ask(path, os.makedev(*map(int, device.split(":"))), _LIMIT_SECONDS)
    except TimeoutError:
        return fault(SERVICE, f"The agent does not answer within {_LIMIT_SECONDS:g} s: it hangs.", _LOG)
    except BadAnswerError as error:
        return fault(
            SERVICE,
            f"What listens on {path} does not speak the agent's protocol ({error}).",
            "Use agent and library of the same version, and make sure that it is ses-agent.",
        )
    except OSError as error:
        return fault(
            SERVICE, f"The agent closed the question without an answer ({error.strerror or error}).", _LOG
        )
    if elements is None:
        return skipped(SERVICE, f"the agent answers, but {why}: this is not known")
    if answer.status is Status.PLACE:
        return ok(SERVICE, f"asked for a file in {mount}, the agent says {answer.element}")
    if answer.status is Status.NOT_MANAGED:
        return fault(
            SERVICE,
            f"The agent does not know the storage system on {mount}, which the service describes.",
            "It has not reached the service: compare its --service with yours, and look at its log.",
        )
    closed = {member.state for member in elements if member.mount_point == mount}
    if closed <= _CLOSED:
        return warning(
            SERVICE,
            f"No element on {mount} takes files: all are {' or '.join(sorted(closed))}.",
            "If one is to take files again: ses undrain, or ses elements set --state active.",
        )
    return fault(
        SERVICE,
        f"The agent cannot decide about {mount}: it does not reach the service, its token is refused, or no "
        "element is left.",
        "Compare its --service and --token-file with the service's; ses rank shows what is left.",
    )
