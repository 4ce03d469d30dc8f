"""One line about a job's files in its AdminComment, beside what others wrote there."""

from __future__ import annotations

import re

from ses_client.errors import UsageError

from ses.slurm.scontrol import scontrol

_MARK = "storage: "
_OURS = re.compile(rf"(?: \| )?{_MARK}.*", re.DOTALL)


def add_comment(job: str, text: str) -> None:
    """Set the line; one of before is replaced.  Raises SesError when Slurm refuses."""
    if not re.fullmatch(r"[0-9]+(_[0-9]+)?", job):
        raise UsageError(f"{job!r} is no number of a job of Slurm.")
    scontrol(
        "update", f"JobId={job}", f"AdminComment={commented(comment_of(scontrol('show', 'job', job)), text)}"
    )


def comment_of(shown: str) -> str:
    """Return the comment in what ``scontrol show job`` prints of one job."""
    found = re.search(r"^ *AdminComment=(.*)$", shown, re.MULTILINE)
    return "" if found is None else found[1].strip()


def commented(before: str, text: str) -> str:
    """Return a comment with our line at its end."""
    kept = _OURS.sub("", before)
    return f"{kept}{' | ' if kept else ''}{_MARK}{text}"
