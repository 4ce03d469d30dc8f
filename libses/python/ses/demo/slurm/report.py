"""What the jobs of the demonstration asked for, were promised and got."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from ses_client.messages.message import JSON

from ses.job import Job, middle
from ses.output import line, table


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job.  ``files``: how many its ranks are to write.  ``refused``: the message of the submission."""

    title: str
    asked: str
    files: int
    summary: Job | None = None
    refused: str = ""

    @property
    def as_wanted(self) -> bool:
        """Whether a job is refused that should be, and every file of any other is known."""
        if self.summary is None:
            return self.files == 0 and bool(self.refused)
        return self.summary.total.files == self.files > 0 and self.summary.total.open == 0


@dataclass(frozen=True, slots=True)
class JobsReport:
    """All jobs.  ``notes``: on what storage they ran."""

    notes: tuple[str, ...]
    rows: tuple[JobRow, ...]

    @property
    def verified(self) -> bool:
        """Whether all is as it should be."""
        return all(job.as_wanted for job in self.rows)

    def as_json(self) -> JSON:
        """Return what ``--json`` writes."""
        jobs = [
            {
                "title": job.title,
                "asked": job.asked,
                "refused": job.refused or None,
                "got": None if job.summary is None else job.summary.as_json(),
                "as_wanted": job.as_wanted,
            }
            for job in self.rows
        ]
        return {"verified": self.verified, "notes": list(self.notes), "jobs": jobs}


def show_jobs(out: Console, report: JobsReport) -> None:
    """Print the table, and the messages about jobs that were refused."""
    for note in report.notes:
        line(out, note)
    line(out)
    headers = ("job", "asked", ">files", "elements", ">promised", ">got", "verdicts of files")
    table(out, headers, [_cells(job) for job in report.rows])
    for job in report.rows:
        if job.refused:
            line(out, f"\n{job.title}: {job.refused}")
    line(out, "\nRates are medians of the files in MB/s: promised at the create, got as the agent saw it.")
    line(out, "cannot say: too little was written, or for too short a time, to measure a rate.")
    if not report.verified:
        wrong = ", ".join(job.title for job in report.rows if not job.as_wanted)
        line(out, f"Not as it should be: {wrong}.", "red")


def _cells(job: JobRow) -> list[str]:
    if job.summary is None:
        return [job.title, job.asked, "0", "-", "-", "-", "refused" if job.refused else "not refused"]
    rate = next((need for need in job.summary.needs.values() if need.unit == "MB/s"), None)
    verdicts: Counter[str] = Counter()
    for need in job.summary.needs.values():
        verdicts.update(need.verdicts)
    names = sorted(name.rpartition("/")[2] for name in job.summary.elements)
    return [
        job.title,
        job.asked,
        str(job.summary.total.files),
        ", ".join(names),
        "-" if rate is None else middle(rate.promised),
        "-" if rate is None else middle(rate.got),
        ", ".join(f"{name} {count}" for name, count in verdicts.most_common()),
    ]
