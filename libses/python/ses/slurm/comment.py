"""One line about a job's files in its AdminComment, beside what others wrote there.

At the end of a text; in a JSON object, which sites keep there for their accounting, as a member of its own.
The line is plain ASCII without quotes, and has no word of a user.

Slurm is asked for one field at a time, in a fixed width: names and comments are a user's words, and in the
text that ``scontrol`` prints a line feed in a job's name begins a line that looks like a field.

Each task of an array, and each part of a heterogeneous job, has a number of its own.  The number of one of
them is that of the whole, too, and Slurm changes all of the whole by it: so a task is named 4711_3, a part
4711+1.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ses_client.errors import SesError, UsageError

from ses.slurm.scontrol import scontrol, squeue

_WIDTH = 65_536  # bytes of a comment
_NAME_WIDTH = 512
_NUMBER_WIDTH = 20
_MARK = "storage: "
_OWN_LINE = re.compile(rf"(?:^| \| ){_MARK}\d+ files on [^|\n]*\Z")
_OWN_MEMBER = re.compile(r',?\s*"qstorman": "\d+ files on [^"]*"(?=\s*}\s*\Z)')
_NOT_IN_A_LINE = re.compile(r'[^\x20-\x7e]|["\\|]')


@dataclass(frozen=True, slots=True)
class JobName:
    """A job: the ``number`` that its programs name it by, and how Slurm ``calls`` it and no other."""

    number: str
    calls: str


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What Slurm knows of a job: who submitted it, and its AdminComment."""

    name: JobName
    user: str
    uid: int
    comment: str

    def is_of(self, user: str) -> bool:
        """Return whether a file of this user can be the job's; users without a name are ``uid-N``."""
        return user in (self.user, f"uid-{self.uid}")


def name_of(job: str) -> JobName:
    """Ask Slurm for a job by its number, or 4711_3.

    Raises UsageError for what is none, SesError where Slurm does not know it, or it has not begun.
    """
    if not re.fullmatch(r"[0-9]+(_[0-9]+)?", job):
        raise UsageError(f"{job!r} is no number of a job of Slurm.")
    shown = squeue("--noheader", f"--jobs={job}", "--states=all", "--Format=JobID:20,JobArrayID:64")
    for line in shown.splitlines():
        number, calls = line[:_NUMBER_WIDTH].strip(), line[_NUMBER_WIDTH:].strip()
        if job in (number, calls) and re.fullmatch(r"[0-9]+([_+][0-9]+)?", calls):
            return JobName(number, calls)
    raise SesError(f"Slurm does not know job {job}, or it has not begun.")


def record_of(job: str) -> JobRecord:
    """Ask Slurm for a job; raises UsageError for what is no number of one, SesError without an answer."""
    name = name_of(job)
    uid = _field(name, "UserID", _NAME_WIDTH)
    if not uid.isdecimal():
        raise SesError(f"Slurm does not say whose job {job} is.")
    comment = _field(name, "admin_comment", _WIDTH)
    user = _field(name, "UserName", _NAME_WIDTH)
    return JobRecord(name, user, int(uid), "" if comment == "(null)" else comment)


def _field(name: JobName, field: str, width: int) -> str:
    """Return a field of a job, of all parts where it is one of several.  Raises SesError."""
    shown = squeue(
        "--noheader", f"--jobs={name.calls}", "--states=all",
        f"--Format=JobID:{_NUMBER_WIDTH},{field}:{width}",
    )  # fmt: skip
    data, size = shown.encode("utf-8", "surrogateescape"), _NUMBER_WIDTH + width + 1
    lines = (data[at : at + size] for at in range(0, len(data), size))
    line = next((record for record in lines if record[:_NUMBER_WIDTH].strip() == name.number.encode()), b"")
    text = line[_NUMBER_WIDTH:].decode("utf-8", "surrogateescape")
    if len(line) < size - 1:  # an unknown field is a line without it, and no error
        raise SesError(
            f"squeue does not say {field} of job {name.calls}: it does not know the job, or not the field."
        )
    if not text.rstrip("\n").endswith(" "):
        raise SesError(f"{field} of job {name.calls} has {width} bytes or more; nothing is written there.")
    return text.rstrip(" \n")


def set_comment(record: JobRecord, text: str) -> None:
    """Write the line at the end of the comment that was read before; raises SesError when Slurm refuses."""
    written = commented(record.comment, text)
    scontrol("update", f"JobId={record.name.calls}", f"AdminComment={written}")


def commented(before: str, text: str) -> str:
    """Return a comment with the line of QStorMan in it, in place of an earlier one.

    What is JSON stays JSON; raises SesError for a list, which has no place for it.
    """
    kept, written_line = _OWN_LINE.sub("", before), _NOT_IN_A_LINE.sub("?", text)
    try:
        known = json.loads(kept)
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, list):
        raise SesError(
            "AdminComment is a list in JSON, where nothing can be added; nothing is written there."
        )
    if not isinstance(known, dict):
        return f"{kept}{' | ' if kept else ''}{_MARK}{written_line}"
    members = _OWN_MEMBER.sub("", kept).rstrip().removesuffix("}").rstrip()
    return f'{members}{"" if members.endswith("{") else ", "}"qstorman": "{written_line}"}}'
