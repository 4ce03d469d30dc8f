"""One line about a job's files in its AdminComment, beside what others wrote there.

At the end of a text; in a JSON object, which sites keep there for their accounting, as a member of its own.
The line is plain ASCII without quotes, and has no word of a user.

Slurm is asked for one field at a time, in a fixed width: names and comments are a user's words, and in the
text that ``scontrol`` prints a line feed in a job's name begins a line that looks like a field.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ses_client.errors import SesError, UsageError

from ses.slurm.scontrol import scontrol, squeue

_WIDTH = 65_536  # bytes of a comment
_NAME_WIDTH = 512
_MARK = "storage: "
_OWN_LINE = re.compile(rf"(?:^| \| ){_MARK}\d+ files on [^|\n]*\Z")
_OWN_MEMBER = re.compile(r',?\s*"qstorman": "\d+ files on [^"]*"(?=\s*}\s*\Z)')
_NOT_IN_A_LINE = re.compile(r'[^\x20-\x7e]|["\\|]')


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What Slurm knows of a job: who submitted it, and its AdminComment."""

    user: str
    uid: int
    comment: str

    def is_of(self, user: str) -> bool:
        """Return whether a file of this user can be the job's; users without a name are ``uid-N``."""
        return user in (self.user, f"uid-{self.uid}")


def record_of(job: str) -> JobRecord:
    """Ask Slurm for a job; raises UsageError for what is no number of one, SesError without an answer."""
    if not re.fullmatch(r"[0-9]+(_[0-9]+)?", job):
        raise UsageError(f"{job!r} is no number of a job of Slurm.")
    uid = _field(job, "UserID", _NAME_WIDTH)
    if not uid.isdecimal():
        raise SesError(f"Slurm does not say whose job {job} is.")
    comment = _field(job, "admin_comment", _WIDTH)
    return JobRecord(_field(job, "UserName", _NAME_WIDTH), int(uid), "" if comment == "(null)" else comment)


def _field(job: str, name: str, width: int) -> str:
    """Return a field of a job; of an array's tasks, that of the first.  Raises SesError."""
    shown = squeue("--noheader", f"--jobs={job}", "--states=all", f"--Format={name}:{width}")
    first = shown.encode("utf-8", "surrogateescape")[:width]
    text = first.decode("utf-8", "surrogateescape")
    if len(first) < width:  # an unknown field is a line without it, and no error
        raise SesError(
            f"squeue does not say {name} of job {job}: it does not know the job, or not the field."
        )
    if not text.endswith(" "):
        raise SesError(f"{name} of job {job} has {width} bytes or more; nothing is written there.")
    return text.rstrip(" \n")


def set_comment(job: str, before: str, text: str) -> None:
    """Write the line at the end of the comment that was read before; raises SesError when Slurm refuses."""
    scontrol("update", f"JobId={job}", f"AdminComment={commented(before, text)}")


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
